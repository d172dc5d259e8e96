/** The Filigree code of every pair in `docs/coming-from-….md` compiles, and gives the responses of the page. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { testApplication } from 'filigree/testing'
import { root } from '../repository/source-files.js'
import { toPattern } from '../tutorial/pages.js'
import { toOurModule, type OurBlock } from './our-side.js'
import { readPairPages, toComparable, type Pair } from './pairs.js'
import { runCurl, type Jar } from './requests.js'

const pages = readPairPages()
const ours = 'Filigree'
/** Inside the repository, so that packages are found. */
const folder = join(root, 'dist', `coming-from-${process.pid}`)

const settings = {
  extends: '../../tsconfig.json',
  compilerOptions: {
    ...{ rootDir: '../..', noEmit: true, incremental: false, isolatedModules: false },
    ...{ declaration: false, declarationMap: false },
    lib: ['es2023', 'dom', 'dom.iterable', 'esnext.disposable'],
  },
  include: ['*.ts'],
  exclude: [],
}

function fileOf(page: string, pair: Pair): string {
  return join(folder, `${page}-${pair.title.replace(/\W+/g, '-')}.ts`)
}

beforeAll(() => {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings))
  for (const { name, pairs } of pages)
    for (const pair of pairs)
      writeFileSync(fileOf(name, pair), toOurModule(pair.blocks.get(ours) ?? ''))
})
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

it('every Filigree block compiles', () => {
  // TypeScript 7 is the faster of the two compilers.
  const compiler = join(root, 'node_modules/typescript7/bin/tsc')
  const args = [compiler, '-p', folder, '--pretty', 'false']
  const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', cwd: folder })
  expect(stdout).toBe('')
})

describe.each(pages)('coming from $name', ({ name, pairs }) => {
  it('compares twenty things', () => {
    expect(pairs.length).toBeGreaterThanOrEqual(20)
    const unpaired = pairs.filter(({ blocks, checks }) => blocks.size < 2 || checks.length === 0)
    expect(unpaired.map(({ title }) => title)).toEqual([])
  })

  it.each(pairs)('gives the responses of the page in "$title"', async (pair) => {
    const block = (await import(pathToFileURL(fileOf(name, pair)).href)) as OurBlock
    await runChecks(pair, block)
  })
})

async function runChecks({ checks }: Pair, block: OurBlock): Promise<void> {
  const ownChecks = checks.filter(({ of }) => of === undefined || of === ours)
  if (block.module === undefined) {
    for (const check of ownChecks)
      if (check.kind === 'value') expect(toComparable(block.answer)).toEqual(check.value)
    return
  }
  const env = { APP_API_KEY: 'a-key-only-to-try-it' }
  await using desk = await testApplication(block.module, { env, ...block.options })
  const jar: Jar = new Map()
  const open: { next: Promise<unknown>; result: unknown; isReceived: boolean }[] = []
  for (const check of ownChecks)
    if (check.kind === 'request') {
      const send = (request: Request): Promise<Response> => desk.app.handle(request)
      const printed = await runCurl(check.command, 'http://localhost:3000', jar, send)
      expect(`$ ${check.command}\n${printed}`).toMatch(toPattern(check.command, check.answer))
    } else if (check.kind === 'operation') {
      const { operation, result } = check
      if (operation.startsWith('subscription')) {
        const results = desk.operator.subscribe(operation)
        const next = results.next().then(({ value }) => {
          pending.isReceived = true
          return value
        })
        const pending = { next, result, isReceived: false }
        open.push(pending)
      } else {
        expect(await desk.operator.graphql(operation)).toEqual(result)
        // A subscription opens shortly after its request.
        while (open.some(({ isReceived }) => !isReceived)) {
          await desk.operator.graphql(operation)
          await new Promise((resolve) => setImmediate(resolve))
        }
      }
    }
  for (const { next, result } of open) expect(await next).toEqual(result)
}
