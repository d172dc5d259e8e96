/**
 * Measures the CPU time of reads and writes without HTTP, as input for `npm run simulate`. Run `npm run measure` on an idle
 * machine. Linux only, because the server's CPU time is read from /proc.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { connect, type Database } from '../../src/index.js'
import { startOwnPostgres, type OwnPostgres } from '../records/postgres-server.js'
import { Category, Product, shop } from '../records/shop.js'

const rows = 50_000
const clients = 32
/** Milliseconds per measurement. */
const duration = 3000
/** Microseconds per tick of the kernel's CPU accounting. */
const tick = 10_000

async function main(): Promise<void> {
  const server = await startOwnPostgres()
  const database = await connect(await server.createDatabase(), { records: shop })
  try {
    await database.sync()
    const category = await database.records(Category).create({ name: 'all' })
    const products = database.records(Product)
    const one = (index: number) => ({ name: `p${index}`, price: 3, categoryId: category.id })
    await products.insertMany(Array.from({ length: rows }, (_, index) => one(index)))
    const idOf = (index: number): number => ((index * 7919) % rows) + 1
    const measure = (name: string, work: (index: number) => Promise<unknown>): Promise<void> =>
      measureOne(name, work, database, server)
    await measure('find', (index) => products.find(idOf(index)))
    const list = (index: number) =>
      products.list({ where: { id: { gte: idOf(index) } }, orderBy: { id: 'asc' }, limit: 20 })
    await measure('list of 20', list)
    await measure('create', (index) => products.create(one(index)))
    await measure('update', (index) => products.update(idOf(index), { price: index % 50 }))
    const size = sql<{ bytes: string }>`select pg_total_relation_size('product') as bytes`
    const total = (await size.execute(database.kysely)).rows[0]?.bytes
    console.log(
      `row: ${Math.round(Number(total) / (await products.count()))} bytes with its indexes`,
    )
  } finally {
    await database.close()
    await server.close()
  }
}

async function measureOne(
  name: string,
  work: (index: number) => Promise<unknown>,
  database: Database,
  server: OwnPostgres,
): Promise<void> {
  for (let index = 0; index < 500; index++) await work(index)
  const before = { app: process.cpuUsage(), db: serverTime(server), wal: await walOf(database) }
  const end = performance.now() + duration
  let count = 0
  const client = async (): Promise<void> => {
    while (performance.now() < end) await work(count++)
  }
  await Promise.all(Array.from({ length: clients }, client))
  const { user, system } = process.cpuUsage(before.app)
  const db = serverTime(server) - before.db
  const wal = (await walOf(database)) - before.wal
  console.log(
    `${name}: ${Math.round((count * 1000) / duration)} a second, application ${((user + system) / count).toFixed(1)} µs, database ${(db / count).toFixed(1)} µs, log ${Math.round(wal / count)} bytes`,
  )
}

async function walOf(database: Database): Promise<number> {
  const position = sql<{
    at: string
  }>`select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as at`
  return Number((await position.execute(database.kysely)).rows[0]?.at)
}

/** @returns the CPU time of the server's processes, in microseconds */
function serverTime({ folder }: OwnPostgres): number {
  const root = Number(readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n')[0])
  let ticks = 0
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const parts = readStat(pid)
    if (Number(pid) === root || Number(parts[1]) === root)
      ticks += Number(parts[11]) + Number(parts[12])
  }
  return ticks * tick
}

/** @returns the fields after the process name, which may contain blanks. Empty if the process has ended. */
function readStat(pid: string): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}

void main().then(() => process.exit(0))
