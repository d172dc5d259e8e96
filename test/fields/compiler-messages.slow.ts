/** What the compiler says about a mistake in the options of an overloaded function: one reason. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import ts from 'typescript'

const framework = fileURLToPath(new URL('../../src/index.js', import.meta.url))
const root = fileURLToPath(new URL('../../', import.meta.url))

const source = `
import { Field, Record, connect } from '${framework}'
@Record class Mistaken {
  @Field('id') id!: number
  @Field('string', { maxLenght: 3 }) b!: string
  @Field('string', { optional: 'yes' }) c!: string
  @Field('intger') d!: string
  @Field('intger', { optional: true }) e!: string
  @Field({ optionl: true }) f!: string
}
const database = await connect('sqlite::memory:', { record: [Mistaken] })
database.onChange((change) => change.evnt)
await database.onChange(() => undefined, { everywhere: 'yes' })
`

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filigree-messages-'))
})
afterAll(() => rm(folder, { recursive: true }))

it('names one reason for each mistake, at its place', async () => {
  const file = join(folder, 'mistaken.mts')
  await writeFile(file, source)
  const program = ts.createProgram([file], {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    experimentalDecorators: true,
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
  })
  const messages = ts
    .getPreEmitDiagnostics(program, program.getSourceFile(file))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n').split('\n'))
  expect(messages.map((lines) => lines.at(-1)?.trim())).toEqual([
    expect.stringMatching(/'maxLenght' does not exist .* Did you mean to write 'maxLength'\?$/),
    expect.stringMatching(/^Type 'string' is not assignable to type 'boolean/),
    expect.stringMatching(/^Argument of type '"intger"' is not assignable to .*"integer"/),
    expect.stringMatching(/^Argument of type '"intger"' is not assignable to .*"integer"/),
    expect.stringMatching(/'optionl' does not exist .* Did you mean to write 'optional'\?$/),
    expect.stringMatching(/'record' does not exist .* Did you mean to write 'records'\?$/),
    expect.stringMatching(/'evnt' does not exist on type 'Change'/),
    expect.stringMatching(/^Type 'string' is not assignable to type 'true'/),
  ])
  expect(messages.filter((lines) => lines.length > 3)).toEqual([])
})
