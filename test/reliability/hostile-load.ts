/**
 * Measures the effect of one attacker on other callers. The attacker sends ten anonymous requests a second, and a victim sends one request
 * after another. `npm run hostile-load -- --rows 100000 --engine sqlite --seconds 10 --only search`. It prints the table of
 * docs/maintainers/reliability.md, and exits with 1 if a target is missed. The server is a separate process on loopback.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import {
  BelongsTo,
  bootstrap,
  Controller,
  Field,
  Get,
  HasMany,
  Module,
  NoAuth,
  Record,
  type Rel,
} from 'filigree'
import { connect, type Database } from '../../src/index.js'
import { startOwnPostgres } from '../records/postgres-server.js'
import { runSql } from '../records/run-sql.js'

@Record()
class Author {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => Article, { by: 'authorId' }) articles!: Rel<Article[]>
}

@Record({ search: ['title'] })
class Article {
  @Field('id') id!: number
  @Field('string') title!: string
  @Field('integer', { index: true }) price!: number
  @Field('integer') authorId!: number
  @BelongsTo(() => Author) author!: Rel<Author>
}

@Controller('/articles', { crud: Article })
@NoAuth
class Articles {}
@Controller('/authors', { crud: Author })
@NoAuth
class Authors {}
@Controller('/plain')
@NoAuth
class Plain {
  @Get('/')
  plain(): object {
    return { ok: true }
  }
}
@Module({ controllers: [Articles, Authors, Plain], records: [Author, Article] })
class App {}

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '100000' },
    engine: { type: 'string' },
    seconds: { type: 'string', default: '10' },
    only: { type: 'string' },
    serve: { type: 'string' },
  },
})

/** The number of articles of the first author. */
const ofFirst = 50_000
const rate = 10

/** A GraphQL query with twenty aliased fields. */
function twenty(field: (place: number) => string): string {
  return `{ ${Array.from({ length: 20 }, (_, place) => `a${place}: ${field(place)}`).join(' ')} }`
}

interface RequestSpec {
  readonly path: string
  readonly body?: string
}

const query = (text: string): RequestSpec => ({
  path: '/graphql',
  body: JSON.stringify({ query: text }),
})

const attacks: { readonly name: string; readonly makeRequest: (count: number) => RequestSpec }[] = [
  {
    name: 'distinct: 20 × `articles(distinct: [title], limit: 1)`',
    makeRequest: () => query(twenty(() => 'articles(distinct: [title], limit: 1) { id }')),
  },
  {
    name: 'ranges: 20 × counts and sums over ranges of an index',
    makeRequest: () =>
      query(
        twenty((place) =>
          place % 2 === 0
            ? `articleCount(where: { price: { gte: ${place} } })`
            : `articleAggregate(where: { price: { gte: ${place} } }, sum: [price]) { sumPrice }`,
        ),
      ),
  },
  {
    name: 'search: `?search=lamp&offset=N`',
    makeRequest: (count) => ({
      path: `/articles?search=lamp&limit=2&offset=${(count * 37) % 900}`,
    }),
  },
  {
    name: 'searches: 20 × `articles(where: { search }, offset: N)`',
    makeRequest: (count) =>
      query(
        twenty(
          (place) =>
            `articles(where: { search: "lamp" }, offset: ${count + place}, limit: 1) { id title }`,
        ),
      ),
  },
  {
    name: 'children: 50,000 below one key by `with=`',
    makeRequest: () => ({ path: '/authors/1?with=articles' }),
  },
  {
    name: 'nested: 20 × lists of 100 below one key',
    makeRequest: () => query(twenty(() => 'author(id: 1) { articles(limit: 100) { id title } }')),
  },
]

const victims = [
  { name: 'plain', makeRequest: (): RequestSpec => ({ path: '/plain' }), p99: 100, worst: 1000 },
  {
    name: 'by key',
    makeRequest: (): RequestSpec => ({ path: `/articles/${1 + Math.floor(Math.random() * 1000)}` }),
    p99: 1000,
    worst: 1000,
  },
  {
    name: 'small list',
    makeRequest: (): RequestSpec => ({
      path: `/articles?authorId=${2 + Math.floor(Math.random() * 50)}&limit=2`,
    }),
    p99: 1000,
    worst: 1000,
  },
] as const

interface Answered {
  readonly status: number
  readonly ms: number
}

function send(
  url: string,
  { path, body }: RequestSpec,
  agent?: Agent,
): Promise<Answered> & { drop: () => void } {
  const start = performance.now()
  const headers = body === undefined ? {} : { 'content-type': 'application/json' }
  const sent = httpRequest(url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers,
    agent,
  })
  const answer = new Promise<Answered>((resolve) => {
    const end = (status: number): void => {
      resolve({ status, ms: performance.now() - start })
    }
    sent.on('response', (response) => {
      response.on('data', () => undefined)
      response.on('end', () => {
        end(response.statusCode ?? 0)
      })
      response.on('error', () => {
        end(0)
      })
    })
    sent.on('error', () => {
      end(0)
    })
  })
  sent.end(body)
  return Object.assign(answer, { drop: () => void sent.destroy() })
}

/** Sends one request after another until the time is over. */
async function suffer(
  url: string,
  makeRequest: () => RequestSpec,
  until: number,
): Promise<Answered[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const answers: Answered[] = []
  while (performance.now() < until) {
    const sent = send(url, makeRequest(), agent)
    answers.push(
      await Promise.race([sent, setTimeout(30_000, { status: 0, ms: 30_000 }, { ref: false })]),
    )
    // One client sends a request every few milliseconds, not as many as it can.
    await setTimeout(5)
  }
  agent.destroy()
  return answers
}

async function measure(url: string, attack: (typeof attacks)[number]): Promise<[string, boolean]> {
  const until = performance.now() + Number(options.seconds) * 1000
  const sent: ReturnType<typeof send>[] = []
  let count = 0
  const clock = setInterval(() => {
    sent.push(send(url, attack.makeRequest(count++)))
  }, 1000 / rate)
  const found = await Promise.all(victims.map(({ makeRequest }) => suffer(url, makeRequest, until)))
  clearInterval(clock)
  for (const one of sent) one.drop()
  const statuses = new Map<number, number>()
  for (const { status } of await Promise.all(sent))
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  let isFine = true
  const cells = found.map((answers, index) => {
    const times = answers.map(({ ms }) => ms).toSorted((a, b) => a - b)
    const p99 = times[Math.floor(times.length * 0.99)] ?? NaN
    const worst = times.at(-1) ?? NaN
    const failed = answers.filter(({ status }) => status !== 200).length
    const target = victims[index]
    if (!(p99 <= (target?.p99 ?? 0)) || !(worst <= (target?.worst ?? 0)) || failed > 0)
      isFine = false
    return `${p99.toFixed(0)} / ${worst.toFixed(0)} ms${failed > 0 ? `, ${failed} failed` : ''}`
  })
  const answered = [...statuses]
    .map(([status, times]) => `${times} × ${status || 'left'}`)
    .join(', ')
  return [`| ${attack.name} | ${cells.join(' | ')} | ${answered} |`, isFine]
}

async function fill(database: Database, rows: number): Promise<void> {
  const isLite = database.engineName === 'sqlite'
  const series = (rowCount: number): string =>
    isLite
      ? `with recursive n (i) as (select 1 union all select i + 1 from n limit ${rowCount})`
      : `with n (i) as (select generate_series(1, ${rowCount}))`
  const insert = (into: string, columns: string, values: string, rowCount: number): string =>
    isLite
      ? `${series(rowCount)} insert into ${into} (${columns}) select ${values} from n`
      : `insert into ${into} (${columns}) ${series(rowCount)} select ${values} from n`
  await runSql(database, insert('author', 'name', `'author ' || i`, 2000))
  // Inserted in pieces that stay below the statement timeout.
  const piece = 100_000
  for (let from = 0; from < rows; from += piece) {
    const i = `(i + ${from})`
    const author = `case when ${i} <= ${Math.min(ofFirst, rows / 2)} then 1 else 2 + ${i} % 1900 end`
    const values = `'lamp ' || ${i}, (cast(${i} as bigint) * 7919) % 100000, ${author}`
    const rowCount = Math.min(piece, rows - from)
    await runSql(database, insert('article', 'title, price, author_id', values, rowCount))
  }
  await runSql(database, 'analyze')
}

/** The longest turn of the server's event loop, in milliseconds: the time on a core, and the time waiting for one. */
interface LongestCycle {
  readonly ran: number
  readonly waited: number
}

/** @returns nanoseconds that the main thread has run and has waited for a core. Zeros if the system does not report them */
function readSchedule(): readonly [number, number] {
  try {
    const [ran = 0, waited = 0] = readFileSync('/proc/self/schedstat', 'latin1')
      .split(' ')
      .map(Number)
    return [ran, waited]
  } catch {
    return [0, 0]
  }
}

/** Separates turns that are long because of the program from turns that wait for a core of the machine. @returns reads and resets the longest turn */
function watchCycles(): () => LongestCycle {
  let longest: LongestCycle = { ran: 0, waited: 0 }
  let maxTotal = 0
  let [ran, waited] = readSchedule()
  setInterval(() => {
    const [ranNow, waitedNow] = readSchedule()
    const cycle = { ran: (ranNow - ran) / 1e6, waited: (waitedNow - waited) / 1e6 }
    if (cycle.ran + cycle.waited > maxTotal) {
      maxTotal = cycle.ran + cycle.waited
      longest = cycle
    }
    ;[ran, waited] = [ranNow, waitedNow]
  }, 1).unref()
  return () => {
    const result = longest
    ;[longest, maxTotal] = [{ ran: 0, waited: 0 }, 0]
    return result
  }
}

/** The server process. It sends its address to the parent, and the longest turn since the last query when the parent asks for it. */
async function serve(url: string): Promise<void> {
  const database = await connect(url, { records: [Author, Article] })
  const app = await bootstrap(App, { port: 0, logger: false, database, graphql: true })
  process.send?.(app.url)
  const readLongest = watchCycles()
  process.on('message', () => process.send?.(readLongest()))
  process.on('disconnect', () => process.exit())
}

async function listen(url: string): Promise<[ChildProcess, string]> {
  const child = fork(fileURLToPath(import.meta.url), ['--serve', url], { stdio: 'inherit' })
  const address = await new Promise<string>((resolve, reject) => {
    child.once('message', (message) => {
      resolve(message as string)
    })
    child.once('exit', (code) => {
      reject(new Error(`The server ended with ${String(code)}.`))
    })
  })
  return [child, address]
}

function requestLongestCycle(child: ChildProcess): Promise<LongestCycle> {
  return new Promise((resolve) => {
    child.once('message', (cycle) => {
      resolve(cycle as LongestCycle)
    })
    child.send('turn')
  })
}

async function run(title: string, url: string): Promise<boolean> {
  const rows = Number(options.rows)
  const database = await connect(url, { records: [Author, Article] })
  await database.sync()
  await fill(database, rows)
  await database.close()
  process.stdout.write(
    `\n${title}, ${rows.toLocaleString('en')} rows, p99 / worst of a victim's requests\n\n` +
      '| Attack, 10 a second | GET without database | by key | small list by an index | attackers\n| --- | --- | --- | --- | --- |\n',
  )
  let isFine = true
  for (const attack of attacks) {
    if (options.only !== undefined && !attack.name.startsWith(options.only)) continue
    const [child, address] = await listen(url)
    for (const { makeRequest } of victims)
      for (let n = 0; n < 20; n++) await send(address, makeRequest())
    const first = await send(address, attack.makeRequest(0))
    await requestLongestCycle(child)
    const [line, isMet] = await measure(address, attack)
    const { ran, waited } = await requestLongestCycle(child)
    process.stdout.write(
      `${line} alone: ${first.status} in ${first.ms.toFixed(0)} ms; longest turn: ${ran.toFixed(0)} ms on a core, ${waited.toFixed(0)} ms waiting for one\n`,
    )
    isFine &&= isMet
    child.disconnect()
    await new Promise((resolve) => child.once('exit', resolve))
  }
  return isFine
}

if (options.serve !== undefined) await serve(options.serve)
else {
  let isFine = true
  if (options.engine !== 'postgres') {
    const folder = await mkdtemp(join(tmpdir(), 'filigree-attacks-'))
    isFine = (await run('SQLite', `sqlite:${join(folder, 'attacks.db')}`)) && isFine
    await rm(folder, { recursive: true })
  }
  if (options.engine !== 'sqlite') {
    const server = await startOwnPostgres()
    isFine = (await run('PostgreSQL', await server.createDatabase())) && isFine
    await server.close()
  }
  process.exitCode = isFine ? 0 : 1
}
