/**
 * Checks live queries: listeners with different rights through all interfaces, and random writes by several writers. At the end
 * each listener holds exactly the result of a fresh query, and no message showed a row that its caller could not see.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { Auth, bootstrap, connect, Database, type Application } from '../../src/index.js'
import { applyRows, openLive, type LiveClient, type Message, type Row } from './live-client.js'
import {
  fillTables,
  orgs,
  records,
  TicketModule,
  users,
  writeRandomly,
} from './consistency-data.js'
import { createRandom } from '../random.js'

export interface ConsistencyOptions {
  readonly url: string
  readonly queries: number
  readonly writes: number
  readonly seed: number
  /** Runs a share of the writes in another process. Default: connections in this process. */
  readonly elsewhere?: (share: number, seed: number) => Promise<number>
  /** Milliseconds after the last write until all results must be correct. */
  readonly timeout: number
}

export interface ConsistencyResult {
  readonly stored: number
  readonly messages: number
  /** Descriptions of wrong results. Empty on success. */
  readonly mistakes: readonly string[]
}

interface OpenQuery {
  readonly path: string
  readonly query: string | undefined
  readonly userId: number | undefined
  readonly token: string | undefined
  readonly client: LiveClient
}

export async function findMistakes(options: ConsistencyOptions): Promise<ConsistencyResult> {
  const { url, queries, writes, seed, timeout } = options
  const app = await bootstrap(TicketModule, {
    port: 0,
    host: '127.0.0.1',
    logger: false,
    docs: false,
    database: url,
    limits: { streams: Infinity, streamsByAddress: Infinity },
    live: { answers: Infinity, byCaller: Infinity },
    env: { APP_API_KEY: 'k'.repeat(32) },
  })
  const writers = [await connect(url, { records }), await connect(url, { records })]
  const random = createRandom(seed)
  const openQueries: OpenQuery[] = []
  try {
    const database = app.get(Database)
    await database.sync()
    await fillTables(database)
    const tokens = await Promise.all(
      users.map((sub) => app.get(Auth).getToken({ sub: String(sub) })),
    )
    for (let index = 0; index < queries; index++) {
      const userId = random() < 0.25 ? undefined : users[Math.floor(random() * users.length)]
      openQueries.push(
        await openOne(
          app,
          { userId, token: userId === undefined ? undefined : tokens[userId - 1] },
          random,
        ),
      )
    }
    const share = Math.ceil(writes / 3)
    const { elsewhere } = options
    const stored = await Promise.all([
      writeRandomly(database, share, random),
      ...writers.map((other, index) =>
        elsewhere === undefined
          ? writeRandomly(other, share, createRandom(seed + index + 1))
          : elsewhere(share, seed + index + 1),
      ),
    ])
    const mistakes = await settle(app, openQueries, timeout)
    for (const one of openQueries) mistakes.push(...leaksOf(one))
    const messages = openQueries.reduce((sum, { client }) => sum + client.events.length, 0)
    return { stored: stored.reduce((sum, one) => sum + one, 0), messages, mistakes }
  } finally {
    for (const { client } of openQueries) client.leave()
    for (const other of writers) await other.close()
    await app.close()
  }
}

type Random = () => number

async function openOne(
  app: Application,
  caller: Pick<OpenQuery, 'userId' | 'token'>,
  random: Random,
): Promise<OpenQuery> {
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T
  const status = pick(['new', 'open', 'done'])
  const order = pick(['id', '-id', 'title', '-status', 'status,-id'])
  const limit = pick([3, 7, 20, 100])
  const org = pick(orgs)
  const paths = [
    `/tickets?status.eq=${status}&orderBy=${order}&limit=${limit}`,
    `/tickets?orgId=${org}&orderBy=${order}&limit=${limit}`,
    `/tickets?orderBy=${order}&limit=${limit}&fields=id,title,isOpen`,
    `/tickets?with=comments&orderBy=-id&limit=5`,
    `/statuses/${status}`,
    '/statuses/mine',
  ]
  const documents = [
    `query @live { tickets(where: { status: { eq: "${status}" } }, limit: ${limit}) { id title status comments(limit: 3) { id text } } }`,
    `query @live { tickets(where: { orgId: { eq: ${org} } }, orderBy: { id: desc }, limit: ${limit}) { id title org { name } } }`,
    `query @live(whole: true) { tickets(limit: ${limit}) { id title } comments(limit: 5, orderBy: { id: desc }) { id text } }`,
    `query @live { a: tickets(limit: 4, orderBy: { id: desc }) { ...T } comments(limit: 4) { id ticket { id title } } } fragment T on Ticket { id title isOpen }`,
  ]
  const isGraphql = random() < 0.5
  const query = isGraphql ? pick(documents) : undefined
  const path = isGraphql ? '/graphql' : pick(paths)
  const init = query === undefined ? {} : { query }
  const client = await openLive(`${app.url}${path}`, { token: caller.token, ...init })
  return { ...caller, path, query, client }
}

/** Milliseconds in which live queries may run again before their results are compared with fresh ones again. */
const pollInterval = 150

/** Waits until all clients hold the correct result. @returns the others */
async function settle(
  app: Application,
  openQueries: readonly OpenQuery[],
  timeout: number,
): Promise<string[]> {
  const end = performance.now() + timeout
  let wrong = [...openQueries]
  for (;;) {
    const still: OpenQuery[] = []
    for (const one of wrong) if ((await fresh(app, one)) !== dataOf(one)) still.push(one)
    wrong = still
    if (wrong.length === 0 || performance.now() > end) break
    await pause(pollInterval)
  }
  return Promise.all(
    wrong.map(
      async (one) => `${nameOf(one)} holds ${dataOf(one)} in place of ${await fresh(app, one)}`,
    ),
  )
}

async function fresh(app: Application, { path, query, token }: OpenQuery): Promise<string> {
  const headers = new Headers({ accept: 'application/json' })
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
  if (query !== undefined) headers.set('content-type', 'application/json')
  const init = query === undefined ? {} : { method: 'POST', body: JSON.stringify({ query }) }
  const response = await fetch(`${app.url}${path}`, { headers, ...init })
  const body = (await response.json()) as { data?: unknown }
  return JSON.stringify(query === undefined ? body : body.data)
}

/** The data of a client that has applied all messages. */
function dataOf({ client, query }: OpenQuery): string {
  let data: unknown
  let version = 0
  for (const { event, data: text } of client.events) {
    if (event !== 'live' && event !== 'next') return `${event} ${text}`
    const message = JSON.parse(text) as Message & Payload
    const live = query === undefined ? message : message.extensions?.live
    if (live?.version !== version + 1 && message.data === undefined)
      return `version ${live?.version} after ${version}`
    version = live?.version ?? 0
    if (message.data !== undefined) data = message.data
    else if (query === undefined) data = applyRows(data as readonly Row[], message)
    else data = applyFields(data as Record<string, readonly Row[]>, message)
  }
  return JSON.stringify(data)
}

interface Payload {
  readonly extensions?: {
    readonly live?: { readonly version: number; readonly changes?: Record<string, Message> }
  }
}

function applyFields(
  data: Readonly<Record<string, readonly Row[]>>,
  { extensions }: Payload,
): Record<string, readonly Row[]> {
  const next = { ...data }
  for (const [field, changes] of Object.entries(extensions?.live?.changes ?? {}))
    next[field] = applyRows(next[field] ?? [], changes)
  return next
}

/** Messages that showed a row which was hidden from the caller at that time. */
function leaksOf(one: OpenQuery): string[] {
  const forbidden = one.userId === undefined ? 'private' : `not for ${one.userId}.`
  // Comments and aggregates show no hidden ticket.
  return one.client.events
    .filter(({ data }) => data.includes(forbidden) && !one.path.startsWith('/statuses'))
    .map(({ data }) => `${nameOf(one)} was shown ${data.slice(0, 400)}`)
}

function nameOf({ userId, path, query }: OpenQuery): string {
  return `${userId === undefined ? 'anonymous' : `user ${userId}`} at ${query ?? path}`
}
