/** Time limits of the address hold on the workers: a row that another transaction has locked is 503, as on plain PostgreSQL. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import {
  Client,
  startPostgres,
  type PgClient,
  type PostgresServer,
} from '../../records/postgres-server.js'
import { waitUntil } from '../../wait-until.js'
import { citusUrl, openEmptyCitus, runOnCitus } from './coordinator.js'
import { Depot, Part } from './depot.js'

/** Milliseconds, in which all other statements of a test end. */
const limit = 3000

/** Nothing but the limits of a server ends such a wait within a test. */
const withLimits = (url: string, lock: number, statement: number): string => {
  const address = new URL(url)
  address.searchParams.set('lock_timeout', String(lock))
  address.searchParams.set('statement_timeout', String(statement))
  return address.href
}

let server: PostgresServer
let plainUrl: string
const open: Depot[] = []
let locker: PgClient | undefined

beforeAll(async () => {
  server = await startPostgres()
  plainUrl = await server.createDatabase()
  await openEmptyCitus()
})
afterEach(async () => {
  await locker?.end()
  locker = undefined
  await Promise.all(open.splice(0).map((depot) => depot.close()))
})
afterAll(() => server.close())

async function openDepot(url: string): Promise<Depot> {
  const depot = await Depot.open(url)
  open.push(depot)
  return depot
}

/** Locks a row until the end of the test. */
async function lock(url: string, table: string, id: string): Promise<void> {
  locker = new Client({ connectionString: url })
  await locker.connect()
  await locker.query('begin')
  await locker.query(`select * from ${table} where tenant_id = 'a' and id = '${id}' for update`)
}

/** The response to a transaction that needs a locked item. */
async function takeLocked(url: string, lockLimit: number, statementLimit: number) {
  const depot = await openDepot(withLimits(url, lockLimit, statementLimit))
  const id = await depot.addItem('a', { stock: 1 })
  await lock(url, 'item', id)
  const { status, body, headers } = await depot.send('a', 'POST', '/items/take-locked', {
    tenantId: 'a',
    id,
  })
  return { status, body, retryAfter: headers.get('retry-after') }
}

/** The response to a single statement that needs a locked part. */
async function patchLocked(url: string, lockLimit: number, statementLimit: number) {
  const depot = await openDepot(withLimits(url, lockLimit, statementLimit))
  const row = { tenantId: 'a', label: crypto.randomUUID() }
  const { id } = await depot.database.records(Part).create(row)
  await lock(url, 'part', id)
  const path = `/parts/${id}`
  const { status, body, headers } = await depot.send('a', 'PATCH', path, { label: 'x' })
  return { status, body, retryAfter: headers.get('retry-after') }
}

/** Waits until no process of a worker waits for a lock in this database. */
const noneWaits = () =>
  waitUntil(async () => {
    const [row] =
      await runOnCitus(`select sum(result::int)::int as waiting from run_command_on_workers($$
      select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database() $$)`)
    return row?.waiting === 0
  })

describe('a locked row', () => {
  it('is 503 after the lock_timeout of a transaction', async () => {
    const expected = await takeLocked(plainUrl, limit, 0)
    expect(expected).toMatchObject({ status: 503, body: { code: 'DATABASE_UNAVAILABLE' } })
    await locker?.end()
    expect(await takeLocked(citusUrl, limit, 0)).toEqual(expected)
    await noneWaits()
  })

  it('is 503 after the statement_timeout of a transaction', async () => {
    const expected = await takeLocked(plainUrl, 0, limit)
    expect(expected).toMatchObject({ status: 503 })
    await locker?.end()
    expect(await takeLocked(citusUrl, 0, limit)).toEqual(expected)
    await noneWaits()
  })

  it('is 503 after the statement_timeout of a single statement', async () => {
    const expected = await patchLocked(plainUrl, 0, limit)
    expect(expected).toMatchObject({ status: 503 })
    await locker?.end()
    expect(await patchLocked(citusUrl, 0, limit)).toEqual(expected)
    await noneWaits()
  })

  it('is 503 after the lock_timeout of the role for a single statement', async () => {
    const role = `alter role ${decodeURIComponent(new URL(citusUrl).username)} in database ${new URL(citusUrl).pathname.slice(1)}`
    await runOnCitus(`${role} set lock_timeout = ${limit}`)
    try {
      const expected = await patchLocked(plainUrl, limit, 0)
      expect(expected).toMatchObject({ status: 503 })
      await locker?.end()
      expect(await patchLocked(citusUrl, limit, 0)).toEqual(expected)
      await noneWaits()
    } finally {
      await runOnCitus(`${role} reset lock_timeout`)
    }
  })
})
