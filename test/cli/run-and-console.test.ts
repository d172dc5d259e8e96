/** `filigree run` and `filigree console`, on an application with a record and a provider. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { prompt } from '../../src/cli/commands/console.js'
import { root } from '../openapi/command.js'
import { useFolder, type Outcome } from './run-in.js'

const place = useFolder()
const module = ['--module', join(root, 'test/cli/scripted.ts')]
const run = (...args: string[]): Promise<Outcome> => place.run('run', ...args, ...module)
const evaluate = (code: string, ...args: string[]): Promise<Outcome> =>
  place.run('console', '--eval', code, ...args, ...module)
const write = (name: string, code: string): Promise<void> =>
  writeFile(join(place.folder, name), code)

beforeEach(() => {
  process.env.DATABASE_URL = `sqlite:${join(place.folder, 'app.db')}`
})
afterEach(() => {
  delete process.env.DATABASE_URL
})

describe('filigree run', () => {
  it('calls the function of a file with the application, which it closes', async () => {
    await write(
      'seed.ts',
      `import { Lamp, Shelf } from ${JSON.stringify(join(root, 'test/cli/scripted.ts'))}
      import { writeFileSync } from 'node:fs'
      export default async ({ records, get, database, sql, app, args }) => {
        await database.transaction(async () => { await records(Lamp).create({ name: args[0] }) })
        const { rows } = await sql\`select name from lamp where name = \${'desk'}\`
        const { status } = await app.inject({ url: '/lamps' })
        writeFileSync('${place.folder}/result.json', JSON.stringify([rows, get(Shelf).state, status]))
      }`,
    )
    expect(await run('seed.ts', 'desk')).toEqual({ code: 0, out: '', err: '' })
    const { default: result } = (await import(join(place.folder, 'result.json'), {
      with: { type: 'json' },
    })) as { default: unknown }
    expect(result).toEqual([[{ name: 'desk' }], 'started', 200])
  })

  it.each([
    ['throw.ts', "export default () => { throw new Error('no price list') }", 1, /no price list/],
    [
      'none.ts',
      'export const seed = 1',
      2,
      /none\.ts exports no function as default\. Write export default/,
    ],
  ])('reports the mistake of %s', async (name, code, exitCode, message) => {
    await write(name, code)
    const outcome = await run(name)
    expect(outcome.code).toBe(exitCode)
    expect(outcome.err).toMatch(message)
  })

  it('names a missing file', async () => {
    expect(await run('seeds.ts')).toMatchObject({
      code: 2,
      err: expect.stringContaining('the file seeds.ts does not exist.'),
    })
    expect((await run()).err).toContain('the file is missing. Write run src/seed.ts.')
  })
})

describe('filigree console', () => {
  it('prints the value of an expression, and nothing for statements', async () => {
    const created = await evaluate(
      "const lamp = await records(Lamp).create({ name: 'a' }); void lamp",
    )
    expect(created).toEqual({ code: 0, out: '', err: '' })
    expect((await evaluate('await records("Lamp").count()')).out).toBe('1\n')
    expect((await evaluate('records(Lamp).list();', '--json')).out).toBe(
      '[\n  {\n    "id": 1,\n    "name": "a"\n  }\n]\n',
    )
    expect((await evaluate('(await sql`select name from lamp`).rows[0].name')).out).toBe('a\n')
  })

  it('fails in words', async () => {
    expect(await evaluate('records("Lamb")')).toMatchObject({
      code: 1,
      err: expect.stringContaining('There is no record Lamb. Records: Lamp.'),
    })
    expect(await evaluate('records(')).toMatchObject({ code: 2 })
    expect(await place.run('console', ...module)).toMatchObject({
      code: 2,
      err: expect.stringContaining('the console needs a terminal'),
    })
  })

  it('evaluates lines with await, until the end of the input', async () => {
    const input = new PassThrough()
    const output = new PassThrough()
    const written = text(output)
    const ended = prompt({ price: Promise.resolve(41) }, { input, output })
    input.write('const base = await price\n')
    await setTimeout(200)
    input.write('base + 1\n.exit\n')
    await ended
    output.end()
    expect(await written).toContain('42')
  })
})
