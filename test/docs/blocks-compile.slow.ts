/** Code blocks of pages that no other suite runs: each block that imports Filigree compiles. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from '@jest/globals'
import { root, runNode } from '../openapi/command.js'

const pages = ['authentication', 'jobs', 'live', 'mail', 'passkeys', 'signing-in-with-providers']

const blocks = new Map(
  pages.flatMap((page) => {
    const text = readFileSync(join(root, `docs/${page}.md`), 'utf8')
    return [...text.matchAll(/```ts\n(.*?)```/gs)].flatMap(([, block = ''], place) =>
      block.includes("from 'filigree")
        ? [[`${page}-${place}.ts`, `${block}\nexport {}\n`] as const]
        : [],
    )
  }),
)

/** Inside the repository, so that packages are found. */
const folder = join(root, 'dist', `blocks-${process.pid}`)
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

const settings = {
  extends: '../../test/tsconfig.json',
  compilerOptions: { incremental: false },
  include: ['*.ts'],
}

describe('the blocks of the pages', () => {
  it('exist and compile', async () => {
    expect(blocks.size).toBeGreaterThanOrEqual(pages.length)
    mkdirSync(folder, { recursive: true })
    for (const [name, code] of blocks) writeFileSync(join(folder, name), code)
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings))
    const compiler = 'node_modules/typescript7/bin/tsc'
    expect(await runNode(compiler, '-p', folder, '--pretty', 'false')).toEqual({
      code: 0,
      output: '',
    })
  })
})
