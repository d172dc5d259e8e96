/** Copies that are killed, and copies by a user of PostgreSQL without special rights. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from '@jest/globals'
import { connect } from '../../src/index.js'
import { bundleProgram } from '../bundle-program.js'
import { root } from '../openapi/command.js'
import { Client, startPostgres } from '../records/postgres-server.js'
import { readSql, runSql } from '../records/run-sql.js'
import { waitUntil } from '../wait-until.js'
import { Line } from './copied-lines.js'
import { runCommand } from '../../src/cli/run-command.js'
import { runIn, type Outcome } from './run-in.js'

const folder = await mkdtemp(join(tmpdir(), 'filigree-copies-'))
const server = await startPostgres()
const role = `filigree_plain_${process.pid}`

afterAll(async () => {
  await server.close()
  await runAt(server.url, `drop role if exists ${role}`)
  await rm(folder, { recursive: true, force: true })
})

async function runAt(url: string, ...statements: string[]): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    for (const sql of statements) await client.query(sql)
  } finally {
    await client.end()
  }
}

const shop = join(root, 'test/cli/copied-lines.ts')
const copy = (...args: string[]): Promise<Outcome> =>
  runIn(folder, ['copy', ...args, '--module', shop])

/** @returns the output, and the lines that show the progress in a terminal */
async function copyInTerminal(
  ...args: string[]
): Promise<{ code: number; out: string; lines: readonly string[] }> {
  const lines: string[] = []
  let out = ''
  const code = await runCommand(['copy', ...args, '--module', shop], {
    out: (text) => Promise.resolve(void (out += text)),
    err: () => Promise.resolve(),
    cwd: folder,
    progress: (text) => void lines.push(text),
  })
  return { code, out, lines }
}

/** @returns the address of a file whose rows refer to the next one, in groups */
async function createSource(rows: number): Promise<string> {
  const url = `sqlite:${join(folder, `source-${rows}.db`)}`
  const database = await connect(url, { records: [Line] })
  await database.sync()
  await runSql(
    database,
    `insert into line (id, text, next_id)
      with recursive n (i) as (select 1 union all select i + 1 from n where i < ${rows})
      select i, 'line ' || i, case when i % 100 = 0 then null else i + 1 end from n;`,
  )
  await database.close()
  return url
}

it('continues after kill -9', async () => {
  const source = await createSource(300_000)
  const target = await server.createDatabase()
  const database = await connect(target, { records: [Line] })
  await database.sync()
  const program = bundleProgram('cli/copying-process')
  const child = spawn(process.execPath, [program, source, target], { stdio: 'inherit' })
  const exited = once(child, 'exit')
  const copiedRows = async (): Promise<number> => {
    const [row] = await readSql(database, 'select count(*) from line').catch(() => [])
    return Number(row?.[0])
  }
  await waitUntil(async () => (await copiedRows()) > 0)
  child.kill('SIGKILL')
  await exited
  await rm(program)
  const before = await copiedRows()
  expect(before).toBeGreaterThan(0)

  const refused = await copy(source, target)
  expect(refused.code).toBe(1)
  expect(refused.err).toContain('An earlier copy into the target was interrupted.')
  const { code, out, lines } = await copyInTerminal(source, target, '--continue')
  expect(code).toBe(0)
  expect(lines.length).toBeGreaterThan(0)
  const progress = /^line: [\d,]+ of 300,000 rows (copied|compared), \d+ % of all/
  const withTime = new RegExp(`${progress.source}, [\\d.]+ \\w+(?: \\d+ s)? left$`)
  const steps = lines.map((line) => progress.exec(line)?.[1])
  // How long a step takes is known from its second line.
  for (const [index, line] of lines.entries())
    if (steps.indexOf(steps[index]) === index && !line.endsWith(' left'))
      expect(line).toMatch(new RegExp(`${progress.source}$`))
    else expect(line).toMatch(withTime)
  expect(out).toContain('1 table with 300,000 rows copied and compared')
  expect(await readSql(database, "select to_regclass('filigree_copy')::text")).toEqual([[null]])
  expect(await copy(source, target, '--verify')).toMatchObject({ code: 0 })
  await database.close()
})

it('copies circles of references for a user without special rights', async () => {
  const source = await createSource(5_000)
  const target = await server.createDatabase()
  await runAt(server.url, `create role ${role} login password 'test'`)
  await runAt(target, `grant all on schema public to ${role}`)
  const address = new URL(target)
  address.username = role
  const database = await connect(address.href, { records: [Line] })
  await database.sync()
  const { code, err } = await copy(source, address.href)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(await readSql(database, 'select next_id from line where id = 4999')).toEqual([['5000']])
  await database.close()
})
