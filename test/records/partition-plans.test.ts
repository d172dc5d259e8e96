/** The plans of PostgreSQL: the partitions that statements on a partitioned record read, and combined statements. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  BelongsTo,
  connect,
  Field,
  Record,
  type Database,
  type Generated,
  type Rel,
} from '../../src/index.js'
import type { Statement } from '../../src/engines/contract/engine.js'
import { createLayer } from '../../src/engines/engine-layer.js'
import { batchCalls } from '../../src/engines/postgres/batching/batch-calls.js'
import { openEngine } from '../contracts/statement-recorder.js'
import { silentLog } from '../silent-log.js'
import { LogEvent, LogReading, partitioned } from './partitioned-log.js'
import { Client, startPostgres, type PostgresServer } from './postgres-server.js'

/** With a partition for each month, as LogEvent, but by a part of its key. */
@Record({ key: ['sensor', 'at'], partitionBy: { field: 'at', every: 'month' } })
class LogSample {
  @Field('string') sensor!: string
  @Field('datetime') at!: string
  @Field('numeric') value!: number
}

@Record
class LogMark {
  @Field('id') id!: Generated<number>
  @Field('string') sensor!: string
  @Field('datetime') sampleAt!: string
  @Field('string', { default: '' }) note!: Generated<string>
  @BelongsTo(() => LogSample) sample!: Rel<LogSample>
}

interface Sent {
  readonly sql: string
  readonly values: readonly unknown[]
}

/** 60 months back, with one row each. */
const months = 60
const timeOf = (index: number): string => {
  const now = new Date()
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - index, 1, 6)).toISOString()
}

let server: PostgresServer
let url: string
let database: Database
let sent: Sent[] = []
/** Holds the first statement back, so that later calls are combined. */
let held: Promise<void> | undefined
const ids: string[] = []

beforeAll(async () => {
  server = await startPostgres()
  url = await server.createDatabase()
  const engine = await openEngine(url, { log: silentLog })
  const recorded = createLayer(engine, {
    run: async (statement: Statement, values, resultKind) => {
      if (statement.for === 'client') sent.push({ sql: statement.sql, values })
      await held
      return engine.run(statement, values, resultKind)
    },
  })
  const batched = batchCalls(recorded)
  database = await connect({
    engine: { open: () => Promise.resolve(batched) },
    records: [...partitioned, LogSample, LogMark],
  })
  await database.sync()
  const client = new Client({ connectionString: url })
  await client.connect()
  for (let index = 1; index <= months; index++) {
    const [to, from] = [timeOf(index - 1), timeOf(index)].map((time) => time.slice(0, 7))
    const bound = (month = ''): string => {
      const time = Date.parse(`${month}-01T00:00:00Z`).toString(16).padStart(12, '0')
      return `'${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000'`
    }
    await client.query(
      `create table log_event_m${index} partition of log_event for values from (${bound(from)}) to (${bound(to)});
       create table log_sample_m${index} partition of log_sample for values from ('${from ?? ''}-01 00:00:00+00') to ('${to ?? ''}-01 00:00:00+00');
       create table log_reading_m${index} partition of log_reading for values from ('${from ?? ''}-01 00:00:00+00') to ('${to ?? ''}-01 00:00:00+00')`,
    )
  }
  await client.end()
  for (let index = 0; index < months; index++) {
    const { id } = await database.records(LogEvent).create({ title: `${index}`, at: timeOf(index) })
    ids.push(id)
    await database.records(LogSample).create({ sensor: 'a', at: timeOf(index), value: index })
    if (index > 0)
      await database.records(LogReading).create({ sensor: 'a', at: timeOf(index), value: index })
  }
})
afterAll(async () => {
  await database.close()
  await server.close()
})

/** @returns the last statement that the work sent */
async function lastOf(work: () => Promise<unknown>): Promise<Sent> {
  sent = []
  await work()
  return sent.at(-1) as Sent
}

/** Runs calls while the first one is running. @returns the statement that combines them */
async function combined(calls: readonly (() => Promise<unknown>)[]): Promise<Sent> {
  // The first calls are sent one by one, until the types of their values are known.
  for (let round = 0; round < 5; round++) {
    let release: () => void = () => undefined
    held = new Promise((resolve) => (release = resolve))
    sent = []
    const running = Promise.all(calls.map((call) => call()))
    await new Promise((resolve) => setTimeout(resolve, 20))
    held = undefined
    release()
    await running
    const found = sent.find(({ sql }) => sql.includes('filigree_call'))
    if (found !== undefined) return found
  }
  throw new Error(`not combined: ${sent.map(({ sql }) => sql).join('\n')}`)
}

const quoteText = (value: string | number): string => `'${String(value).replaceAll("'", "''")}'`

const toLiteral = (value: unknown): string =>
  Array.isArray(value)
    ? `'{${value.map((item) => `"${String(item)}"`).join()}}'`
    : value === null
      ? 'null'
      : quoteText(value as string | number)

/** Runs a prepared statement in a transaction that is rolled back. @returns the result of `read` */
async function prepared<R>(
  { sql, values }: Sent,
  mode: 'force_custom_plan' | 'force_generic_plan' | 'auto',
  read: (client: InstanceType<typeof Client>, execute: string) => Promise<R>,
): Promise<R> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(`set plan_cache_mode = ${mode}; prepare s as ${sql}; begin`)
    const given = values.length > 0 ? `(${values.map(toLiteral).join(', ')})` : ''
    return await read(client, `execute s${given}`)
  } finally {
    await client.query('rollback')
    await client.end()
  }
}

/** The partitions that a statement reads while it runs. Plans also name those that they leave out. */
function partitionsOf(
  statement: Sent,
  mode: 'force_custom_plan' | 'force_generic_plan' | 'auto' = 'auto',
): Promise<string[]> {
  return prepared(statement, mode, async (client, execute) => {
    const explain = `explain (analyze, costs off, timing off, summary off) ${execute}`
    const { rows } = await client.query(explain)
    const nodes = rows.map((row) => String(row['QUERY PLAN']))
    const text = nodes.filter((node) => !node.includes('never executed')).join('\n')
    return [...new Set(text.match(/ on log_[a-z]+_[m\d_]*\d(?= |$)/gm) ?? [])].map((one) =>
      one.slice(4),
    )
  })
}

/** How often PostgreSQL plans a statement for all values, and for given ones, in ten runs. */
function plansOf(statement: Sent, rowCount: number): Promise<{ generic: number; custom: number }> {
  return prepared(statement, 'auto', async (client, execute) => {
    for (let run = 0; run < 10; run++)
      expect((await client.query(execute)).rows).toHaveLength(rowCount)
    const { rows } = await client.query('select * from pg_prepared_statements')
    return { generic: Number(rows[0]?.generic_plans), custom: Number(rows[0]?.custom_plans) }
  })
}

/** The number of partitions that one plan for all values leaves out when it starts. */
function removedPartitions(statement: Sent): Promise<number> {
  return prepared(statement, 'force_generic_plan', async (client, execute) => {
    const { rows } = await client.query(`explain (costs off) ${execute}`)
    const text = rows.map((row) => String(row['QUERY PLAN'])).join('\n')
    return Number(/Subplans Removed: (\d+)/.exec(text)?.[1] ?? 0)
  })
}

describe('PostgreSQL reads one partition', () => {
  const events = () => database.records(LogEvent)
  const readings = () => database.records(LogReading)
  const samples = () => database.records(LogSample)
  const keyAt = (index: number) => ({ sensor: 'a', at: timeOf(index) })

  it('for find, update and delete by a key', async () => {
    for (const work of [
      () => events().find(ids[20] ?? ''),
      () => events().update(ids[20] ?? '', { title: 'x' }),
      () => events().delete(ids[59] ?? ''),
      () => readings().find(keyAt(20)),
      () => readings().update(keyAt(20), { value: 3 }),
      () => samples().find(keyAt(20)),
      () => samples().update(keyAt(20), { value: 3 }),
    ]) {
      const statement = await lastOf(work)
      expect(await partitionsOf(statement, 'force_custom_plan')).toHaveLength(1)
      if (statement.sql.startsWith('select'))
        expect(await partitionsOf(statement, 'force_generic_plan')).toHaveLength(1)
    }
  })

  it('for lists with a range of the time', async () => {
    const range = { gte: timeOf(30), lt: timeOf(29) }
    for (const work of [
      () => events().list({ where: { at: range } }),
      () => events().list({ where: { at: timeOf(30) } }),
      () => readings().list({ where: { at: timeOf(30) } }),
      () => events().count({ at: timeOf(30) }),
    ]) {
      const statement = await lastOf(work)
      expect((await partitionsOf(statement, 'force_custom_plan')).length).toBeLessThanOrEqual(2)
      expect((await partitionsOf(statement, 'force_generic_plan')).length).toBeLessThanOrEqual(2)
    }
  })

  it('for each key of a list', async () => {
    const statement = await lastOf(() => events().list({ where: { id: { in: ids.slice(3, 5) } } }))
    expect(await partitionsOf(statement)).toHaveLength(2)
  })

  it('for each call of combined statements', async () => {
    const chosen = [3, 4, 5]
    for (const calls of [
      chosen.map((index) => () => events().find(ids[index] ?? '')),
      chosen.map((index) => () => events().update(ids[index] ?? '', { title: 'y' })),
      chosen.map((index) => () => readings().find(keyAt(index))),
      chosen.map((index) => () => readings().update(keyAt(index), { value: 7 })),
      chosen.map((index) => () => samples().find(keyAt(index))),
      chosen.map((index) => () => samples().update(keyAt(index), { value: 7 })),
    ]) {
      const statement = await combined(calls)
      expect((await partitionsOf(statement)).length).toBeLessThanOrEqual(3)
    }
  })

  it('with one plan for all finds, where partitions are few', async () => {
    for (const work of [() => events().find(ids[20] ?? ''), () => samples().find(keyAt(20))])
      expect(await plansOf(await lastOf(work), 1)).toEqual({ generic: 5, custom: 5 })
  })

  it('with one plan for all combined finds, which opens no other partition', async () => {
    // The first call is sent alone.
    const chosen = [3, 4, 5]
    for (const calls of [
      chosen.map((index) => () => events().find(ids[index] ?? '')),
      chosen.map((index) => () => samples().find(keyAt(index))),
    ]) {
      const statement = await combined(calls)
      expect(await partitionsOf(statement, 'force_generic_plan')).toHaveLength(2)
      const others = await removedPartitions(statement)
      expect(others).toBeGreaterThanOrEqual(months - 2)
      expect(await plansOf(statement, 2)).toEqual({ generic: 5, custom: 5 })
    }
  })

  it('with one plan for all combined updates, which reads no other partition', async () => {
    const chosen = [3, 4, 5]
    for (const calls of [
      chosen.map((index) => () => events().update(ids[index] ?? '', { title: 'y' })),
      chosen.map((index) => () => samples().update(keyAt(index), { value: 7 })),
    ]) {
      const statement = await combined(calls)
      expect(await removedPartitions(statement)).toBeGreaterThanOrEqual(months - 2)
      expect(await plansOf(statement, 2)).toEqual({ generic: 5, custom: 5 })
    }
  })

  it('for more calls than fit into one statement', async () => {
    const indexes = Array.from({ length: months - 1 }, (_, index) => index)
    const keys = [...indexes.map((index) => ids[index] ?? ''), randomUUID()]
    await combined(keys.map((key) => () => events().find(key)))
    const found = await Promise.all(keys.map((key) => events().find(key)))
    expect(found.map((event) => event?.id)).toEqual([...keys.slice(0, -1), undefined])
    const rows = keys.slice(0, -1).map((key, index) => ({ key, title: `title ${index}` }))
    await Promise.all(rows.map(({ key, title }) => events().update(key, { title })))
    for (const { key, title } of rows) expect(await events().find(key)).toMatchObject({ title })
  })

  it('for keys of several fields in a list', async () => {
    const marks = database.records(LogMark)
    for (const index of [10, 11, 12]) await marks.create({ sensor: 'a', sampleAt: timeOf(index) })
    sent = []
    const found = await marks.list({ with: ['sample'] })
    const statement = sent.find(({ sql }) => sql.includes('log_sample')) as Sent
    for (const mode of ['force_custom_plan', 'force_generic_plan'] as const)
      expect(await partitionsOf(statement, mode)).toHaveLength(3)
    expect(found.map(({ sample }) => sample.value)).toEqual([10, 11, 12])
  })

  it('for the rows of updateMany', async () => {
    const rows = [6, 7].map((index) => ({ id: ids[index] ?? '', title: 'many' }))
    const statement = await lastOf(() => events().updateMany(rows))
    expect((await partitionsOf(statement)).length).toBeLessThanOrEqual(2)
  })
})

describe('PostgreSQL plans two combined calls once, and reads their rows by the key', () => {
  const marks = () => database.records(LogMark)
  let chosen: number[]
  beforeAll(async () => {
    const rows = Array.from({ length: 4000 }, () => ({ sensor: 'a', sampleAt: timeOf(10) }))
    // The first call is sent alone.
    chosen = (await marks().createMany(rows)).slice(0, 3).map(({ id }) => id)
    const client = new Client({ connectionString: url })
    await client.connect()
    await client.query('analyze log_mark')
    await client.end()
  })

  it.each([
    ['finds', (id: number) => marks().find(id)],
    ['updates', (id: number) => marks().update(id, { note: 'seen' })],
  ])('of %s', async (_, call) => {
    const statement = await combined(chosen.map((id) => () => call(id)))
    expect(await plansOf(statement, 2)).toEqual({ generic: 5, custom: 5 })
    const plan = await prepared(statement, 'force_generic_plan', async (client, execute) =>
      JSON.stringify((await client.query(`explain ${execute}`)).rows),
    )
    expect(plan).toContain('Index Scan using log_mark_pkey on log_mark')
    expect(plan).not.toContain('Seq Scan on log_mark')
  })
})
