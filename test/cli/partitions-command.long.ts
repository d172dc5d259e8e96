/** `filigree partitions`, and the same work in processes that run jobs. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { bootstrap } from 'filigree'
import { root } from '../openapi/command.js'
import { Client, startPostgres, type PostgresServer } from '../records/postgres-server.js'
import { waitUntil } from '../wait-until.js'
import { WorkingModule } from './partitions/log-main.js'
import { runIn, type Outcome } from './run-in.js'

let folder: string
let server: PostgresServer
let url: string
const saved = process.env.DATABASE_URL

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filigree-'))
  server = await startPostgres()
  url = await server.createDatabase()
  process.env.DATABASE_URL = url
  await writeFile(join(folder, 'package.json'), JSON.stringify({ filigree: {} }))
})
afterAll(async () => {
  if (saved === undefined) delete process.env.DATABASE_URL
  else process.env.DATABASE_URL = saved
  await rm(folder, { recursive: true, force: true })
  await server.close()
})

const name = ['--module', join(root, 'test/cli/partitions/log-main.ts')]
const run = (...args: string[]): Promise<Outcome> => runIn(folder, [...args, ...name])

async function query(sql: string): Promise<readonly { readonly [name: string]: unknown }[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

const partitionNames = async (): Promise<unknown[]> => {
  const rows = await query(
    `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'log_line'::regclass order by 1`,
  )
  return rows.map((row) => row.name)
}

/** `2026_11`, some months later. */
const monthAt = (months: number): string => {
  const now = new Date()
  const date = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, 1))
  return date.toISOString().slice(0, 7).replace('-', '_')
}

it('creates the next partitions, and detaches old ones', async () => {
  expect(await run('partitions')).toMatchObject({
    code: 0,
    out: expect.stringContaining('No record'),
  })
  expect(await run('migrate', 'make', 'first')).toMatchObject({ code: 0 })
  expect(await run('migrate', 'up')).toMatchObject({ code: 0 })
  expect(await partitionNames()).toEqual([0, 1, 2, 3].map((month) => `log_line_${monthAt(month)}`))
  const dry = await run('partitions', '--ahead', '5', '--dry-run')
  expect(dry.out).toContain(`log_line: log_line_${monthAt(5)} would be created`)
  expect(await partitionNames()).toHaveLength(4)
  const { code, out } = await run('partitions', '--ahead', '5')
  expect([code, out]).toEqual([0, expect.stringContaining(`log_line_${monthAt(5)} created`)])
  expect(out).toContain('log_line: partitions until')
  expect(await partitionNames()).toHaveLength(6)
  const past = new Date(Date.now() - 90 * 24 * 3_600_000).toISOString().slice(0, 10)
  expect((await run('partitions', '--from', past, '--ahead', '0')).code).toBe(0)
  expect((await partitionNames()).length).toBeGreaterThan(7)
  expect(await run('partitions', '--from', 'then')).toMatchObject({ code: 2 })
})

it('names partitions that became tables, and prints JSON', async () => {
  const old = '01600000-0000-0000-0000-000000000000'
  await query(
    `create table log_line_old partition of log_line for values from ('${old}') to ('01610000-0000-0000-0000-000000000000')`,
  )
  const json = await run('partitions', '--json')
  expect(JSON.parse(json.out)).toMatchObject([
    { table: 'log_line', created: [], detached: ['log_line_old'], failed: [] },
  ])
  expect(await partitionNames()).not.toContain('log_line_old')
  expect(await query('select count(*)::int as n from log_line_old')).toEqual([{ n: 0 }])
})

it('is recommended by doctor, which names queries without the time', async () => {
  const names = await partitionNames()
  await query(
    `create table pg_stat_statements (dbid oid, query text, total_exec_time float8);
     insert into pg_stat_statements select oid, q, 1 from pg_database,
       (values ('select "t0"."id" from "log_line" as "t0" where "t0"."text" = $1'),
         ('select "t0"."id" from "log_line" as "t0" where "t0"."id" = $1')) as t (q)
       where datname = current_database()`,
  )
  const kept = names.filter((one) => String(one) !== `log_line_${monthAt(1)}`)
  await query(`alter table log_line detach partition log_line_${monthAt(1)}`)
  const { out } = await run('doctor')
  expect(out).toContain('log_line has no partition for rows from')
  expect(out).toContain(`reads all ${kept.length} partitions of log_line. Compare LogLine.at`)
  expect(out.match(/reads all/g)).toHaveLength(1)
  await query(`drop table log_line_${monthAt(1)}, pg_stat_statements`)
  expect((await run('partitions')).code).toBe(0)
})

it('runs by itself in a process that runs jobs', async () => {
  const options = { listen: false, logger: false, database: url } as const
  await (await bootstrap(WorkingModule, { ...options, env: {} })).close()
  const names = await partitionNames()
  await query(`drop table ${String(names.at(-1))}`)
  await query(`drop table log_line_${monthAt(2)}`)
  const app = await bootstrap(WorkingModule, {
    ...options,
    env: { NODE_ENV: 'production' },
    publicUrl: 'https://log.test',
    auth: { keys: false },
  })
  await waitUntil(async () => (await partitionNames()).includes(`log_line_${monthAt(2)}`))
  await app.close()
})

it('does nothing on SQLite', async () => {
  process.env.DATABASE_URL = `sqlite:${join(folder, 'log.db')}`
  expect(await run('partitions')).toEqual({
    code: 0,
    out: 'SQLite has no partitions: partitionBy changes nothing there.\n',
    err: '',
  })
  process.env.DATABASE_URL = url
})
