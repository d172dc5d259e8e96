/** Calls that must compile and calls that must not. Type-checked by typed-routes.test.ts, never run. */
/* eslint-disable @typescript-eslint/no-unused-vars, @typescript-eslint/no-unused-expressions, @typescript-eslint/no-unnecessary-type-parameters --
   values stand here to have a type, and comparing two types takes type parameters used once. */
import { api, createClient, type ApiError, type Client } from '../../client/index.js'
import { createLive } from '../../client/live.js'
import { retry } from '../../client/retry.js'

interface Reply<Body> {
  readonly body: Body
  header(name: string, value: string): this
  freshToken(token: string): this
}

declare class Item {
  id: number
  name: string
  soldAt: Date
  note?: string
  tags: readonly string[]
  maker: { name: string; since: Date } | null
  #secret: string
  rename(name: string): void
}
declare class NewItem {
  name: string
  price: number
  soldAt?: Date
  lines?: { qty: number }[]
}
declare class Search {
  q: string
  page?: number
}
declare class ItemController {
  show(id: number): Item | null
  list(query: Search): Promise<Item[]>
  create(body: NewItem): Promise<Reply<Item>>
  rename(id: number): void
  remove(id: number): { gone: boolean }
  page(): Reply<string>
  photo(): Uint8Array
}

declare class Ticket {
  id: number
  title: string
  dueAt: Date
}
declare class Project {
  id: number
  name: string
}
declare class Review {
  id: number
  stars: number
}
declare class Person {
  id: number
  born: Date
}
interface TicketRelated {
  project: { row: Project }
  reviews: { row: Review; related: ReviewRelated; list: true }
}
interface ReviewRelated {
  author: { row: Person }
  ticket: { row: Ticket; related: TicketRelated }
}

interface Routes {
  'GET /tickets': { result: Ticket[]; related: TicketRelated }
  'GET /tickets/<id:int>': { result: Ticket; related: TicketRelated }
  'GET /tickets/count': { result: number }
  'GET /items': { params: Search; result: ReturnType<ItemController['list']> }
  'GET /items/<id:int>': { result: ReturnType<ItemController['show']> }
  'GET /items/{id:int}/parts/<part>': { result: string }
  'GET /lines/<country>,<line:int>': { result: Item }
  'GET /docs/<rest:path>': {
    params: { full?: boolean }
    result: ReturnType<ItemController['page']>
  }
  'GET /photo': { result: ReturnType<ItemController['photo']> }
  'GET /health': object
  'POST /items': { body: NewItem; result: ReturnType<ItemController['create']> }
  'POST /photos': { body: FormData; result: { size: number } }
  'POST /hook': { body: unknown; result: undefined }
  'POST /ping': { result: { ok: true } }
  'PUT /items/<id:int>': { body: NewItem; result: Item }
  'PATCH /items/<id:int>': { result: ReturnType<ItemController['rename']> }
  'DELETE /items/<id:int>': { body: { why: string }; result: ReturnType<ItemController['remove']> }
}

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
declare function same<A, B>(...proof: Equal<A, B> extends true ? [] : [never]): void

declare const client: Client<Routes>
const other: Client<Routes> = createClient<Routes>({ baseUrl: '/api', fetch: retry() })

interface ReceivedItem {
  id: number
  name: string
  soldAt: string
  note?: string
  tags: readonly string[]
  maker: { name: string; since: string } | null
}

export async function whatCompiles(): Promise<void> {
  const item = await client.get('/items/<id:int>', { path: { id: 7 } })
  same<typeof item, ReceivedItem | null>()
  const list = await client.get('/items', { params: { q: 'lamp', page: 2 }, timeout: 5 })
  same<typeof list, ReceivedItem[]>()
  const part = await client.get('/items/{id:int}/parts/<part>', { path: { id: 7, part: 'a' } })
  same<typeof part, string>()
  await client.get('/lines/<country>,<line:int>', { path: { country: 'DE', line: 2 } })
  // @ts-expect-error -- a part is missing
  await client.get('/lines/<country>,<line:int>', { path: { country: 'DE' } })
  const page = await client.get('/docs/<rest:path>', { path: { rest: 'a/b' } })
  same<typeof page, string>()
  const photo = await client.get('/photo')
  same<typeof photo, unknown>()
  const health = await client.get('/health', { params: { any: 'param' } })
  same<typeof health, unknown>()

  const created = await client.post('/items', { name: 'Lamp', price: 9, soldAt: new Date() })
  same<typeof created, ReceivedItem>()
  await client.post('/items', { name: 'Lamp', price: 9, soldAt: '2026-11-20' })
  await client.post('/items', new FormData())
  await client.post('/photos', new FormData(), { headers: { 'X-A': '1' } })
  await client.post('/hook', 'anything')
  const hook = await client.post('/hook', 5)
  same<typeof hook, null>()
  await client.post('/ping')
  await client.post('/ping', null, { timeout: 5 })
  await client.put('/items/<id:int>', { name: 'Lamp', price: 9 }, { path: { id: 7 } })
  const renamed = await client.patch('/items/<id:int>', null, { path: { id: 7 } })
  same<typeof renamed, null>()
  const removed = await client.delete('/items/<id:int>', { path: { id: 7 }, body: { why: 'old' } })
  same<typeof removed, { gone: boolean }>()
  await client.delete('/items/<id:int>', { path: { id: 7 } })
  await other.get('/health', { credentials: 'include' })
}

export async function whatDoesNot(): Promise<void> {
  // @ts-expect-error unknown path
  await client.get('/item')
  // @ts-expect-error known path, other method
  await client.put('/items')
  // @ts-expect-error a concrete address is no pattern
  await client.get('/items/7')
  // @ts-expect-error path values missing
  await client.get('/items/<id:int>')
  // @ts-expect-error path value missing
  await client.get('/items/<id:int>', { params: {} })
  // @ts-expect-error an int is a number
  await client.get('/items/<id:int>', { path: { id: '7' } })
  // @ts-expect-error a plain value is text
  await client.get('/items/{id:int}/parts/<part>', { path: { id: 7, part: 7 } })
  // @ts-expect-error one of two values missing
  await client.get('/items/{id:int}/parts/<part>', { path: { id: 7 } })
  // @ts-expect-error unknown path value
  await client.get('/items/<id:int>', { path: { id: 7, name: 'x' } })
  // @ts-expect-error a path value for a path without any
  await client.get('/health', { path: { id: 7 } })
  // @ts-expect-error required params missing
  await client.get('/items')
  // @ts-expect-error required param missing
  await client.get('/items', { params: { page: 2 } })
  // @ts-expect-error param of another type
  await client.get('/items', { params: { q: 'lamp', page: 'two' } })
  // @ts-expect-error unknown param
  await client.get('/items', { params: { q: 'lamp', size: 2 } })
  // @ts-expect-error body missing
  await client.post('/items')
  // @ts-expect-error required member of the body missing
  await client.post('/items', { name: 'Lamp' })
  // @ts-expect-error member of another type
  await client.post('/items', { name: 'Lamp', price: '9' })
  // @ts-expect-error unknown member
  await client.post('/items', { name: 'Lamp', price: 9, colour: 'red' })
  // @ts-expect-error wrong member deep in the body
  await client.post('/items', { name: 'Lamp', price: 9, lines: [{ qty: '1' }] })
  // @ts-expect-error a form where an object is not taken
  await client.post('/photos', { photo: 'x' })
  // @ts-expect-error a body for a route without one
  await client.post('/ping', { a: 1 })
  // @ts-expect-error path values missing after the body
  await client.put('/items/<id:int>', { name: 'Lamp', price: 9 })
  // @ts-expect-error body of DELETE
  await client.delete('/items/<id:int>', { path: { id: 7 }, body: { why: 7 } })
  const item = await client.get('/items/<id:int>', { path: { id: 7 } })
  // @ts-expect-error may be null
  item.name
  // @ts-expect-error a date arrives as text
  item?.soldAt.getTime()
  // @ts-expect-error methods do not arrive
  item?.rename('x')
  // @ts-expect-error unknown option of the call
  await client.get('/health', { timeOut: 5 })
  // @ts-expect-error unknown setting
  createClient({ baseURL: '/api' })
  // @ts-expect-error unknown kind of interceptor
  client.intercept('answer', () => undefined)
  // @ts-expect-error an interceptor returns what it was given
  client.intercept('request', () => 5)
}

interface SentTicket {
  id: number
  title: string
  dueAt: string
}
interface SentReview {
  id: number
  stars: number
}
type SentProject = { id: number; name: string } | null

export async function relatedRows(names: ('project' | 'reviews')[]): Promise<void> {
  const [plain] = await client.get('/tickets', { params: { limit: 2, 'title.like': 'a%' } })
  same<typeof plain, SentTicket | undefined>()
  // @ts-expect-error `with` does not name it
  plain?.project
  const [one] = await client.get('/tickets', { params: { limit: 2, with: ['project'] } })
  const project: SentProject | undefined = one?.project
  const due: string | undefined = one?.dueAt
  // @ts-expect-error a caller may not see it
  one?.project.name
  // @ts-expect-error `with` names another relation
  one?.reviews
  const found = await client.get('/tickets/<id:int>', {
    path: { id: 7 },
    params: { with: ['project', 'reviews.author'] },
  })
  const author: { id: number; born: string } | null | undefined = found.reviews[0]?.author
  // @ts-expect-error `with` does not name the ticket of a review
  found.reviews[0]?.ticket
  same<typeof found.project, SentProject>()
  const single = await client.get('/tickets/<id:int>', {
    path: { id: 7 },
    params: { with: 'reviews' },
  })
  same<typeof single.reviews, SentReview[]>()
  const [dynamic] = await client.get('/tickets', { params: { with: names } })
  const maybe: SentProject | undefined = dynamic?.project
  // @ts-expect-error may be missing
  dynamic?.reviews.length
  // @ts-expect-error unknown relation
  await client.get('/tickets', { params: { with: ['projcts'] } })
  // @ts-expect-error unknown relation of a related row
  await client.get('/tickets', { params: { with: ['reviews.autor'] } })
  // @ts-expect-error the route has no related rows
  same<Awaited<ReturnType<typeof client.get<'/health', ['project']>>>, unknown>()
}

export function liveQueries(limit: number, path: string): void {
  const live = createLive(client)
  live('/tickets?limit=20', (rows, { set }) => {
    same<typeof rows, SentTicket[]>()
    same<typeof set, SentTicket[]>()
    // @ts-expect-error `with` does not name it
    rows[0]?.project
  })
  live(`/tickets?limit=${limit}&with=project,reviews.author&orderBy=title`, (rows) => {
    same<(typeof rows)[0]['project'], SentProject>()
    const author: { id: number; born: string } | null | undefined = rows[0]?.reviews[0]?.author
  })
  live('/tickets/7?with=project', (row) => {
    same<typeof row.project, SentProject>()
    // @ts-expect-error a row, not a list
    row.length
  })
  live(`/tickets/${limit}`, (row) => {
    same<typeof row, SentTicket>()
  })
  live('/tickets/count', (count) => {
    same<typeof count, number>()
  })
  live('/tikets', (rows) => {
    same<typeof rows, unknown>()
  })
  live(path, (rows) => {
    const first: string = rows[0].title
  })
  const plain = createLive(createClient())
  plain('/tickets', (rows) => {
    const first: string = rows[0].title
  })
  api.live('/tickets', (rows) => {
    const first: string = rows[0].title
  })
}

export async function plainCalls(): Promise<void> {
  api.configure({
    baseUrl: '/api',
    auth: true,
    tokenKey: 'app_token',
    headers: { 'X-App': 'shop' },
  })
  const items = await api.get('/items', { params: { q: 'a b', tags: ['a'], at: new Date() } })
  const name: string = items[0].name
  const item = await api.get<{ id: number }>('/items/<id:int>', { path: { id: 7 } })
  same<typeof item, { id: number }>()
  await api.post('/items', { name })
  await api.put('/items/7', [1], { headers: { 'X-A': undefined } })
  await api.patch('/items/7')
  await api.delete('/items/7')
  const plain: Client = createClient()
  await plain.get('/whatever')
  const off = api.intercept('request', async (config) => ({ ...config, url: '/x' }))
  off()
  api.intercept('response', (response) => response)
  api.intercept('response', (response) => {
    response.data = null
  })
  try {
    await api.get('/items')
  } catch (error) {
    const { status, data, ok, headers, message } = error as ApiError
    same<[typeof status, typeof ok, typeof message], [number, boolean, string]>()
    headers.get(String(data.message))
  }
}
