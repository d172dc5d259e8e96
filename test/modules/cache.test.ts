/** Source: decisions, Operations. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import {
  Auth,
  bootstrap,
  Controller,
  currentRequest,
  Field,
  Get,
  GraphQL,
  matchesEntityTag,
  Module,
  Post,
  Record,
  reply,
  Secured,
  type Application,
  type Claims,
  type HttpRequest,
  Database,
} from '../../src/index.js'
import { CacheFor, ETag } from '../../src/modules/cache/cache.js'
import { startPostgres, type PostgresServer } from '../records/postgres-server.js'
import { internalsOf } from '../records/open-database.js'

@Record
class Lamp {
  @Field('id') id!: number
  @Field('string') name!: string
}

@Record
class Shade {
  @Field('id') id!: number
  @Field('string') name!: string
}

let calls = 0

@Controller('/shop')
class ShopController {
  static inject = [Database]
  constructor(private readonly database: Database) {}
  @Get('/lamps') @CacheFor('60s') async lamps() {
    calls++
    return await this.database.records(Lamp).list()
  }
  @Get('/lamps/<id:int>') @CacheFor('60s') async lamp(id: number) {
    calls++
    return await this.database.records(Lamp).find(id)
  }
  @Get('/echo') @CacheFor('60s') echo(query: Record<string, string>) {
    calls++
    return query
  }
  @Get('/cookie') @CacheFor('60s') cookie() {
    calls++
    return reply({ ok: true }).cookie('a', 'b')
  }
  @Get('/mine') @Secured @CacheFor(60, { by: ['user'] }) mine(user: Claims | null) {
    calls++
    return { sub: user?.sub }
  }
  @Get('/headers') @CacheFor(60, { by: ['user'] }) headers(headers: { [name: string]: string }) {
    return { cookie: headers.cookie, authorization: headers.authorization }
  }
  @Get('/tagged') @ETag tagged() {
    return { ok: true }
  }
  @Get('/both') @CacheFor('1m') @ETag both() {
    calls++
    return { ok: calls > 0 }
  }
}

/** Handlers that return when the test says so. */
class HeldHandlers {
  /** Ends each handler that is running. */
  readonly ends: ((fails?: boolean) => void)[] = []
  readonly #waiting: { readonly count: number; readonly done: () => void }[] = []
  run(): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.ends.push((fails = false) => {
        if (fails) reject(new Error('It failed.'))
        else resolve(true)
      })
      for (const { count, done } of this.#waiting) if (this.ends.length >= count) done()
    })
  }
  /** Resolves when `count` handlers have started. */
  untilStarted(count: number): Promise<void> {
    return new Promise((done) => {
      if (this.ends.length >= count) done()
      else this.#waiting.push({ count, done })
    })
  }
}

let heldHandlers = new HeldHandlers()

@Controller('/held')
class HeldController {
  static inject = [Database]
  constructor(private readonly database: Database) {}
  @Get('/<name>') @CacheFor('60s') async show(name: string) {
    const lamps = await this.database.records(Lamp).count()
    await heldHandlers.run()
    return { name, lamps, call: heldHandlers.ends.length }
  }
  @Get('/left') @CacheFor('60s', { by: ['user'] }) async leaveEarly(request: HttpRequest) {
    const { signal } = request
    const closed = new Promise((_, reject) => {
      signal.addEventListener('abort', () => {
        reject(new Error('The client has left.'))
      })
    })
    await Promise.race([heldHandlers.run(), closed])
    return { call: heldHandlers.ends.length }
  }
  @Get('/personal') @CacheFor('60s') async personal() {
    const cookie = currentRequest()?.headers.cookie
    await heldHandlers.run()
    return { cookie }
  }
}

@Controller('/crud-lamps', { crud: Lamp })
class LampController {}

@Module({ controllers: [ShopController, HeldController, LampController], records: [Lamp, Shade] })
class AppModule {}

let app: Application
let other: Application | undefined
beforeEach(() => {
  calls = 0
  heldHandlers = new HeldHandlers()
})
afterEach(async () => {
  await other?.close()
  other = undefined
  await app.close()
})

const start = async (database = 'sqlite::memory:') =>
  await bootstrap(AppModule, {
    port: 0,
    host: '127.0.0.1',
    times: { linger: 20 },
    logger: false,
    database,
    env: { APP_API_KEY: 'operator' },
  })

const bootstrapHeldQuery = () => {
  const graphql = new GraphQL()
  graphql.schema.addQuery('held', {
    type: 'Boolean!',
    resolve: () => heldHandlers.run(),
    use: [CacheFor('60s')],
  })
  graphql.registerRoute('/graphql')
  @Module({ graphql: [graphql] })
  class QueryModule {}
  return bootstrap(QueryModule, { listen: false, logger: false, env: {} })
}

const get = (path: string, headers: { [name: string]: string } = {}) =>
  fetch(app.url + path, { headers })
const operator = { Authorization: 'Bearer operator' }

describe('@CacheFor', () => {
  it('skips the handler until a record that it read changes, through any interface', async () => {
    app = await start()
    const read = async () => await (await get('/shop/lamps')).text()
    expect([await read(), await read(), calls]).toEqual(['[]', '[]', 1])
    await fetch(`${app.url}/crud-lamps`, {
      method: 'POST',
      headers: { ...operator, 'Content-Type': 'application/json' },
      body: '{"name":"A"}',
    })
    expect([await read(), await read(), calls]).toEqual([
      '[{"id":1,"name":"A"}]',
      '[{"id":1,"name":"A"}]',
      2,
    ])
    await app.graphql.execute('mutation { updateLamp(id: 1, input: { name: "B" }) { id } }')
    expect([await read(), calls]).toEqual(['[{"id":1,"name":"B"}]', 3])
    await app.get(Database).records(Shade).create({ name: 'S' })
    expect([await read(), calls]).toEqual(['[{"id":1,"name":"B"}]', 3])
    await app.get(Database).kysely.updateTable('lamp').set({ name: 'C' }).execute()
    expect([await read(), calls]).toEqual(['[{"id":1,"name":"C"}]', 4])
  })

  it('stores only successes, by path and query', async () => {
    app = await start()
    for (const path of ['/shop/lamps/1', '/shop/lamps/1'])
      expect((await get(path)).status).toBe(204)
    expect(calls).toBe(1)
    await app.get(Database).records(Lamp).create({ name: 'New' })
    expect((await get('/shop/lamps/1')).status).toBe(200)
    calls = 0
    await get('/shop/echo?a=1&b=2')
    expect(await (await get('/shop/echo?b=2&a=1')).json()).toEqual({ a: '1', b: '2' })
    await get('/shop/echo?a=2')
    expect(calls).toBe(2)
    calls = 0
    const cookies = [await get('/shop/cookie'), await get('/shop/cookie')]
    expect([calls, cookies[1]?.headers.get('set-cookie')]).toEqual([
      2,
      expect.stringMatching(/^a=b/),
    ])
  })

  describe('with concurrent requests for a response that is not cached', () => {
    const send = (url: string, headers = {}) => app.inject({ url, headers })
    const many = (count: number, url: string) => Array.from({ length: count }, () => send(url))
    const textsOf = async (responses: readonly ReturnType<typeof send>[]) =>
      (await Promise.all(responses)).map(({ status, body }) => `${status} ${body}`)

    it('runs the handler once for each key', async () => {
      app = await start()
      const responses = [...many(10, '/held/a'), ...many(2, '/held/b')]
      await heldHandlers.untilStarted(2)
      for (const end of heldHandlers.ends) end()
      const texts = await textsOf(responses)
      expect([new Set(texts).size, heldHandlers.ends.length]).toEqual([2, 2])
      expect(await textsOf(many(1, '/held/a'))).toEqual(texts.slice(0, 1))
    })

    it('runs it for each of them immediately where it failed', async () => {
      app = await start()
      const responses = many(4, '/held/a')
      await heldHandlers.untilStarted(1)
      heldHandlers.ends[0]?.(true)
      await heldHandlers.untilStarted(4)
      for (const end of heldHandlers.ends) end()
      const texts = await textsOf(responses)
      expect(texts.map((text) => text.slice(0, 3)).sort()).toEqual(['200', '200', '200', '500'])
    })

    it('runs it once more where a record that it read has changed meanwhile', async () => {
      app = await start()
      const responses = many(2, '/held/a')
      await heldHandlers.untilStarted(1)
      await app.get(Database).records(Lamp).create({ name: 'New' })
      heldHandlers.ends[0]?.()
      await heldHandlers.untilStarted(2)
      heldHandlers.ends[1]?.()
      const bodies = (await Promise.all(responses)).map(({ body }) => body)
      expect(bodies.map((body) => (JSON.parse(body) as { lamps: number }).lamps)).toEqual([0, 1])
    })

    it('runs it once more for all others where the first client has left', async () => {
      app = await start()
      const first = new AbortController()
      const response = fetch(`${app.url}/held/left`, { signal: first.signal }).catch(() => 'left')
      await heldHandlers.untilStarted(1)
      const responses = many(5, '/held/left')
      first.abort()
      expect(await response).toBe('left')
      await heldHandlers.untilStarted(2)
      heldHandlers.ends[1]?.()
      expect(new Set(await textsOf(responses))).toEqual(new Set(['200 {"call":2}']))
      expect(heldHandlers.ends).toHaveLength(2)
    })

    it('never sends the response of one caller to another, and then waits for none', async () => {
      app = await start()
      for (const calls of [3, 6]) {
        const responses = [1, 2, 3].map((each) => send('/held/personal', { Cookie: `a=${each}` }))
        await heldHandlers.untilStarted(calls === 3 ? 1 : 6)
        heldHandlers.ends[calls - 3]?.()
        await heldHandlers.untilStarted(calls)
        for (const end of heldHandlers.ends) end()
        const bodies = (await Promise.all(responses)).map(({ body }) => body)
        expect(bodies).toEqual(['{"cookie":"a=1"}', '{"cookie":"a=2"}', '{"cookie":"a=3"}'])
      }
    })

    it('runs a query of GraphQL once', async () => {
      app = await bootstrapHeldQuery()
      const query = { method: 'POST', url: '/graphql', json: { query: '{ held }' } }
      const responses = Array.from({ length: 5 }, () => app.inject(query))
      await heldHandlers.untilStarted(1)
      heldHandlers.ends[0]?.()
      for (const { body } of await Promise.all(responses))
        expect(JSON.parse(body)).toEqual({ data: { held: true } })
      expect(heldHandlers.ends).toHaveLength(1)
    })
  })

  it('never sends one caller the response or the request id of another', async () => {
    app = await start()
    const auth = app.get(Auth)
    const as = async (sub: string, id: string) => ({
      Authorization: `Bearer ${await auth.getToken({ sub })}`,
      'X-Request-Id': id,
    })
    for (const [sub, id] of [
      ['ann', 'r1'],
      ['bob', 'r2'],
      ['ann', 'r3'],
    ] as const) {
      const response = await get('/shop/mine', await as(sub, id))
      expect(await response.json()).toEqual({ sub })
      expect([null, id]).toContain(response.headers.get('x-request-id'))
      expect(response.headers.get('cache-control')).toBe('private, no-store')
    }
    expect(calls).toBe(2)
    expect((await get('/shop/mine')).status).toBe(401)
  })

  it('distinguishes visitors by the headers that a handler reads', async () => {
    app = await start()
    const ann = { cookie: 'name=ann', authorization: 'Basic YW5u' }
    const bob = { cookie: 'name=bob', authorization: 'Basic Ym9i' }
    const mixed = { ...ann, authorization: bob.authorization }
    for (const sent of [ann, bob, mixed])
      expect(await (await get('/shop/headers', sent)).json()).toEqual(sent)
  })

  it('stops the start where a handler may read its caller, and where nothing can be cached', async () => {
    app = await start()
    @Controller
    class Faulty {
      @Get('/a') @CacheFor('60s') a(user: Claims | null) {
        return user
      }
      @Post('/b') @CacheFor('soon') b() {
        return 1
      }
    }
    @Module({ controllers: [Faulty] })
    class FaultyModule {}
    await expect(bootstrap(FaultyModule, { listen: false, logger: false })).rejects.toMatchObject({
      problems: [
        { message: expect.stringContaining('@CacheFor on Faulty.a: its handler names user') },
        { message: '@CacheFor on Faulty.b: its time is "soon".' },
        { message: '@CacheFor on Faulty.b: caches GET only.' },
      ],
    })
  })

  it('is refused at fields of GraphQL by user', async () => {
    app = await start()
    const graphql = new GraphQL()
    const use = [CacheFor('60s', { by: ['user'] })]
    graphql.schema.addQuery('a', { type: 'Int', use, resolve: () => 1 })
    graphql.registerRoute('/a')
    @Module({ graphql: [graphql] })
    class Faulty {}
    await expect(bootstrap(Faulty, { listen: false, logger: false })).rejects.toMatchObject({
      problems: [
        { message: expect.stringContaining('@CacheFor on Query.a: caches GraphQL results') },
      ],
    })
  })

  describe('on GraphQL fields', () => {
    @CacheFor('60s')
    @Record
    class Clock {
      @Field('id') id!: number
      @Field('string') name!: string
      @Secured @Field('string') maker!: string
    }

    const hand = new GraphQL()
    hand.schema.addQuery('now', {
      type: 'Int',
      args: { add: 'Int!' },
      use: [CacheFor('60s')],
      resolve: (_root, { add }: { add: number }) => {
        if (add < 0) throw new Error('no')
        return ++calls + add
      },
    })
    for (const name of ['authorization', 'x-team']) {
      hand.schema.addQuery(name.replace('-', '_'), {
        type: 'String',
        use: [CacheFor('60s')],
        resolve: (_root, _args, context) =>
          (context as { request: HttpRequest }).request.headers[name],
      })
    }
    hand.schema.addQuery('plain', { type: 'Int', resolve: () => ++calls })
    hand.registerRoute('/hand')

    @CacheFor('60s')
    @Record({ rows: () => ({ team: currentRequest()?.headers['x-team'] ?? '' }) })
    class Sheet {
      @Field('id') id!: number
      @Field('string') team!: string
    }

    @Module({ records: [Clock, Sheet], graphql: [hand] })
    class ClockModule {}

    const execute = async (query: string, more: object = {}, path = '/hand', headers = {}) => {
      const response = await app!.inject({
        method: 'POST',
        url: path,
        json: { query, ...more },
        headers,
      })
      return response.json() as { data: Record<string, unknown>; errors?: unknown[] }
    }

    beforeEach(async () => {
      app = await bootstrap(ClockModule, {
        ...{ listen: false, logger: false, database: 'sqlite::memory:' },
        env: { APP_API_KEY: 'operator' },
      })
    })

    it('caches an anonymous query by its text and variables', async () => {
      const text = 'query ($add: Int!) { now(add: $add) }'
      const first = await execute(text, { variables: { add: 1 } })
      expect(first).toEqual({ data: { now: 2 } })
      expect(await execute(text, { variables: { add: 1 } })).toEqual(first)
      expect(await execute(text, { variables: { add: 2 } })).toEqual({ data: { now: 4 } })
      expect(await execute('{ a: now(add: 1) b: now(add: 1) }')).toEqual({ data: { a: 4, b: 5 } })
      expect(await execute('{ a: now(add: 1) b: now(add: 1) }')).toEqual({ data: { a: 4, b: 5 } })
      expect(calls).toBe(4)
    })

    it('caches nothing where a root field has no time, for known callers, and after errors', async () => {
      const different = async (query: string, headers = {}): Promise<void> => {
        const first = await execute(query, {}, '/hand', headers)
        const before = calls
        await execute(query, {}, '/hand', headers)
        expect([query, calls > before || first.errors !== undefined]).toEqual([query, true])
      }
      await different('{ now(add: 1) plain }')
      await different('{ now(add: 1) }', { authorization: 'Bearer operator' })
      await different('{ now(add: 1) }', { cookie: 'a=b' })
      await different('{ good: now(add: 1) bad: now(add: -1) }')
    })

    it.each([
      ['/hand', '{ authorization }'],
      ['/hand', '{ x_team }'],
      ['/graphql', '{ sheets { team } }'],
    ])('shares no result that depends on a header: %s %s', async (path, query) => {
      for (const team of ['red', 'blue']) await app.get(Database).records(Sheet).create({ team })
      const as = (team: string) =>
        execute(query, {}, path, { authorization: `Basic ${team}`, 'x-team': team })
      for (const team of ['red', 'blue', 'red'])
        expect(JSON.stringify(await as(team))).toMatch(new RegExp(`"(?:Basic )?${team}"`))
    })

    it('is invalidated by a change of a record, and reveals nothing across callers', async () => {
      const list = '{ clocks { name maker } }'
      const operator = { authorization: 'Bearer operator' }
      expect(await execute(list, {}, '/graphql')).toEqual({ data: { clocks: [] } })
      const mutation = 'mutation { createClock(input: { name: "a", maker: "m" }) { id } }'
      expect(await execute(mutation, {}, '/graphql', operator)).toMatchObject({
        data: { createClock: {} },
      })
      const expected = { data: { clocks: [{ name: 'a', maker: 'm' }] } }
      expect(await execute(list, {}, '/graphql', operator)).toEqual(expected)
      const hidden = { data: { clocks: [{ name: 'a', maker: null }] } }
      expect(await execute(list, {}, '/graphql')).toMatchObject(hidden)
      expect(await execute('{ clocks { name } }', {}, '/graphql')).toEqual({
        data: { clocks: [{ name: 'a' }] },
      })
    })
  })

  describe('with two processes on one PostgreSQL', () => {
    let postgres: PostgresServer
    beforeEach(async () => {
      postgres = await startPostgres()
    })
    afterEach(() => postgres.close())

    it('is invalidated by writes of the other', async () => {
      const url = await postgres.createDatabase()
      app = await start(url)
      other = await start(url)
      const read = async () => await (await get('/shop/lamps')).text()
      await read()
      expect([await read(), calls]).toEqual(['[]', 1])
      const notified = new Promise<void>((resolve) => {
        void internalsOf(app.get(Database)).watch(Lamp, {
          columns: [],
          onChanges: () => {
            resolve()
          },
          end: () => undefined,
        })
      })
      await other.get(Database).records(Lamp).create({ name: 'Far' })
      await notified
      expect(await read()).toBe('[{"id":1,"name":"Far"}]')
    })
  })
})

describe('ETags', () => {
  it('are on responses of crud and of handlers that request them, and recognized', async () => {
    app = await start()
    await app.get(Database).records(Lamp).create({ name: 'A' })
    for (const path of ['/shop/tagged', '/crud-lamps', '/crud-lamps/1', '/shop/both']) {
      const first = await get(path)
      const tag = first.headers.get('etag') ?? ''
      expect(tag).toMatch(/^"[\w-]+"$/)
      for (const condition of [tag, `W/${tag}`, `"x", ${tag}`, '*']) {
        const second = await get(path, { 'If-None-Match': condition })
        expect([second.status, await second.text()]).toEqual([304, ''])
        expect(second.headers.get('etag')).toBe(tag)
      }
      for (const condition of ['"other"', tag.slice(1), `${tag} ${tag}`, 'nonsense'])
        expect((await get(path, { 'If-None-Match': condition })).status).toBe(200)
    }
    expect(calls).toBe(1)
  })

  it.each([
    ['"a"', true],
    ['W/"a" , "b"', true],
    ['"b"', false],
    ['"a', false],
    ['a', false],
    ['"a" "b"', false],
    ['', false],
  ])('%s is the condition: %s', (condition, matches) => {
    expect(matchesEntityTag(condition, '"a"')).toBe(matches)
  })
})
