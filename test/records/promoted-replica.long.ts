/** What happens when a replica takes over. Source: docs/scaling.md, Failover. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { connect, Field, Record, type Database } from '../../src/index.js'
import { silentLog } from '../silent-log.js'
import { waitUntil } from '../wait-until.js'
import { engineOf } from './open-database.js'
import { Client, startOwnPostgres, type OwnPostgres } from './postgres-server.js'
import { startRedirectingProxy } from './redirecting-proxy.js'
import { startStandby, type Standby } from './standby-server.js'

@Record
class Entry {
  @Field('id') id!: number
  @Field('string') name!: string
}

let primary: OwnPostgres
let standby: Standby
let url: string

beforeAll(async () => {
  primary = await startOwnPostgres()
  standby = await startStandby(primary)
  url = await primary.createDatabase()
  const database = await connect(url, { records: [Entry] })
  await database.sync()
  await database.records(Entry).create({ name: 'a' })
  await database.close()
  await standby.caughtUp()
})
afterAll(async () => {
  await standby.close()
  await primary.close()
})

const serializable = { isolation: 'serializable' } as const

function create(database: Database): Promise<string> {
  return database.transaction(async (tx) => {
    await tx.records(Entry).create({ name: 'b' })
    const level = sql<{ level: string }>`select current_setting('transaction_isolation') as level`
    return (await level.execute(tx.kysely)).rows[0]?.level ?? ''
  }, serializable)
}

it('transactions that reach a replica are 503, and work again at the primary', async () => {
  const proxy = await startRedirectingProxy(url)
  const database = await connect(proxy.through(url), { records: [Entry] })
  try {
    expect(await create(database)).toBe('serializable')
    proxy.leadTo(standby.at(url))
    await primary.cutConnections()
    await waitUntil(async () => {
      const refused = await create(database).catch((error: unknown) => error)
      expect(refused).toMatchObject({
        status: 503,
        code: 'DATABASE_UNAVAILABLE',
        headers: { 'retry-after': '1' },
      })
      return String(refused).includes('it is read-only')
    })
    proxy.leadTo(url)
    // The proxy does not close the connections to the replica, so the application does.
    await waitUntil(
      () =>
        create(database).then(
          () => true,
          () => false,
        ),
      10_000,
    )
  } finally {
    await database.close()
    await proxy.close()
  }
})

it('a listener is back soon after a long outage, and reports that changes may be missing', async () => {
  const proxy = await startRedirectingProxy(url)
  const database = await connect(proxy.through(url), { records: [Entry], log: silentLog })
  let lost = 0
  const listener = engineOf(database).processes?.channel?.listen({
    message: () => undefined,
    messagesLost: () => lost++,
  })
  try {
    await listener?.listenTo(new Set([1]))
    proxy.leadTo(undefined)
    const before = proxy.connections
    // With doubling delays up to ten seconds, so many attempts would take a minute.
    await waitUntil(() => proxy.connections >= before + 12, 20_000)
    expect(lost).toBe(0)
    proxy.leadTo(url)
    await waitUntil(() => lost === 1, 10_000)
  } finally {
    await listener?.close()
    await database.close()
    await proxy.close()
  }
})

/** An address with a closed port and these servers, in this order. */
function severalHosts(urls: readonly string[], attributes: string): string {
  const { host } = new URL(url)
  const hosts = ['127.0.0.1:1', ...urls.map((one) => new URL(one).host)].join()
  return `${url.replace(host, hosts)}?target_session_attrs=${attributes}`
}

it('an address with several hosts leads to the server that accepts writes', async () => {
  const address = severalHosts([standby.at(url), url], 'read-write')
  const database = await connect(address, { records: [Entry] })
  const received: string[] = []
  const listener = engineOf(database).processes?.channel?.listen({
    message: (message) => received.push(message),
    messagesLost: () => undefined,
  })
  const beats: unknown[] = []
  const heartbeat = engineOf(database).processes?.heartbeat({
    statements: [{ sql: 'select pg_is_in_recovery()', values: [] }],
    every: 20,
    onRows: ([rows]) => beats.push(rows?.[0]?.[0]),
    onError: (error) => beats.push(error),
  })
  try {
    expect(await create(database)).toBe('serializable')
    await listener?.listenTo(new Set([1]))
    await engineOf(database).processes?.channel?.send(engineOf(database), ['a'])
    await waitUntil(() => received.includes('a') && beats.includes(false))
    expect(beats.filter((beat) => beat !== false)).toEqual([])
  } finally {
    await listener?.close()
    await heartbeat?.stop()
    await database.close()
  }
})

it('an address with several hosts and "standby" leads to a replica', async () => {
  const address = severalHosts([url, standby.at(url)], 'standby')
  const database = await connect(address, { records: [Entry] })
  try {
    await expect(database.records(Entry).create({ name: 'x' })).rejects.toMatchObject({
      message: expect.stringContaining('it is read-only'),
    })
  } finally {
    await database.close()
  }
})

it('a promoted replica is one warning, and serves no reads', async () => {
  const warnings: { readonly replica?: string; readonly message: string }[] = []
  const warn = (details: object, message: string): unknown => warnings.push({ ...details, message })
  const replica = standby.at(url)
  const log = { ...silentLog, warn }
  const database = await connect(url, { records: [Entry], replicas: [replica], log })
  const promoted = await connect(replica, { records: [Entry] })
  try {
    await expect(create(promoted)).rejects.toMatchObject({ status: 503 })
    await promote(replica)
    await waitUntil(async () => {
      await database.records(Entry).count()
      return warnings.some(({ message }) => message.includes('is a primary'))
    })
    // An application that started on the replica writes now, as isolated as it asked for.
    expect(await create(promoted)).toBe('serializable')
    await database.records(Entry).create({ name: 'only at the primary' })
    const where = { name: 'only at the primary' }
    for (let index = 0; index < 50; index++)
      expect(await database.records(Entry).count(where)).toBe(1)
    const named = warnings.filter(({ message }) => message.includes('is a primary'))
    expect(named).toMatchObject([{ replica: new URL(replica).host }])
  } finally {
    await database.close()
    await promoted.close()
  }
})

it('an address with several hosts follows a promoted replica', async () => {
  const address = severalHosts([url, standby.at(url)], 'read-write')
  const database = await connect(address, { records: [Entry] })
  try {
    await database.records(Entry).create({ name: 'only at the primary' })
    await primary.stop()
    await waitUntil(() =>
      create(database).then(
        (level) => level === 'serializable',
        () => false,
      ),
    )
  } finally {
    await database.close()
    await primary.start()
  }
})

async function promote(address: string): Promise<void> {
  const client = new Client({ connectionString: address })
  await client.connect()
  await client.query('select pg_promote()')
  await client.end()
}
