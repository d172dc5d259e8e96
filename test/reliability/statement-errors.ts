/**
 * Makes the n-th statement of a request fail, for n = 1, 2, … up to the number of its statements, on SQLite and on
 * PostgreSQL: refused by the database, connection lost before it ran, or connection lost before its result arrived. A finding is
 * anything except one clean error, a partial write, or a failing next request.
 * `npm run faults -- --only statements`
 */
import { Database, type Application, type Row } from '../../src/index.js'
import { say } from './command-line.js'
import { breakPostgres, breakSqlite, type Breaker, type Kind } from './break-statements.js'
import { apiKey, Basket, Line, Shadow, start, Thing } from './shop-application.js'

interface RequestSpec {
  readonly name: string
  readonly path: string
  readonly method?: string
  readonly body?: object
}

/** More statements than any of the requests needs. */
const maxStatements = 40

/** The key of the existing row. Generated keys stay below it. */
const old = 1_000_000

const graphql = (query: string): RequestSpec => ({
  name: query.slice(0, 24),
  path: '/graphql',
  method: 'POST',
  body: { query },
})

const requests: readonly RequestSpec[] = [
  { name: 'two rows in a transaction', path: '/pairs', method: 'POST', body: { name: 'new' } },
  { name: 'create', path: '/things', method: 'POST', body: { name: 'new' } },
  { name: 'update', path: `/things/${old}`, method: 'PATCH', body: { name: 'new' } },
  { name: 'replace', path: `/things/${old}`, method: 'PUT', body: { name: 'new', count: 3 } },
  { name: 'delete', path: `/things/${old}`, method: 'DELETE' },
  { name: 'list', path: '/things?limit=3&count.gte=0' },
  { name: 'find', path: `/things/${old}` },
  { name: 'session', path: '/visit' },
  graphql('{ things(limit: 3) { name } thingCount }'),
  graphql('mutation { createThing(input: { name: "new" }) { id } }'),
  graphql(
    'mutation { createBasket(input: { name: "new", lines: [{ text: "a" }, { text: "b" }] }) { id lines { text } } }',
  ),
  graphql(`mutation { updateThing(id: ${old}, input: { name: "new" }) { name } }`),
  graphql(`mutation { deleteThing(id: ${old}) }`),
]

/** @returns the number of findings */
export async function injectStatementErrors(url: string): Promise<number> {
  const app = await start(url)
  const database = app.get(Database)
  const breaker = await (database.engineName === 'sqlite' ? breakSqlite() : breakPostgres())
  let [trials, findings] = [0, 0]
  try {
    for (const kind of breaker.kinds) {
      for (const spec of requests) {
        for (let place = 1; place <= maxStatements; place++) {
          const finding = await tryOne(app, spec, { breaker, kind, place })
          if (finding === 'through') break
          trials++
          if (finding === undefined) continue
          findings++
          say({ engine: database.engineName, kind, request: spec.name, place, finding })
        }
      }
    }
  } finally {
    breaker.mend()
    await app.close()
  }
  say({ part: 'statements', engine: database.driverName, trials, findings })
  return findings
}

interface InjectedError {
  readonly breaker: Breaker
  readonly kind: Kind
  readonly place: number
}

/** @returns the finding, or `'through'` if the request needed fewer statements */
async function tryOne(
  app: Application,
  spec: RequestSpec,
  injected: InjectedError,
): Promise<string | undefined> {
  const { breaker, kind, place } = injected
  await refill(app)
  const before = await rowsOf(app)
  breaker.arm(kind, place)
  const answer = await send(app, spec)
  const wasHit = breaker.disarm()
  const text = await answer.text()
  if (!wasHit)
    return answer.status < 400 ? 'through' : `${answer.status} without an injected error: ${text}`
  const after = await rowsOf(app)
  const changed = JSON.stringify(after) !== JSON.stringify(before)
  const failed = answer.status >= 400 || text.includes('"errors"')
  // An error with a complete write is allowed only if the result was lost or the error says that it was written.
  const isAllowed = kind === 'unheard' || text.includes('was written')
  if (failed && changed && !isAllowed) return `an error, and rows that changed: ${text}`
  const half = findHalf(after)
  if (half !== undefined) return half
  const unclean = failed ? findUnclean(answer, text) : undefined
  if (unclean !== undefined) return unclean
  for (const next of [requests[5], requests[0]] as RequestSpec[]) {
    const { status } = await send(app, next)
    if (status >= 400) return `then ${next.name} is ${status}`
  }
  return undefined
}

function send(app: Application, { path, method = 'GET', body }: RequestSpec): Promise<Response> {
  return fetch(`${app.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${apiKey}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(10_000),
  })
}

interface Rows {
  readonly things: readonly Thing[]
  readonly shadows: readonly Shadow[]
  readonly baskets: readonly Row<Basket>[]
  readonly lines: readonly Row<Line>[]
}

async function rowsOf(app: Application): Promise<Rows> {
  const database = app.get(Database)
  const orderBy = { id: 'asc' } as const
  return {
    things: await database.records(Thing).list({ orderBy, limit: 100 }),
    shadows: await database.records(Shadow).list({ orderBy, limit: 100 }),
    baskets: await database.records(Basket).list({ orderBy, limit: 100 }),
    lines: await database.records(Line).list({ orderBy, limit: 100 }),
  }
}

/** Replaces all rows by one thing. */
async function refill(app: Application): Promise<void> {
  const { kysely } = app.get(Database)
  for (const table of ['line', 'basket', 'shadow', 'thing'])
    await kysely.deleteFrom(table).execute()
  await kysely.insertInto('thing').values({ id: old, name: 'old', count: 0 }).execute()
}

/** Finds a shadow without its thing, or a basket without its two lines. */
function findHalf({ things, shadows, baskets, lines }: Rows): string | undefined {
  const created = things.filter(({ id, name }) => id !== old && name === 'new').length
  if (shadows.length > created) return 'a shadow without a thing'
  if (lines.length !== 2 * baskets.length) return 'a basket without its lines'
  return undefined
}

/** Accepts a 503 with Retry-After and GraphQL errors, without SQL and without a stack. @returns the finding, if any */
function findUnclean(answer: Response, text: string): string | undefined {
  if (/\n\s+at |select |insert |update "|SQLITE|53200|ECONN/i.test(text))
    return `the response shows internals: ${text}`
  const body = JSON.parse(text) as { error?: string; errors?: readonly object[] }
  if (answer.status === 503) {
    return answer.headers.has('retry-after') ? undefined : '503 without Retry-After'
  }
  const isGraphql = answer.status === 200 && (body.errors?.length ?? 0) > 0
  return isGraphql ? undefined : `status ${answer.status}: ${text}`
}
