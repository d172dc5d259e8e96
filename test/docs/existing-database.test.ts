/** Follows the steps of `docs/existing-database.md`: the commands run in this process, and `curl` is a request without a socket. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, expect, it } from '@jest/globals'
import { bootstrap, connect, type Application } from '../../src/index.js'
import type { Class } from '../public-types.js'
import { runIn } from '../cli/run-in.js'
import { runSql } from '../records/run-sql.js'
import { root } from '../repository/source-files.js'
import { mergeDeclarations, readSteps, toPattern, type Step } from '../tutorial/pages.js'

const folder = await mkdtemp(join(tmpdir(), 'filigree-shop-'))
const url = `sqlite:${join(folder, 'shop.db')}`
let app: Application | undefined

afterAll(async () => {
  await app?.close()
  await rm(folder, { recursive: true })
})

async function write({ file, text, isCompleteFile }: Step & { kind: 'file' }): Promise<void> {
  const path = join(folder, file)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(
    path,
    isCompleteFile ? text : mergeDeclarations(await readFile(path, 'utf8'), text),
  )
}

async function run(command: string): Promise<string> {
  const [, script] = /^sqlite3 shop.db < (.+)$/.exec(command) ?? []
  const [, args] = /^npx filigree (.+)$/.exec(command) ?? []
  const [, path] = /^curl localhost:3000(.+)$/.exec(command) ?? []
  if (script !== undefined) {
    const database = await connect(url)
    await runSql(database, (await readFile(join(folder, script), 'utf8')).replace(/^--.*$/gm, ''))
    await database.close()
    return ''
  }
  if (args !== undefined) {
    const { code, out, err } = await runIn(folder, args.split(' '))
    expect({ code, err }).toEqual({ code: 0, err: '' })
    return out
  }
  if (path !== undefined) return (await app?.inject(path))?.body ?? ''
  await app?.close()
  const file = pathToFileURL(join(folder, 'src/app.ts')).href
  const { AppModule } = (await import(file)) as { AppModule: Class }
  app = await bootstrap(AppModule, { database: url, listen: false, logger: false })
  return ''
}

it('works as the page describes', async () => {
  const steps = readSteps(await readFile(join(root, 'docs/existing-database.md'), 'utf8'))
  const first = steps.findIndex((step) => step.kind === 'file')
  let commands = 0
  for (const step of steps.slice(first)) {
    if (step.kind === 'file') {
      await write(step)
      continue
    }
    // The section about options names the command again.
    if (step.response === '' && step.command.includes('pull --check')) continue
    commands++
    const printed = await run(step.command)
    if (step.response !== '')
      expect(`$ ${step.command}\n${printed}`).toMatch(toPattern(step.command, step.response))
  }
  expect(commands).toBe(8)
})
