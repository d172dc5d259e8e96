import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createClient, type Client } from 'graphql-ws'
import { WebSocket } from 'ws'
import { Auth, bootstrap, GraphQL, Module, type Application } from 'filigree'
import { silentLog } from '../silent-log.js'
import { waitUntil } from '../wait-until.js'

/** Milliseconds between two events of `ticks`. */
const tickInterval = 5
const sources = new Set<() => void>()
let ended = 0

/** Counts up until the subscriber ends it. */
async function* ticks(): AsyncGenerator<{ ticks: number }> {
  let wake: () => void = () => undefined
  const end = (): void => {
    wake()
  }
  sources.add(end)
  try {
    for (let count = 1; ; count++) {
      yield { ticks: count }
      await new Promise<void>((resolve) => {
        wake = resolve
        setTimeout(resolve, tickInterval)
      })
    }
  } finally {
    sources.delete(end)
    ended++
  }
}

let release: () => void = () => undefined
/** Ends the running queries `held`. */
const heldQueries: (() => void)[] = []
/** How often the slow mutation has started. */
let slowOnes = 0
const big = 'x'.repeat(100_000)
/** How many events the flood has produced. */
let flooded = 0

function ticksAs(name: string) {
  return async function* named() {
    for await (const { ticks: count } of ticks()) yield { [name]: count }
  }
}

/** A separate instance for each application, because closing an application ends its streams. */
function createModule(): new () => object {
  const graphql = new GraphQL({ maskErrors: false, sockets: true })
  graphql.schema
    .addQuery('now', { type: 'Int', resolve: () => 1 })
    .addQuery('held', {
      type: 'Int',
      resolve: () =>
        new Promise((resolve) => {
          heldQueries.push(() => {
            resolve(1)
          })
        }),
    })
    .addQuery('who', {
      type: 'String',
      resolve: (_root, _args, context) =>
        (context as { user: { sub?: string } | null }).user?.sub ?? null,
    })
    .addQuery('cookie', {
      type: 'String',
      resolve: (_root, _args, context) =>
        (context as { request: { headers: Record<string, string> } }).request.headers.cookie ??
        null,
    })
    .addQuery('broken', {
      type: 'Int',
      resolve: () => {
        throw new Error('it broke')
      },
    })
    .addMutation('slow', {
      type: 'Int',
      resolve: () =>
        new Promise((resolve) => {
          slowOnes++
          release = () => {
            resolve(2)
          }
        }),
    })
    .addSubscription('count', {
      type: 'Int',
      args: { to: 'Int!' },
      async *subscribe(_root, { to }: { to: number }) {
        for (let count = 1; count <= to; count++) yield await Promise.resolve({ count })
      },
    })
    .addSubscription('ticks', { type: 'Int', subscribe: ticks })
    .addSubscription('flood', {
      type: 'String',
      async *subscribe() {
        for (;;) {
          flooded++
          yield await Promise.resolve({ flood: big })
        }
      },
    })
    .addSubscription('mine', { type: 'Int', secured: true, subscribe: ticksAs('mine') })
    .addSubscription('breaking', {
      type: 'Int',
      async *subscribe() {
        yield await Promise.resolve({ breaking: 1 })
        throw new Error('the source broke')
      },
    })
  graphql.registerRoute()
  @Module({ graphql: [graphql] })
  class SocketsModule {}
  return SocketsModule
}

let app: Application
let url: string
const refused: object[] = []
const logger = {
  ...silentLog,
  debug: (about: object, message: string) => {
    if (message === 'socket refused') refused.push(about)
  },
}
beforeAll(async () => {
  app = await start({ logger })
  url = address(app)
})
afterAll(() => app.close())

function start(options: object = {}): Promise<Application> {
  const base = { logger: false, env: {}, port: 0, host: '127.0.0.1' }
  return bootstrap(createModule(), { ...base, auth: { cookie: true }, ...options })
}

function address({ url: at }: Application): string {
  return `${at.replace('http', 'ws')}/graphql`
}

/** A WebSocket client that sends and receives single messages. */
class Raw {
  readonly socket: WebSocket
  readonly #messages: unknown[] = []
  readonly closed: Promise<{ code: number; reason: string }>
  #wake: () => void = () => undefined

  constructor(at: string, headers: Record<string, string> = {}, protocol = 'graphql-transport-ws') {
    this.socket = new WebSocket(at, protocol, { headers })
    this.socket.on('message', (data: Buffer) => {
      this.#messages.push(JSON.parse(data.toString()))
      this.#wake()
    })
    this.closed = new Promise((resolve) => {
      this.socket.on('close', (code, reason) => {
        resolve({ code, reason: reason.toString() })
      })
    })
    this.socket.on('error', () => undefined)
  }

  static async ready(at = url, payload?: object, headers = {}): Promise<Raw> {
    const raw = new Raw(at, headers)
    await raw.open()
    raw.send({ type: 'connection_init', payload })
    expect(await raw.next()).toEqual({ type: 'connection_ack' })
    return raw
  }

  async open(): Promise<void> {
    await once(this.socket, 'open')
  }

  send(message: unknown): void {
    this.socket.send(typeof message === 'string' ? message : JSON.stringify(message))
  }

  subscribe(id: string, query: string, more: object = {}): void {
    this.send({ id, type: 'subscribe', payload: { query, ...more } })
  }

  async next(): Promise<unknown> {
    while (this.#messages.length === 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    return this.#messages.shift()
  }

  close(): void {
    this.socket.close()
  }
}

describe('the protocol, message by message', () => {
  it('answers a query with one result', async () => {
    const raw = await Raw.ready()
    raw.subscribe('1', '{ now }')
    expect(await raw.next()).toEqual({ id: '1', type: 'next', payload: { data: { now: 1 } } })
    expect(await raw.next()).toEqual({ id: '1', type: 'complete' })
    raw.subscribe('1', 'query B { now } query A { later: now }', { operationName: 'A' })
    expect(await raw.next()).toMatchObject({ payload: { data: { later: 1 } } })
    raw.close()
  })

  it('closes for an id in use, of any characters', async () => {
    for (const letter of ['a', 'ÿ', '€', '\ud800', '😀']) {
      const raw = await Raw.ready()
      const id = letter.repeat(100)
      raw.subscribe(id, 'subscription { ticks }')
      await raw.next()
      raw.subscribe(id, 'subscription { ticks }')
      expect(await raw.closed).toMatchObject({ code: 4409 })
    }
  })

  it('answers a ping of the protocol and of the transport', async () => {
    const raw = new Raw(url)
    await raw.open()
    raw.send({ type: 'ping', payload: { any: 'thing' } })
    expect(await raw.next()).toEqual({ type: 'pong' })
    raw.send({ type: 'pong' })
    raw.socket.ping('x')
    const [data] = (await once(raw.socket, 'pong')) as [Buffer]
    expect(data.toString()).toBe('x')
    raw.close()
  })

  it('reports an invalid operation as an error, and a failed field in its result', async () => {
    const raw = await Raw.ready()
    raw.subscribe('a', '{ nowhere }')
    expect(await raw.next()).toMatchObject({
      id: 'a',
      type: 'error',
      payload: [{ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }],
    })
    raw.subscribe('a', '{ broken }')
    expect(await raw.next()).toMatchObject({
      id: 'a',
      type: 'next',
      payload: { data: { broken: null }, errors: [{ path: ['broken'] }] },
    })
    expect(await raw.next()).toEqual({ id: 'a', type: 'complete' })
    raw.send({ id: 'b', type: 'subscribe', payload: { variables: {} } })
    expect(await raw.closed).toMatchObject({ code: 4400 })
  })

  it('completes a subscription, and stops one that its client completes', async () => {
    const raw = await Raw.ready()
    raw.subscribe('1', 'subscription { count(to: 2) }')
    expect(await raw.next()).toMatchObject({ payload: { data: { count: 1 } } })
    expect(await raw.next()).toMatchObject({ payload: { data: { count: 2 } } })
    expect(await raw.next()).toEqual({ id: '1', type: 'complete' })
    const before = ended
    raw.subscribe('2', 'subscription { ticks }')
    expect(await raw.next()).toMatchObject({ id: '2', payload: { data: { ticks: 1 } } })
    raw.send({ id: '2', type: 'complete' })
    await waitUntil(() => ended > before)
    raw.send({ id: 'never', type: 'complete' })
    raw.send({ type: 'ping' })
    const rest = []
    for (let message = await raw.next(); ; message = await raw.next()) {
      rest.push(message)
      if ((message as { type: string }).type === 'pong') break
    }
    expect(rest.filter((message) => (message as { type: string }).type === 'complete')).toEqual([])
    raw.close()
  })

  it('returns from the sources when the socket is closed', async () => {
    const raw = await Raw.ready()
    const before = ended
    raw.subscribe('1', 'subscription { ticks }')
    raw.subscribe('2', 'subscription { ticks }')
    const received = new Set<unknown>()
    while (received.size < 2) received.add(((await raw.next()) as { id: string }).id)
    raw.socket.terminate()
    await waitUntil(() => ended >= before + 2 && sources.size === 0)
  })

  it('reports a source that fails in the middle', async () => {
    const raw = await Raw.ready()
    raw.subscribe('1', 'subscription { breaking }')
    expect(await raw.next()).toMatchObject({ type: 'next' })
    expect(await raw.next()).toMatchObject({ id: '1', type: 'error' })
    raw.close()
  })

  it.each([
    [
      'subscribe before connection_ack',
      { id: '1', type: 'subscribe', payload: { query: '{ now }' } },
      4401,
      'Unauthorized',
    ],
    ['no JSON', 'hello', 4400, 'Invalid message received'],
    ['a list', '[]', 4400, 'Invalid message received'],
    ['an unknown type', { type: 'start' }, 4400, 'Invalid message received'],
    [
      'no id',
      { type: 'subscribe', payload: { query: '{ now }' } },
      4400,
      'Invalid message received',
    ],
    ['an empty id', { id: '', type: 'complete' }, 4400, 'Invalid message received'],
    ['no payload', { id: '1', type: 'subscribe' }, 4400, 'Invalid message received'],
    [
      'a payload that is a list',
      { type: 'connection_init', payload: [] },
      4400,
      'Invalid message received',
    ],
  ])('closes the socket for %s', async (_name, message, code, reason) => {
    const raw = new Raw(url)
    await raw.open()
    raw.send(message)
    expect(await raw.closed).toEqual({ code, reason })
  })

  it('closes the socket for bytes, two inits, a duplicate id and another subprotocol', async () => {
    const bytes = new Raw(url)
    await bytes.open()
    bytes.socket.send(Buffer.from('{"type":"ping"}'))
    expect((await bytes.closed).code).toBe(4400)
    const twice = await Raw.ready()
    twice.send({ type: 'connection_init' })
    expect(await twice.closed).toEqual({ code: 4429, reason: 'Too many initialisation requests' })
    const same = await Raw.ready()
    same.subscribe('1', 'subscription { ticks }')
    same.subscribe('1', 'subscription { ticks }')
    expect(await same.closed).toEqual({ code: 4409, reason: 'Subscriber for 1 already exists' })
    const old = new Raw(url, {}, 'graphql-ws')
    expect(await Promise.race([old.closed, once(old.socket, 'error')])).toBeDefined()
    old.socket.terminate()
  })

  it('closes the socket for a message that is too long', async () => {
    const raw = await Raw.ready()
    raw.subscribe('1', `{ now } # ${'x'.repeat(2_000_000)}`)
    expect((await raw.closed).code).toBe(1009)
  })
})

describe('the caller', () => {
  const tokenOf = (sub: string): Promise<string> => app.get(Auth).getToken({ sub })

  it('is set by connection_init, in three ways, or by the handshake', async () => {
    const token = await tokenOf('7')
    const payloads = [
      { authorization: `Bearer ${token}` },
      { headers: { Authorization: `Bearer ${token}` } },
      { token },
    ]
    for (const payload of payloads) {
      const raw = await Raw.ready(url, payload)
      raw.subscribe('1', '{ who }')
      expect(await raw.next()).toMatchObject({ payload: { data: { who: '7' } } })
      raw.close()
    }
    const raw = await Raw.ready(url, undefined, { authorization: `Bearer ${token}` })
    raw.subscribe('1', '{ who }')
    expect(await raw.next()).toMatchObject({ payload: { data: { who: '7' } } })
    raw.close()
  })

  it('is refused with 4403 for a bad token, and anonymous without one', async () => {
    const raw = new Raw(url)
    await raw.open()
    raw.send({ type: 'connection_init', payload: { token: 'nonsense' } })
    expect(await raw.closed).toEqual({ code: 4403, reason: 'Forbidden' })
    // The reason is only in the log.
    const reason = expect.stringContaining('the token was refused: ') as unknown
    expect(refused).toContainEqual({ path: '/graphql', code: 4403, reason })
    const nobody = await Raw.ready()
    nobody.subscribe('1', 'subscription { mine }')
    expect(await nobody.next()).toMatchObject({
      type: 'error',
      payload: [{ extensions: { code: 'UNAUTHENTICATED' } }],
    })
    nobody.close()
  })

  it('may use a cookie from our own pages only', async () => {
    const { port } = new URL(app.url)
    const cookie = `app_token_${port}=${await tokenOf('9')}; other=1`
    const origin = new URL(app.url).origin
    const sameOrigin = await Raw.ready(url, undefined, { cookie, origin })
    sameOrigin.subscribe('1', '{ cookie who }')
    expect(await sameOrigin.next()).toMatchObject({ payload: { data: { cookie, who: '9' } } })
    sameOrigin.close()
    const foreign = await Raw.ready(url, undefined, { cookie, origin: 'https://evil.example' })
    foreign.subscribe('1', '{ cookie who }')
    expect(await foreign.next()).toMatchObject({ payload: { data: { cookie: null, who: null } } })
    foreign.close()
  })

  it('cannot open a socket from an origin that may not read responses', async () => {
    const listed = await start({ cors: { origins: ['https://shop.example'] } })
    try {
      const good = await Raw.ready(address(listed), undefined, { origin: 'https://shop.example' })
      good.close()
      const bad = new WebSocket(address(listed), 'graphql-transport-ws', {
        headers: { origin: 'https://evil.example' },
      })
      const [error] = (await once(bad, 'error')) as [Error]
      expect(error.message).toContain('403')
    } finally {
      await listed.close()
    }
  })

  it('ends with 4403 when the token is revoked', async () => {
    const raw = await Raw.ready(url, { token: await tokenOf('ending') })
    raw.subscribe('1', 'subscription { mine }')
    expect(await raw.next()).toMatchObject({ payload: { data: { mine: 1 } } })
    await app.get(Auth).revokeAll('ending')
    expect(await raw.closed).toEqual({ code: 4403, reason: 'Forbidden' })
  })
})

describe('limits', () => {
  it('run a few of many operations at a time, and none that was completed before', async () => {
    const raw = await Raw.ready()
    for (let id = 0; id < 20; id++) raw.subscribe(`held ${id}`, '{ held }')
    await waitUntil(() => heldQueries.length === 6)
    const other = await Raw.ready()
    other.subscribe('1', '{ now }')
    expect(await other.next()).toMatchObject({ payload: { data: { now: 1 } } })
    other.close()
    expect(heldQueries).toHaveLength(6)
    raw.send({ id: 'held 6', type: 'complete' })
    // The server has read both messages when it responds to the second one.
    raw.send({ type: 'ping' })
    expect(await raw.next()).toMatchObject({ type: 'pong' })
    const ids = new Set<string>()
    const readAll = async (): Promise<void> => {
      while (ids.size < 19) {
        const message = (await raw.next()) as { type: string; id: string }
        if (message.type === 'complete') ids.add(message.id)
      }
    }
    const endAll = (): boolean => {
      for (const end of heldQueries.splice(0)) end()
      return ids.size === 19
    }
    await Promise.all([readAll(), waitUntil(endAll)])
    expect(ids).not.toContain('held 6')
    raw.close()
  })

  it('refuse more operations than one address may stream, with a message', async () => {
    const small = await start({ limits: { streamsByAddress: 2 } })
    try {
      const raw = await Raw.ready(address(small))
      for (const id of ['1', '2', '3']) raw.subscribe(id, 'subscription { ticks }')
      for (;;) {
        const message = (await raw.next()) as { type: string; id: string }
        if (message.type === 'next') continue
        expect(message).toMatchObject({
          id: '3',
          type: 'error',
          payload: [{ extensions: { code: 'TOO_MANY_STREAMS' } }],
        })
        break
      }
      raw.close()
    } finally {
      await small.close()
    }
  })

  it('pause a source while its client does not read', async () => {
    const raw = await Raw.ready()
    raw.subscribe('1', 'subscription { flood }')
    await raw.next()
    raw.socket.pause()
    // Other clients are served meanwhile.
    const other = await Raw.ready()
    for (let count = 0; count < 50; count++) {
      other.subscribe(String(count), '{ now }')
      await other.next()
      await other.next()
    }
    // The flood pauses once the buffers are full.
    for (let before = -1; before !== flooded;) {
      before = flooded
      for (let tick = 0; tick < 200; tick++) await new Promise((resolve) => setImmediate(resolve))
    }
    expect(flooded).toBeLessThan(1000)
    other.close()
    raw.socket.terminate()
  })

  it('close a socket without activity', async () => {
    // The timeout applies to the handshake, too.
    const hasty = await start({ times: { headers: 2000 } })
    try {
      const raw = new Raw(address(hasty))
      await raw.open()
      expect(await raw.closed).toEqual({ code: 4408, reason: 'Connection initialisation timeout' })
    } finally {
      await hasty.close()
    }
  })
})

describe('closing the application', () => {
  it('completes queries, and lets streams reconnect elsewhere', async () => {
    const closing = await start()
    const raw = await Raw.ready(address(closing))
    raw.subscribe('stream', 'subscription { ticks }')
    await raw.next()
    raw.subscribe('slow', 'mutation { slow }', {})
    const error = await nextOf(raw, 'slow')
    // Without a token the mutation is refused, and with one it runs.
    expect(error).toMatchObject({ type: 'error' })
    raw.close()
    const token = await closing.get(Auth).getToken({ sub: '7' })
    const signedIn = await Raw.ready(address(closing), { token })
    signedIn.subscribe('stream', 'subscription { ticks }')
    await signedIn.next()
    const before = slowOnes
    signedIn.subscribe('slow', 'mutation { slow }')
    await waitUntil(() => slowOnes > before)
    const closed = closing.close()
    await new Promise((resolve) => setImmediate(resolve))
    release()
    expect(await nextOf(signedIn, 'slow')).toMatchObject({ payload: { data: { slow: 2 } } })
    expect(await nextOf(signedIn, 'slow')).toEqual({ id: 'slow', type: 'complete' })
    expect(await signedIn.closed).toEqual({ code: 1001, reason: 'Going away' })
    await closed
  })

  async function nextOf(raw: Raw, id: string): Promise<unknown> {
    for (;;) {
      const message = (await raw.next()) as { id: string; type: string }
      if (message.id === id) return message
      expect(message.type).not.toBe('complete')
    }
  }
})

describe("the client of graphql-ws, as Apollo's and urql's use it", () => {
  let client: Client
  beforeAll(() => {
    client = createClient({ url, webSocketImpl: WebSocket, lazy: true })
  })
  afterAll(() => client.dispose())

  it('receives results and errors', async () => {
    const results = []
    for await (const result of client.iterate({ query: 'subscription { count(to: 3) }' })) {
      results.push(result)
    }
    expect(results).toEqual([1, 2, 3].map((count) => ({ data: { count } })))
    const wrong = client.iterate({ query: '{ nowhere }' })
    await expect(wrong.next()).rejects.toMatchObject([
      { extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } },
    ])
  })

  it('retries, elsewhere, when the application closes', async () => {
    const first = await start()
    const { port } = new URL(first.url)
    let connections = 0
    let isRestarted = false
    const steady = createClient({
      url: address(first),
      webSocketImpl: WebSocket,
      retryWait: () => waitUntil(() => isRestarted),
      retryAttempts: 100,
      on: { connected: () => connections++ },
    })
    const results = steady.iterate<{ ticks: number }>({ query: 'subscription { ticks }' })
    await results.next()
    await first.close()
    const second = await start({ port: Number(port) })
    isRestarted = true
    for (;;) {
      const { value } = (await results.next()) as { value: { data: { ticks: number } } }
      if (connections === 2 && value.data.ticks === 1) break
    }
    await results.return?.()
    await steady.dispose()
    await second.close()
  })
})
