/**
 * How long the admin page's pickers and lists take in the server with 1,000,000 rows in a relation, on both engines; how large
 * the schema of 60 records is. `tsx --tsconfig test/tsconfig.json test/admin/big-tables.ts [rows]`. Prints a table; ends with 1 where
 * an answer takes 200 ms or the schema 30 KB.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import {
  Auth,
  BelongsTo,
  bootstrap,
  Database,
  Field,
  Module,
  Record as Row,
  type Application,
  type Rel,
} from '../../src/index.js'
import { Admin, admin } from '../../src/modules/admin/admin.js'
import { startOwnPostgres } from '../records/postgres-server.js'
import { OpenLogin } from './open-login.js'

const rows = Number(process.argv[2] ?? 1_000_000)

@Row({ search: ['name'] })
@Admin({ title: 'name' })
class Org {
  @Field('id') id!: number
  @Field('string', { maxLength: 100, index: true }) name!: string
  @Field('string', { maxLength: 40 }) town!: string
}

@Row({ search: ['subject'] })
@Admin({ title: 'subject', list: ['subject', 'status', 'org'] })
class Ticket {
  @Field('id') id!: number
  @Field('string', { maxLength: 200, index: true }) subject!: string
  @Field('string', { oneOf: ['open', 'closed'], index: true }) status!: string
  @Field('integer', { index: true }) orgId!: number
  @BelongsTo(() => Org) org!: Rel<Org>
}

function moduleOf(records: (new () => object)[]): new () => object {
  class App {}
  Module({
    controllers: [OpenLogin],
    imports: [admin({ path: '/admin', roles: 'admin', records, login: { path: '/login' } })],
  })(App)
  return App
}

async function start(database: string, records: (new () => object)[]): Promise<Application> {
  return bootstrap(moduleOf(records), { database, logger: false, listen: false })
}

/** As the page asks: a list and its next page, a filter, and what a picker asks while somebody types. */
const requests: readonly (readonly [string, string])[] = [
  ['list', 'tickets?fields=id,subject,status,org.id,org.name&limit=50'],
  ['list, next page', 'tickets?fields=id,subject,org.name&limit=50&orderBy=-id'],
  ['list by title', 'tickets?fields=id,subject,org.name&limit=50&orderBy=subject'],
  ['list by an enum', 'tickets?fields=id,subject,org.name&limit=50&status=open'],
  ['list by a relation', 'tickets?fields=id,subject,org.name&limit=50&orgId=777'],
  ['list, search', 'tickets?fields=id,subject,org.name&limit=50&search=lamp'],
  ['picker, nothing typed', 'orgs?fields=id,name&limit=12&count=none'],
  ['picker, by beginning', 'orgs?fields=id,name&limit=12&count=none&name.startsWith=Org%2099'],
  ['picker, by rare words', 'orgs?fields=id,name&limit=12&count=none&search=org%20777777'],
  ['picker, by a common word', 'orgs?fields=id,name&limit=12&count=none&search=north'],
  ['picker, anywhere', 'orgs?fields=id,name&limit=12&count=none&name.ilike=%2577777%25'],
  ['titles by key', 'orgs?fields=id,name&limit=50&count=none&id.in=7,77,777,7777,77777'],
]

async function measure(name: string, url: string): Promise<boolean> {
  const app = await start(url, [Ticket, Org])
  const database = app.get(Database)
  const winds = ['north', 'east', 'south', 'west']
  const things = ['lamp', 'chair', 'table', 'bed', 'sofa', 'rug', 'desk']
  await database.records(Org).insertMany(
    (function* () {
      for (let id = 1; id <= rows; id++)
        yield { id, name: `Org ${id} ${winds[id % 4]}`, town: `Town ${id % 500}` }
    })(),
  )
  await database.records(Ticket).insertMany(
    (function* () {
      for (let id = 1; id <= rows / 10; id++) {
        const subject = `${things[id % 7]} ${id}`
        yield { id, subject, status: id % 3 === 0 ? 'closed' : 'open', orgId: (id % rows) + 1 }
      }
    })(),
  )
  await app.close()
  const served = await start(url, [Ticket, Org])
  const token = await served.get(Auth).getToken({ sub: 'ann', roles: ['admin'] })
  const headers = { authorization: `Bearer ${token}` }
  let isGood = true
  for (const [what, path] of requests) {
    const times: number[] = []
    let outcome = ''
    for (let round = 0; round < 7; round++) {
      const before = performance.now()
      const { status, body } = await served.inject({ url: `/admin/api/rows/${path}`, headers })
      times.push(performance.now() - before)
      outcome =
        status === 200
          ? `${(JSON.parse(body) as unknown[]).length} rows`
          : `${status} ${body.slice(0, 60)}`
    }
    const [first = 0] = times
    const [, , , median = 0] = [...times].sort((a, b) => a - b)
    if (median >= 200) isGood = false
    const figures = `${median.toFixed(1).padStart(8)} ms, first ${first.toFixed(1).padStart(8)} ms`
    console.log(`${name.padEnd(11)} ${what.padEnd(26)} ${figures}  ${outcome}`)
  }
  await served.close()
  return isGood
}

async function measureSchema(): Promise<boolean> {
  const records = Array.from({ length: 60 }, (_, index) => {
    class Some {}
    Object.defineProperty(Some, 'name', { value: `Customer${index}` })
    Field('id')(Some.prototype, 'id')
    Field('string', { maxLength: 200 })(Some.prototype, 'name')
    Field('string', { oneOf: ['open', 'closed'] })(Some.prototype, 'status')
    Field('integer', { min: 0 })(Some.prototype, 'amount')
    Field('datetime', { nullable: true })(Some.prototype, 'dueAt')
    Field('text', { nullable: true, optional: true })(Some.prototype, 'remark')
    Field('boolean', { default: false })(Some.prototype, 'urgent')
    Field('integer')(Some.prototype, 'orgId')
    BelongsTo(() => Org)(Some.prototype, 'org')
    Row()(Some)
    return Some
  })
  const app = await start('sqlite::memory:', [...records.slice(1), Org])
  const token = await app.get(Auth).getToken({ sub: 'ann', roles: ['admin'] })
  const headers = { authorization: `Bearer ${token}` }
  const { body } = await app.inject({ url: '/admin/api/schema', headers })
  await app.close()
  const packed = gzipSync(body).length
  console.log(`schema of 60 records with 8 fields: ${body.length} bytes, ${packed} as sent`)
  return body.length < 30_000
}

const folder = await mkdtemp(join(tmpdir(), 'filigree-admin-'))
const results = [await measureSchema(), await measure('SQLite', `sqlite:${folder}/big.db`)]
await rm(folder, { recursive: true })
const server = await startOwnPostgres()
try {
  results.push(await measure('PostgreSQL', server.url))
} finally {
  await server.close()
  await server.stop()
}
if (results.includes(false)) process.exitCode = 1
