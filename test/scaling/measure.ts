/**
 * Measures the CPU time of reads and writes without HTTP, as input for `npm run simulate`. Run `npm run measure` on an idle
 * machine. With `TEST_CITUS_URL` it measures Citus, whose servers must all run on this machine. Linux only.
 */
import { sql } from 'kysely'
import { connect, Field, Record, type Database } from '../../src/index.js'
import { startOwnPostgres } from '../records/postgres-server.js'
import { Category, Product, shop } from '../records/shop.js'
import { serverOf, serverTime } from './server-time.js'

const rows = 50_000
const tenants = 1000
const clients = 32
/** Calls before the measurement. */
const warmUp = 500
/** Milliseconds per measurement. */
const duration = 3000

@Record({ shardBy: 'tenantId' })
class Delivery {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string') tenantId!: string
  @Field('string') name!: string
  @Field('numeric') price!: number
}

/** What is measured. */
interface Place {
  readonly database: Database
  /** The main processes of the servers, by their names in the output. */
  readonly servers: Readonly<globalThis.Record<string, readonly number[]>>
  readonly calls: Readonly<globalThis.Record<string, (index: number) => Promise<unknown>>>
  readonly close: () => Promise<void>
}

async function main(): Promise<void> {
  const { TEST_CITUS_URL: citus = '' } = process.env
  const place = await (citus === '' ? openPostgres() : openCitus(citus))
  try {
    for (const [name, work] of Object.entries(place.calls)) await measureOne(name, work, place)
  } finally {
    await place.close()
  }
}

/** Different rows in sequence are far from each other. */
function placeOf(index: number): number {
  return (index * 7919) % rows
}

async function openPostgres(): Promise<Place> {
  const server = await startOwnPostgres()
  const database = await connect(await server.createDatabase(), { records: shop })
  await database.sync()
  const category = await database.records(Category).create({ name: 'all' })
  const products = database.records(Product)
  const one = (index: number) => ({ name: `p${index}`, price: 3, categoryId: category.id })
  await products.insertMany(Array.from({ length: rows }, (_, index) => one(index)))
  const idOf = (index: number): number => placeOf(index) + 1
  const bytes = await numberOf(database, `pg_total_relation_size('product')`)
  console.log(`row: ${Math.round(bytes / (await products.count()))} bytes with its indexes`)
  return {
    database,
    servers: { database: [serverOf(await numberOf(database, 'pg_backend_pid()'))] },
    calls: {
      find: (index) => products.find(idOf(index)),
      'list of 20': (index) =>
        products.list({ where: { id: { gte: idOf(index) } }, orderBy: { id: 'asc' }, limit: 20 }),
      create: (index) => products.create(one(index)),
      update: (index) => products.update(idOf(index), { price: index % 50 }),
    },
    close: async () => {
      await database.close()
      await server.close()
    },
  }
}

async function openCitus(url: string): Promise<Place> {
  const database = await connect(url, { records: [Delivery] })
  await sql`drop table if exists delivery`.execute(database.kysely)
  await database.sync()
  const deliveries = database.records(Delivery)
  const tenantOf = (index: number): string => `t${index % tenants}`
  const one = (index: number) => ({ tenantId: tenantOf(index), name: `p${index}`, price: 3 })
  await deliveries.insertMany(Array.from({ length: rows }, (_, index) => one(index)))
  const keys = sql<
    Pick<Delivery, 'id' | 'tenantId'>
  >`select id, tenant_id as "tenantId" from delivery`
  const made = (await keys.execute(database.kysely)).rows
  const rowAt = (index: number) => made[placeOf(index)] as Pick<Delivery, 'id' | 'tenantId'>
  const list = { orderBy: { id: 'asc' }, limit: 20 } as const
  const workers = sql<{
    pid: string
  }>`select result as pid from run_command_on_workers('select pg_backend_pid()')`
  return {
    database,
    servers: {
      coordinator: [serverOf(await numberOf(database, 'pg_backend_pid()'))],
      workers: (await workers.execute(database.kysely)).rows.map(({ pid }) =>
        serverOf(Number(pid)),
      ),
    },
    calls: {
      find: (index) => deliveries.find(rowAt(index).id, { tenantId: rowAt(index).tenantId }),
      'list of 20': (index) => deliveries.list({ where: { tenantId: tenantOf(index) }, ...list }),
      create: (index) => deliveries.create(one(index)),
      update: (index) => {
        const { id, tenantId } = rowAt(index)
        return deliveries.update(id, { price: index % 50 }, { tenantId })
      },
      'list of 20 in all shards': () =>
        sql`select * from delivery order by id limit 20`.execute(database.kysely),
    },
    close: () => database.close(),
  }
}

async function measureOne(
  name: string,
  work: (index: number) => Promise<unknown>,
  { database, servers }: Place,
): Promise<void> {
  // On every connection, because each has its own prepared statements and connections to workers.
  await runTogether(work, (count) => count < warmUp)
  const timesOf = (): number[] => Object.values(servers).map(serverTime)
  const before = { app: process.cpuUsage(), servers: timesOf(), wal: await walOf(database) }
  const end = performance.now() + duration
  const count = await runTogether(work, () => performance.now() < end)
  const { user, system } = process.cpuUsage(before.app)
  const times = timesOf().map((time, index) => time - (before.servers[index] ?? 0))
  const wal = (await walOf(database)) - before.wal
  const costs = Object.keys(servers).map(
    (server, index) => `${server} ${((times[index] ?? 0) / count).toFixed(1)} µs`,
  )
  console.log(
    `${name}: ${Math.round((count * 1000) / duration)} a second, application ${((user + system) / count).toFixed(1)} µs, ${costs.join(', ')}, log ${Math.round(wal / count)} bytes`,
  )
}

/** @returns the number of calls */
async function runTogether(
  work: (index: number) => Promise<unknown>,
  goesOn: (count: number) => boolean,
): Promise<number> {
  let count = 0
  const client = async (): Promise<void> => {
    while (goesOn(count)) await work(count++)
  }
  await Promise.all(Array.from({ length: clients }, client))
  return count
}

/** The log of the server that the database is connected to. */
function walOf(database: Database): Promise<number> {
  return numberOf(database, `pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')`)
}

async function numberOf(database: Database, expression: string): Promise<number> {
  const query = sql.raw<{ value: string }>(`select ${expression} as value`)
  return Number((await query.execute(database.kysely)).rows[0]?.value)
}

void main().then(() => process.exit(0))
