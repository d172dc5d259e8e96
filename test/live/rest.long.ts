/** Live queries of `crud` and of handlers with `@Live`. Source: decisions, Live queries. */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import {
  ApplicationState,
  Auth,
  bootstrap,
  Controller,
  currentRequest,
  Database,
  Field,
  Get,
  HttpError,
  Live,
  Module,
  Post,
  Record as Table,
  Secured,
  type Application,
  Use,
  type Claims,
  type HttpRequest,
  type Next,
} from 'filigree'
import { CacheFor } from 'filigree/cache'
import {
  holdRows,
  openLive,
  type LiveClient,
  type Message,
  type OpenOptions,
} from './live-client.js'

@Table<Ticket>({ rows: (user) => (user === null ? { isOpen: true } : { owner: String(user.sub) }) })
class Ticket {
  @Field('id') id!: number
  @Field('text') title!: string
  @Field('text', { default: 'x' }) owner!: string
  @Field('boolean', { default: true }) isOpen!: boolean
}

let visibleTeam: string | undefined
/** Access by a header, by the expiry of a token and by state of the program. */
@Table<Sheet>({
  rows: (user) => {
    const team = currentRequest()?.headers.team
    if (team !== undefined) return { team }
    if (visibleTeam !== undefined) return { team: visibleTeam }
    return Number(user?.exp) > 4e9 ? true : { team: 'all' }
  },
})
class Sheet {
  @Field('id') id!: number
  @Field('text') team!: string
}

@Controller('/sheets', { crud: Sheet })
class SheetController {}

@Table()
class Label {
  @Field('id') id!: number
  @Field('text') name!: string
  @Field('text', { optional: true, hidden: true }) secret?: string
}

@Table()
class Other {
  @Field('id') id!: number
  @Field('text') name!: string
}

/** Its secured field must not make other handlers run for each caller. */
@Table()
class Salary {
  @Field('id') id!: number
  @Field('text') name!: string
  @Secured((_user: Claims | null, { headers }: HttpRequest) => headers.by === 'manager')
  @Field('integer')
  amount!: number
}

let isBarred = false
let runs = 0

@Controller('/labels', { crud: Label })
class LabelController {}

@Controller('/others', { crud: Other })
class OtherController {}

@Controller('/tickets', { crud: Ticket })
class TicketController {}

/** An asynchronous interceptor of every run. */
class Around {
  async enter(): Promise<void> {
    await Promise.resolve()
  }
  intercept(_request: HttpRequest, next: Next): Promise<unknown> {
    return next()
  }
}

@Controller('/board')
class BoardController {
  static inject = [Database]
  constructor(private readonly database: Database) {}

  @Get('/count')
  @Live
  async count() {
    runs++
    return { count: await this.database.records(Label).count() }
  }

  @Get('/whose')
  @Live
  async countOf() {
    const by = currentRequest()?.headers.by
    return { by, count: await this.database.records(Label).count() }
  }

  @Get('/mine')
  @Live
  async mine(user: Claims | null) {
    await this.database.records(Label).count()
    return { sub: user?.sub ?? null }
  }

  @Get('/header')
  @Live
  async header(headers: Record<string, string>) {
    return { by: headers.by, count: await this.database.records(Label).count() }
  }

  @Get('/guarded')
  @Secured(() => !isBarred)
  @Live
  async guarded() {
    return this.database.records(Label).list({ limit: 1 })
  }

  @Get('/failing')
  @Live
  async failing() {
    if ((await this.database.records(Label).count({ name: 'poison' })) > 0) throw new HttpError(409)
    return []
  }

  @Get('/raw')
  @Live
  async raw() {
    const { rows } = await sql<{ n: number }>`select count(*) as n from label`.execute(
      this.database.kysely,
    )
    return { n: Number(rows[0]?.n) }
  }

  @Get('/kept')
  @CacheFor('60s')
  @Live
  cached() {
    return this.database.records(Other).list({ limit: 1 })
  }

  @Get('/around')
  @Use(Around)
  @Live
  around() {
    return this.database.records(Other).list({ limit: 1, orderBy: { id: 'desc' } })
  }

  @Get('/salaries')
  @Live
  salaries(user: Claims | null) {
    return user === null ? [] : this.database.records(Salary).list()
  }

  @Get('/plain')
  plain() {
    return { live: false }
  }
}

@Module({
  records: [Label, Ticket, Other, Sheet, Salary],
  controllers: [
    LabelController,
    SheetController,
    OtherController,
    TicketController,
    BoardController,
  ],
})
class BoardModule {}

let app: Application
let database: Database
const open: LiveClient[] = []

beforeAll(async () => {
  app = await bootstrap(BoardModule, {
    port: 0,
    host: '127.0.0.1',
    logger: false,
    database: 'sqlite::memory:',
    live: { answers: 100, byCaller: 40 },
    env: { APP_API_KEY: 'k'.repeat(32) },
  })
  database = app.get(Database)
})
afterAll(async () => {
  for (const client of open) client.leave()
  await app.close()
})

async function live(path: string, options: OpenOptions = {}): Promise<LiveClient> {
  const client = await openLive(`${app.url}${path}`, options)
  open.push(client)
  return client
}

function messages(client: LiveClient): Message[] {
  return client.events
    .filter(({ event }) => event === 'live')
    .map(({ data }) => JSON.parse(data) as Message)
}

/** Milliseconds: longer than the time between two runs of a live query, of which 100 is the default. */
const longerThanPace = 150

/** @returns the number of runs once no live query has run for longer than its pace */
async function runsWhenQuiet(count: () => number): Promise<number> {
  for (;;) {
    const before = count()
    await pause(longerThanPace)
    if (count() === before) return before
  }
}

/** Writes, and expects that no live query runs. */
async function withoutRun<T>(write: () => Promise<T>): Promise<T> {
  const count = (): number => app.get(ApplicationState).live.runs
  const before = await runsWhenQuiet(count)
  const written = await write()
  await pause(longerThanPace)
  expect(count()).toBe(before)
  return written
}

describe('a list of crud', () => {
  it('sends the rows, and then changed rows, deleted keys and the order where it changes', async () => {
    const labels = database.records(Label)
    const a = await labels.create({ name: 'b' })
    const list = await live('/labels?orderBy=name&fields=id,name')
    expect(list.response.headers.get('cache-control')).toBe('no-cache')
    expect(await list.message()).toEqual({ version: 1, data: [{ id: a.id, name: 'b' }] })
    const b = await labels.create({ name: 'c' })
    expect(await list.message()).toEqual({ version: 2, set: [{ id: b.id, name: 'c' }], gone: [] })
    const c = await labels.create({ name: 'a' })
    expect(await list.message()).toEqual({
      version: 3,
      set: [{ id: c.id, name: 'a' }],
      gone: [],
      order: [c.id, a.id, b.id],
    })
    await labels.delete(b.id)
    expect(await list.message()).toEqual({ version: 4, set: [], gone: [b.id] })
    expect(holdRows(messages(list))).toEqual([
      { id: c.id, name: 'a' },
      { id: a.id, name: 'b' },
    ])
    expect(JSON.stringify(list.events)).not.toContain('secret')
  })

  it('is notified of writes by Kysely and custom SQL after the commit', async () => {
    const list = await live('/labels?limit=1000')
    await list.message()
    await database.kysely.insertInto('label').values({ name: 'by kysely' }).execute()
    await list.until(() => JSON.stringify(list.events).includes('by kysely'))
    await sql`update label set name = 'by hand' where name = 'by kysely'`.execute(database.kysely)
    await list.until(() => JSON.stringify(list.events).includes('by hand'))
    await database
      .transaction(async ({ kysely }) => {
        await kysely.insertInto('label').values({ name: 'never' }).execute()
        throw new Error('back')
      })
      .catch(() => undefined)
    await database.transaction(async ({ kysely }) => {
      await kysely.insertInto('label').values({ name: 'in time' }).execute()
    })
    await list.until(() => JSON.stringify(list.events).includes('in time'))
    expect(JSON.stringify(list.events)).not.toContain('never')
  })

  it('runs once for all subscribers of the same query, and not for other tables', async () => {
    const state = app.get(ApplicationState)
    const lists = await Promise.all([1, 2, 3].map(() => live('/labels?limit=7')))
    await Promise.all(lists.map((list) => list.message()))
    const { listeners, answers: responses } = state.live
    expect(listeners).toBeGreaterThanOrEqual(3)
    expect(responses).toBeLessThan(listeners)
    await withoutRun(async () => {
      for (let index = 0; index < 20; index++)
        await database.records(Other).create({ name: 'other' })
    })
  })

  it('does not run for rows that match its conditions neither before nor after', async () => {
    const labels = database.records(Label)
    for (const one of open.splice(0)) one.leave()
    const far = await labels.create({ name: 'far' })
    const list = await live('/labels?name=near')
    const one = await live(`/labels/${far.id}`)
    await Promise.all([list.message(), one.message()])
    const other = await withoutRun(() => labels.create({ name: 'elsewhere' }))
    await withoutRun(() => labels.update(other.id, { name: 'elsewhere still' }))
    await withoutRun(() => labels.updateWhere({ id: other.id }, { name: 'elsewhere again' }))
    await withoutRun(() => labels.update(other.id, { secret: 'x' }))
    await withoutRun(() => labels.delete(other.id))
    await labels.update(far.id, { name: 'near' })
    expect(await list.message()).toMatchObject({ set: [{ id: far.id }] })
    expect(await one.message()).toMatchObject({ data: { name: 'near' } })
    await labels.update(far.id, { name: 'far' })
    expect(await list.message()).toMatchObject({ gone: [far.id] })
  })

  it('is notified of a table where an updateWhere changes more than 1,000 rows', async () => {
    const repository = database.records(Other)
    await repository.insertMany(Array.from({ length: 1100 }, (_, index) => ({ name: `o${index}` })))
    const list = await live('/others?limit=2&orderBy=id&name.like=o%25')
    await list.message()
    const events: string[] = []
    const stop = await database.onChange(({ event }) => events.push(event), { everywhere: true })
    expect(await repository.updateWhere({ name: { like: 'o%' } }, { name: 'all' })).toBeGreaterThan(
      1000,
    )
    expect(await list.message()).toMatchObject({ gone: [expect.anything(), expect.anything()] })
    stop()
    expect(events).toEqual(['lost'])
  })

  it('has the same Vary as the JSON of its address', async () => {
    for (const path of ['/others', '/board/kept', '/board/kept']) {
      const plain = await fetch(app.url + path)
      const list = await live(path)
      const vary = [plain, list.response].map(({ headers }) => headers.get('vary') ?? '')
      expect(vary[0]).toMatch(/\bAccept\b/)
      expect(vary[1]).toBe(vary[0])
      await plain.body?.cancel()
    }
  })

  it('does not use responses cached by @CacheFor', async () => {
    const plain = await fetch(`${app.url}/board/kept`)
    expect(await plain.json()).toHaveLength(1)
    const list = await live('/board/kept')
    expect(list.response.headers.get('content-type')).toBe('text/event-stream')
  })

  it('is notified of writes where asynchronous interceptors run before its handler', async () => {
    const list = await live('/board/around')
    await list.message()
    const { id } = await database.records(Other).create({ name: 'seen through them' })
    expect(await list.message()).toMatchObject({ set: [{ id, name: 'seen through them' }] })
  })

  it('shows a caller only its own rows', async () => {
    const token = await app.get(Auth).getToken({ sub: 'ann' })
    const hers = await live('/tickets', { token })
    const all = await live('/tickets')
    expect(await hers.message()).toEqual({ version: 1, data: [] })
    await database.records(Ticket).create({ title: 'hidden', owner: 'ann', isOpen: false })
    expect(await hers.message()).toMatchObject({ set: [{ title: 'hidden' }] })
    await database.records(Ticket).create({ title: 'shown', owner: 'bob', isOpen: true })
    await all.until(() => JSON.stringify(all.events).includes('shown'))
    expect(JSON.stringify(all.events)).not.toContain('hidden')
    expect(JSON.stringify(hers.events)).not.toContain('shown')
  })

  it('ends when the token is revoked or expires, without a change', async () => {
    const auth = app.get(Auth)
    const revoked = await live('/tickets', {
      token: await auth.getToken({ sub: 'eve', jti: 'eve-1' }),
    })
    await revoked.next()
    await auth.revoke('eve-1')
    expect(await revoked.next()).toEqual({
      event: 'closed',
      id: undefined,
      data: '{"status":401}',
    })
    expect(await revoked.next()).toBeUndefined()
    // A shorter life could end before the query is open, on a busy machine.
    const brief = await live('/tickets', {
      token: await auth.getToken({ sub: 'eve' }, { expiresIn: 3 }),
    })
    await brief.next()
    expect(await brief.next()).toMatchObject({ event: 'closed', data: '{"status":401}' })
  })

  it('is JSON for a client that accepts JSON, and refused like JSON', async () => {
    const response = await fetch(`${app.url}/labels`, { headers: { accept: '*/*' } })
    expect(response.headers.get('content-type')).toContain('application/json')
    await expect(live('/labels?nonsense=1')).rejects.toMatchObject({ status: 400 })
    await expect(live('/tickets', { token: 'bad' })).rejects.toMatchObject({ status: 401 })
  })
})

describe('access to rows that depends on more than the user', () => {
  const names = (client: LiveClient): string[] =>
    holdRows(messages(client)).map((row) => String((row as { team?: unknown }).team))
  beforeAll(async () => {
    for (const team of ['red', 'blue', 'all']) await database.records(Sheet).create({ team })
  })
  afterEach(() => {
    visibleTeam = undefined
  })

  it('on a header: each has its own rows, with the same token and without', async () => {
    const token = await app.get(Auth).getToken({ sub: 'ann' })
    for (const signedIn of [{}, { token }]) {
      const teams = ['red', 'blue']
      const lists = await Promise.all(
        teams.map((team) => live('/sheets?limit=9', { ...signedIn, headers: { team } })),
      )
      await Promise.all(lists.map((list) => list.message()))
      await database.records(Sheet).create({ team: 'red' })
      await lists[0]!.message()
      expect(new Set(names(lists[0]!))).toEqual(new Set(['red']))
      expect(new Set(names(lists[1]!))).toEqual(new Set(['blue']))
    }
  })

  it('on the expiry of a token: otherwise equal claims share nothing', async () => {
    const auth = app.get(Auth)
    const [brief, long] = await Promise.all(
      [3600, 3e9].map((expiresIn) => auth.getToken({ sub: 'ann', jti: 'ann-1' }, { expiresIn })),
    )
    const all = await live('/sheets?limit=8', { token: long })
    await all.message()
    const some = await live('/sheets?limit=8', { token: brief })
    await some.message()
    expect(new Set(names(all)).size).toBe(3)
    expect(new Set(names(some))).toEqual(new Set(['all']))
  })

  it('on state of the program: current at each run, without earlier rows', async () => {
    visibleTeam = 'red'
    const list = await live('/sheets?limit=7')
    await list.message()
    expect(new Set(names(list))).toEqual(new Set(['red']))
    visibleTeam = 'blue'
    await database.records(Sheet).create({ team: 'red' })
    await list.until(() => new Set(names(list)).has('blue'))
    expect(new Set(names(list))).toEqual(new Set(['blue']))
  })
})

describe('a single row of crud', () => {
  it('sends the row again, null once it is deleted, and 404 where there is none', async () => {
    const label = await database.records(Label).create({ name: 'one' })
    const one = await live(`/labels/${label.id}`)
    expect(await one.message()).toEqual({ version: 1, data: { id: label.id, name: 'one' } })
    await database.records(Label).update(label.id, { name: 'two' })
    expect(await one.message()).toEqual({ version: 2, data: { id: label.id, name: 'two' } })
    await database.records(Label).delete(label.id)
    expect(await one.message()).toEqual({ version: 3, data: null })
    await expect(live('/labels/999999')).rejects.toMatchObject({ status: 404 })
  })
})

describe('@Live', () => {
  it('sends the result again, running once for all', async () => {
    const clients = await Promise.all(
      ['a', 'b', 'c'].map((by) => live('/board/count', { headers: { by } })),
    )
    await Promise.all(clients.map((client) => client.message()))
    const before = await runsWhenQuiet(() => runs)
    await database.records(Label).create({ name: 'counted' })
    await Promise.all(clients.map((client) => client.message()))
    expect(await runsWhenQuiet(() => runs)).toBe(before + 1)
  })

  it('runs for each caller separately where its result has secured fields', async () => {
    const token = await app.get(Auth).getToken({ sub: 'ann' })
    const clients = await Promise.all(
      ['manager', 'clerk'].map((by) => live('/board/salaries', { token, headers: { by } })),
    )
    const allMessages = () => Promise.all(clients.map((client) => client.message()))
    // Without rows, the result has no secured fields yet.
    expect((await allMessages()).map(({ data }) => data)).toEqual([[], []])
    const { id } = await database.records(Salary).create({ name: 'ann', amount: 5 })
    // The streams continue with a complete result of their own.
    expect((await allMessages()).map(({ data }) => data)).toEqual([
      [{ id, name: 'ann', amount: 5 }],
      [{ id, name: 'ann' }],
    ])
    await database.records(Salary).update(id, { name: 'bob', amount: 6 })
    expect((await allMessages()).map(({ set }) => set)).toEqual([
      [{ id, name: 'bob', amount: 6 }],
      [{ id, name: 'bob' }],
    ])
  })

  it('never sends the result of one caller to another', async () => {
    const auth = app.get(Auth)
    const tokens = await Promise.all(['ann', 'bob'].map((sub) => auth.getToken({ sub })))
    const mine = await Promise.all(tokens.map((token) => live('/board/mine', { token })))
    const callerMessages = await Promise.all(mine.map((client) => client.message()))
    expect(callerMessages.map(({ data }) => data)).toEqual([{ sub: 'ann' }, { sub: 'bob' }])
    const headers = await Promise.all(
      ['x', 'y'].map((by) => live('/board/header', { headers: { by } })),
    )
    const named = await Promise.all(headers.map((client) => client.message()))
    expect(named.map(({ data }) => data)).toMatchObject([{ by: 'x' }, { by: 'y' }])
  })

  it('runs for each caller separately where its code reads the current request', async () => {
    const open = (by: string) => live('/board/whose', { headers: { by } })
    const clients = await Promise.all(['a', 'b'].map(open))
    const first = await Promise.all(clients.map((client) => client.message()))
    expect(first.map(({ data }) => (data as { by: string }).by)).toEqual(['a', 'b'])
    await database.records(Label).create({ name: 'whose' })
    const next = await Promise.all(clients.map((client) => client.message()))
    expect(next.map(({ data }) => (data as { by: string }).by)).toEqual(['a', 'b'])
  })

  it('calls its guard at each run, and ends with 403', async () => {
    const token = await app.get(Auth).getToken({ sub: 'ann' })
    const client = await live('/board/guarded', { token })
    await client.message()
    isBarred = true
    await database.records(Label).create({ name: 'guarded' })
    expect(await client.next()).toMatchObject({ event: 'closed', data: '{"status":403}' })
    await expect(live('/board/guarded', { token })).rejects.toMatchObject({ status: 403 })
    await expect(live('/board/guarded')).rejects.toMatchObject({ status: 401 })
    isBarred = false
  })

  it('ends with the status of the handler', async () => {
    const client = await live('/board/failing')
    await client.message()
    const poison = await database.records(Label).create({ name: 'poison' })
    expect(await client.next()).toMatchObject({ event: 'closed', data: '{"status":409}' })
    await database.records(Label).delete(poison.id)
  })

  it('is notified of every write where its SQL is custom', async () => {
    const client = await live('/board/raw')
    const { data } = await client.message()
    await database.records(Label).create({ name: 'raw' })
    expect((await client.message()).data).toEqual({ n: (data as { n: number }).n + 1 })
  })

  it('is required: other routes respond once', async () => {
    await expect(live('/board/plain')).rejects.toMatchObject({ status: 200 })
  })

  it('is accepted on GET only', async () => {
    @Controller('/odd')
    class OddController {
      @Post('/write')
      @Live
      write() {
        return []
      }
    }
    @Module({ controllers: [OddController] })
    class OddModule {}
    await expect(bootstrap(OddModule, { listen: false, logger: false })).rejects.toThrow(
      '@Live on OddController.write: works only on GET',
    )
  })
})

describe('limits of live queries', () => {
  it('are counted per caller and in total', async () => {
    const token = await app.get(Auth).getToken({ sub: 'many' })
    const mine: LiveClient[] = []
    for (let limit = 1; limit <= 41; limit++) {
      const opened = live(`/tickets?limit=${limit}`, { token })
      if (limit <= 40) mine.push(await opened)
      else await expect(opened).rejects.toMatchObject({ status: 429 })
    }
    const next = await live('/tickets?limit=1', { token })
    next.leave()
    for (const client of mine) client.leave()
    const state = app.get(ApplicationState)
    await next.until(() => state.live.answers < 40)
    await expect(
      bootstrap(BoardModule, { listen: false, live: { pase: 1 } as never }),
    ).rejects.toThrow('pace')
  })
})

describe('the OpenAPI document', () => {
  it('has the stream next to the JSON', () => {
    const { paths } = app.openapi
    const list = JSON.stringify(paths?.['/labels/']?.get ?? paths?.['/labels']?.get)
    expect(list).toContain('text/event-stream')
    expect(JSON.stringify(paths?.['/board/count']?.get)).toContain('text/event-stream')
    expect(JSON.stringify(paths?.['/board/plain']?.get)).not.toContain('text/event-stream')
  })
})
