/**
 * Compares records on big tables with handwritten SQL, alternating in one run on the same rows: `npm run big-tables`. It prints
 * the tables of docs/performance.md. Options: `--rows 100000` for a quick run, `--engine sqlite`.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import {
  BelongsTo,
  bootstrap,
  Controller,
  Field,
  HasMany,
  Module,
  type NewRow,
  NoAuth,
  Record,
  type Rel,
} from 'filigree'
import { connect, type Database } from '../../src/index.js'
import { startOwnPostgres } from '../records/postgres-server.js'
import { runSql } from '../records/run-sql.js'

@Record()
class Seller {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => Item, { by: 'sellerId' }) items!: Rel<Item[]>
}

@Record({ indexes: [{ fields: ['status', '-price'] }] })
class Item {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('integer', { index: true }) price!: number
  @Field('integer', { optional: true, nullable: true, index: true }) rank!: number | null
  @Field('string') status!: string
  @Field('datetime') addedAt!: string
  @Field('integer') sellerId!: number
  @BelongsTo(() => Seller) seller!: Rel<Seller>
}

@Record({ search: ['text'] })
class Note {
  @Field('id') id!: number
  @Field('string') text!: string
}

@Record()
class Line {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('integer') amount!: number
  @Field('numeric') price!: number
  @Field('boolean') paid!: boolean
}

@Controller('/items', { crud: Item })
@NoAuth
class Items {}
@Module({ controllers: [Items], records: [Seller, Item, Note, Line] })
class App {}

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    inserted: { type: 'string', default: '200000' },
    engine: { type: 'string' },
  },
})
const count = Number(options.rows)
const sellers = Math.ceil(count / 20)
/** The key of a seller with a fifth of all items. */
const hot = 3
/** Milliseconds of warm-up and of measurement for each side of a task, and the minimum number of calls. */
const [warmUp, measured, fewest] = [500, 2000, 15]

function* makeItems(): Generator<NewRow<Item>> {
  for (let index = 0; index < count; index++) {
    const spread = (index * 7919) % 1_000_003
    yield {
      name: `item ${spread}`,
      price: spread % 100_000,
      rank: spread % 10 === 0 ? null : spread % 5000,
      status: ['open', 'sold', 'gone', 'hidden'][spread % 4] ?? 'open',
      addedAt: new Date(Date.UTC(2026, 0, 1, 0, spread % 500_000)).toISOString(),
      sellerId: index % 5 === 0 ? hot : 1 + (spread % Math.ceil(sellers * 0.9)),
    }
  }
}

function* makeNotes(): Generator<NewRow<Note>> {
  for (let index = 0; index < count; index++) {
    const words = Array.from({ length: 6 }, (_, place) => wordOf(index * 7919 + place * 104_729))
    yield { text: words.join(' ') }
  }
}

/** One of 2,000 words. */
function wordOf(number: number): string {
  return `word${number % 2000}`
}

interface Task {
  readonly name: string
  readonly maxRatio: number
  readonly ours: () => Promise<unknown>
  readonly byHand: () => Promise<unknown>
}

async function measure({ name, maxRatio, ours, byHand }: Task): Promise<string> {
  const times: [number[], number[]] = [[], []]
  const begin = performance.now()
  for (let round = 0, end = begin + 2 * warmUp; round < 3 || performance.now() < end; round++) {
    await ours()
    await byHand()
  }
  const end = performance.now() + 2 * measured
  for (let round = 0; round < fewest || performance.now() < end; round++) {
    for (const [place, run] of [ours, byHand].entries()) {
      const start = performance.now()
      await run()
      times[place]?.push(performance.now() - start)
    }
  }
  const [mine, theirs] = times.map(median) as [number, number]
  return row(
    name,
    `${mine.toFixed(2)} ms`,
    `${theirs.toFixed(2)} ms`,
    mine / theirs,
    `≤ ${maxRatio}`,
  )
}

function median(times: number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? NaN
}

function row(name: string, mine: string, theirs: string, ratio: number, target: string): string {
  return `| ${name} | ${mine} | ${theirs} | ${ratio.toFixed(2)} × | ${target} × |`
}

/** Prepares a statement once. @returns a function that runs it */
type ByHand = (text: string, ...values: readonly unknown[]) => () => Promise<unknown>

const columns = 't.id, t.name, t.price, t.rank, t.status, t.seller_id as "sellerId"'

/** The statements by hand that differ between the engines, and the index of the handwritten search. */
interface HandSql {
  readonly byDay: string
  readonly searchIndex: readonly string[]
  readonly searchOf: (...words: readonly string[]) => [text: string, ...values: unknown[]]
}

const liteSql: HandSql = {
  byDay: 'select date(added_at) as day, count(*) as count from item group by 1 order by 1',
  searchIndex: [
    `create virtual table note_words using fts5 (text, content='note', content_rowid='id')`,
    `insert into note_words (note_words) values ('rebuild')`,
  ],
  searchOf: (...words) => [
    'select n.id, n.text from note_words w join note n on n.id = w.rowid where note_words match ? order by w.rank limit ?',
    words.join(' '),
    20,
  ],
}

const postgresVector = `to_tsvector('simple', text)`
const postgresSql: HandSql = {
  byDay: 'select added_at::date as day, count(*)::int as count from item group by 1 order by 1',
  searchIndex: [`create index note_words on note using gin (${postgresVector})`],
  searchOf: (...words) => [
    `select n.id, n.text from note n where ${postgresVector} @@ to_tsquery('simple', ?) order by ts_rank(${postgresVector}, to_tsquery('simple', ?), 1) desc, n.id limit ?`,
    words.join(' & '),
    words.join(' & '),
    20,
  ],
}

function tasksOf(database: Database, sql: ByHand, { byDay, searchOf }: HandSql): Task[] {
  const items = database.records(Item)
  const notes = database.records(Note)
  const owners = database.records(Seller)
  const cursorRow = (price: number): Item =>
    Object.assign(new Item(), { id: 500, price, rank: 2500 })
  const deep = items.cursorOf(cursorRow(50_000), { price: 'desc' })
  const ranked = items.cursorOf(cursorRow(1), { rank: 'asc' })
  const list = (text: string) => `select ${columns} from item t ${text}`
  const pieces = (text: string) =>
    `select * from (${list(text)}) a union all select * from (${list('where t.rank is null order by t.id limit ?')}) b limit ?`
  return [
    {
      name: 'cursor page in the middle, `price` descending',
      maxRatio: 1.5,
      ours: () => items.list({ orderBy: { price: 'desc' }, after: deep, limit: 20 }),
      byHand: sql(
        list(
          'where t.price <= ? and (t.price < ? or t.id > ?) order by t.price desc, t.id limit ?',
        ),
        50_000,
        50_000,
        500,
        20,
      ),
    },
    {
      name: 'cursor page in the middle, nullable `rank` ascending',
      maxRatio: 1.5,
      ours: () => items.list({ orderBy: { rank: 'asc' }, after: ranked, limit: 20 }),
      byHand: sql(
        pieces('where t.rank >= ? and (t.rank > ? or t.id > ?) order by t.rank, t.id limit ?'),
        2500,
        2500,
        500,
        20,
        20,
        20,
      ),
    },
    {
      name: 'first page, nullable `rank` descending, nulls last',
      maxRatio: 1.5,
      ours: () => items.list({ orderBy: { rank: 'desc' }, limit: 20 }),
      byHand: sql(
        pieces('where t.rank is not null order by t.rank desc, t.id limit ?'),
        20,
        20,
        20,
      ),
    },
    {
      name: 'list with filter and order',
      maxRatio: 1.3,
      ours: () =>
        items.list({
          where: { status: 'open', price: { lt: 50_000 } },
          orderBy: { price: 'desc' },
          limit: 50,
        }),
      byHand: sql(
        list('where t.status = ? and t.price < ? order by t.price desc, t.id limit ?'),
        'open',
        50_000,
        50,
      ),
    },
    {
      name: 'page 10,000 by `offset`',
      maxRatio: 1.2,
      ours: () => items.list({ orderBy: { price: 'asc' }, offset: 199_980, limit: 20 }),
      byHand: sql(list('order by t.price, t.id limit ? offset ?'), 20, 199_980),
    },
    {
      name: 'count with a filter',
      maxRatio: 1.2,
      ours: () => items.count({ status: 'open', price: { lt: 50_000 } }),
      byHand: sql('select count(*) from item t where t.status = ? and t.price < ?', 'open', 50_000),
    },
    {
      name: 'aggregate: count of each day',
      maxRatio: 1.2,
      ours: () => items.aggregate({ groupBy: [{ field: 'addedAt', by: 'day' }], count: true }),
      byHand: sql(byDay),
    },
    {
      name: 'search: one word, the best 20',
      maxRatio: 1.2,
      ours: () => notes.list({ search: wordOf(7), limit: 20 }),
      byHand: sql(...searchOf(wordOf(7))),
    },
    {
      name: 'search: two words, the best 20',
      maxRatio: 1.2,
      ours: () => notes.list({ search: `${wordOf(7)} ${wordOf(736)}`, limit: 20 }),
      byHand: sql(...searchOf(wordOf(7), wordOf(736))),
    },
    {
      name: 'none: sellers without items, counted',
      maxRatio: 2,
      ours: () => owners.count({ not: { items: {} } }),
      byHand: sql(
        'select count(*) from seller s where not exists (select 1 from item t where t.seller_id = s.id)',
      ),
    },
    {
      name: 'every: sellers all of whose items are cheap, first 50',
      maxRatio: 2,
      ours: () =>
        owners.list({ where: { not: { items: { not: { price: { lt: 99_000 } } } } }, limit: 50 }),
      byHand: sql(
        'select s.id, s.name from seller s where not exists (select 1 from item t where t.seller_id = s.id and not t.price < ?) order by s.id limit ?',
        99_000,
        50,
      ),
    },
    {
      name: 'count through a relation: sellers with dear items',
      maxRatio: 2,
      ours: () => owners.count({ items: { price: { gte: 90_000 } } }),
      byHand: sql(
        'select count(*) from seller s where s.id in (select t.seller_id from item t where t.price >= ?)',
        90_000,
      ),
    },
    {
      name: 'aggregate: count, mean and largest `price` of each `status`',
      maxRatio: 1.2,
      ours: () =>
        items.aggregate({ groupBy: ['status'], count: true, avg: ['price'], max: ['price'] }),
      byHand: sql(
        'select status, count(*) as count, avg(price) as avg, max(price) as max from item group by status order by status',
      ),
    },
    {
      name: 'aggregate: sum of `price` over the sold items',
      maxRatio: 1.2,
      ours: () => items.aggregate({ where: { status: 'sold' }, sum: ['price'] }),
      byHand: sql('select sum(t.price) as sum from item t where t.status = ?', 'sold'),
    },
    {
      name: 'first 5 children of a parent with a fifth of all',
      maxRatio: 1.3,
      ours: () => items.list({ where: { sellerId: hot }, limit: 5 }),
      byHand: sql(list('where t.seller_id = ? order by t.id limit ?'), hot, 5),
    },
  ]
}

const inserted = Number(options.inserted)
const lines = Array.from({ length: inserted }, (_, index) => ({
  name: `line ${index}`,
  amount: index % 1000,
  price: index / 7,
  paid: index % 3 === 0,
}))

/** The used part of better-sqlite3, which has no types. */
interface LiteDatabase {
  prepare(sql: string): {
    all(...values: readonly unknown[]): unknown[]
    run(...values: readonly unknown[]): unknown
  }
  exec(sql: string): void
  close(): void
}
const liteDriver = 'better-sqlite3'

async function openLite(url: string): Promise<LiteDatabase> {
  const { default: Lite } = (await import(liteDriver)) as {
    default: new (file: string) => LiteDatabase
  }
  const lite = new Lite(url.slice('sqlite:'.length))
  lite.exec('pragma synchronous = normal; pragma foreign_keys = on')
  return lite
}

/** Runs one prepared statement for each row, in one transaction. */
async function insertInLoop(url: string): Promise<void> {
  const lite = await openLite(url)
  const insert = lite.prepare('insert into line (name, amount, price, paid) values (?, ?, ?, ?)')
  lite.exec('begin')
  for (const { name, amount, price, paid } of lines) insert.run(name, amount, price, paid ? 1 : 0)
  lite.exec('commit')
  lite.close()
}

/** The used part of pg, which has no types. */
interface CopyConnection {
  query(sql: string): void
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
}
interface PgClient {
  connect(): Promise<void>
  query(query: CopyIn): void
  query(query: {
    name: string
    text: string
    values: readonly unknown[]
  }): Promise<{ rows: { id?: unknown }[] }>
  end(): Promise<void>
}
const driver = 'pg'

/** `copy … from stdin` as a query object of the driver. */
class CopyIn {
  #settle: { resolve: () => void; reject: (error: unknown) => void } | undefined
  readonly done = new Promise<void>((resolve, reject) => {
    this.#settle = { resolve, reject }
  })

  submit(connection: CopyConnection): void {
    connection.query('copy line (name, amount, price, paid) from stdin')
  }

  handleCopyInResponse(connection: CopyConnection): void {
    for (let start = 0; start < lines.length; start += 1000) {
      let text = ''
      for (const { name, amount, price, paid } of lines.slice(start, start + 1000))
        text += `${name}\t${amount}\t${price}\t${paid ? 't' : 'f'}\n`
      connection.sendCopyFromChunk(Buffer.from(text))
    }
    connection.endCopyFrom()
  }

  handleCommandComplete(): void {
    // handleReadyForQuery follows.
  }

  handleError(error: unknown): void {
    this.#settle?.reject(error)
  }

  handleReadyForQuery(): void {
    this.#settle?.resolve()
  }
}

async function openPg(url: string): Promise<PgClient> {
  const { Client } = (await import(driver)) as {
    Client: new (options: { connectionString: string }) => PgClient
  }
  const client = new Client({ connectionString: url })
  await client.connect()
  return client
}

/** Opens the driver as an expert would use it: statements prepared once, rows as objects, keys as numbers. */
async function openByHand(
  url: string,
  isLite: boolean,
): Promise<{ sql: ByHand; close: () => void }> {
  if (isLite) {
    const lite = await openLite(url)
    const sql: ByHand = (text, ...values) => {
      const prepared = lite.prepare(text)
      return () => Promise.resolve(prepared.all(...values))
    }
    return {
      sql,
      close: () => {
        lite.close()
      },
    }
  }
  const client = await openPg(url)
  let count = 0
  const sql: ByHand = (template, ...values) => {
    let place = 0
    const query = {
      name: `s${++count}`,
      text: template.replaceAll('?', () => `$${++place}`),
      values,
    }
    return async () => {
      const { rows } = await client.query(query)
      for (const found of rows) if (found.id !== undefined) found.id = Number(found.id)
      return rows
    }
  }
  return { sql, close: () => void client.end() }
}

async function insertByCopy(url: string): Promise<void> {
  const client = await openPg(url)
  const copy = new CopyIn()
  client.query(copy)
  await copy.done
  await client.end()
}

async function measureInserts(database: Database, url: string, isLite: boolean): Promise<string> {
  const times: [number[], number[]] = [[], []]
  const ways = [
    () => database.records(Line).insertMany(lines),
    () => (isLite ? insertInLoop(url) : insertByCopy(url)),
  ]
  for (let round = -1; round < 5; round++) {
    for (const [place, run] of ways.entries()) {
      await runSql(database, 'delete from line')
      const start = performance.now()
      await run()
      if (round >= 0) times[place]?.push(performance.now() - start)
    }
  }
  const [mine, theirs] = times.map(median) as [number, number]
  const speed = (time: number): string => `${Math.round(inserted / time)},000 rows/s`
  const name = `\`insertMany\` compared with ${isLite ? 'a prepared loop' : 'one COPY'}`
  return row(name, speed(mine), speed(theirs), theirs / mine, `≥ ${isLite ? 0.9 : 0.8}`)
}

/** Measures `GET /items/7` alone and while other clients run full scans. */
async function measureWithScans(database: Database): Promise<string> {
  const app = await bootstrap(App, { port: 0, logger: false, database, limits: { cost: Infinity } })
  const measureRequest = async (): Promise<number> => {
    const start = performance.now()
    await (await fetch(`${app.url}/items/7`)).json()
    return performance.now() - start
  }
  const measureMany = async (): Promise<[string, string]> => {
    const times: number[] = []
    for (let index = 0; index < 400; index++) times.push(await measureRequest())
    const sorted = times.toSorted((a, b) => a - b)
    return [sorted[200], sorted[396]].map((time) => `${(time ?? NaN).toFixed(1)} ms`) as [
      string,
      string,
    ]
  }
  await measureMany()
  const alone = await measureMany()
  const end = new AbortController()
  const scan = async (): Promise<number> => {
    let scans = 0
    while (!end.signal.aborted) {
      const query = 'name.ilike=%25nothing%25&count=none'
      await (await fetch(`${app.url}/items?${query}`, { signal: end.signal })).text()
      scans++
    }
    return scans
  }
  const scans = Array.from({ length: 4 }, () => scan().catch(() => 0))
  const withScans = await measureMany()
  end.abort()
  await Promise.all(scans)
  await app.close()
  return `| ${alone.join(' | ')} | ${withScans.join(' | ')} |`
}

async function measureOn(title: string, url: string, isLite: boolean): Promise<void> {
  const database = await connect(url, { records: [Seller, Item, Note, Line] })
  await database.sync()
  await database
    .records(Seller)
    .insertMany(Array.from({ length: sellers }, (_, index) => ({ name: `seller ${index}` })))
  await database.records(Item).insertMany(makeItems())
  await database.records(Note).insertMany(makeNotes())
  const hand = isLite ? liteSql : postgresSql
  for (const text of hand.searchIndex) await runSql(database, text)
  await runSql(database, isLite ? 'analyze' : 'vacuum analyze')
  const found: string[] = []
  const { sql, close } = await openByHand(url, isLite)
  for (const task of tasksOf(database, sql, hand)) found.push(await measure(task))
  close()
  found.push(await measureInserts(database, url, isLite))
  const head = '| | Filigree | by hand | | target |\n| --- | --- | --- | --- | --- |'
  console.log(`\n## ${title}, ${count.toLocaleString('en')} items\n\n${head}\n${found.join('\n')}`)
  const withScans = await measureWithScans(database)
  console.log(
    `\n| \`GET /items/7\` alone: half within | 99 % within | with four scans: half within | 99 % within |\n| --- | --- | --- | --- |\n${withScans}`,
  )
  await database.close()
}

if (options.engine !== 'postgres') {
  const folder = await mkdtemp(join(tmpdir(), 'filigree-big-'))
  await measureOn('SQLite', `sqlite:${join(folder, 'big.db')}`, true)
  await rm(folder, { recursive: true })
}
if (options.engine !== 'sqlite') {
  const server = await startOwnPostgres()
  await measureOn('PostgreSQL', await server.createDatabase(), false)
  await server.close()
}
