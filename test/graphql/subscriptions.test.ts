import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { bootstrap, GraphQL, Module, type Application } from 'filigree'

/** A source of events that reports whether it is still read. */
class Channel implements AsyncIterableIterator<unknown> {
  open = true
  readonly #waiting: ((result: IteratorResult<unknown>) => void)[] = []
  readonly #events: unknown[] = []

  send(event: unknown): void {
    const waiting = this.#waiting.shift()
    if (waiting === undefined) this.#events.push(event)
    else waiting({ value: event, done: false })
  }

  next(): Promise<IteratorResult<unknown>> {
    if (this.#events.length > 0)
      return Promise.resolve({ value: this.#events.shift(), done: false })
    if (!this.open) return Promise.resolve({ value: undefined, done: true })
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  return(): Promise<IteratorResult<unknown>> {
    this.open = false
    for (const waiting of this.#waiting.splice(0)) waiting({ value: undefined, done: true })
    return Promise.resolve({ value: undefined, done: true })
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}

let channel = new Channel()
const graphql = new GraphQL({ maskErrors: false })
graphql.schema
  .addType('Price', { eur: 'Float!', note: 'String' })
  .addQuery('now', { type: 'Int', resolve: () => 1 })
  .addMutation('set', { type: 'Int', resolve: () => 2 })
  .addSubscription('price', {
    type: 'Price',
    args: { of: 'ID!' },
    subscribe: () => {
      channel = new Channel()
      return channel
    },
  })
  .addSubscription('secret', {
    type: 'Int',
    secured: true,
    async *subscribe() {
      yield await Promise.resolve({ secret: 1 })
    },
  })
  .addSubscription('count', {
    type: 'Int',
    args: { to: 'Int!' },
    async *subscribe(_root, { to }: { to: number }) {
      for (let count = 1; count <= to; count++) yield await Promise.resolve({ count })
    },
  })
  .addSubscription('breaking', {
    type: 'Int',
    async *subscribe() {
      yield await Promise.resolve({ breaking: 1 })
      throw new Error('the source broke')
    },
  })
  .addSubscription('broken', {
    type: 'Int',
    subscribe: () => {
      throw new Error('no source')
    },
  })
graphql.registerRoute()

@Module({ graphql: [graphql] })
class EventsModule {}

let app: Application
beforeAll(async () => {
  app = await bootstrap(EventsModule, { listen: false, logger: false, env: {} })
})
afterAll(() => app.close())

function send(query: string, { accept = 'text/event-stream', method = 'POST' } = {}) {
  const url = `http://localhost/graphql${method === 'GET' ? `?query=${encodeURIComponent(query)}` : ''}`
  const headers = { accept, 'content-type': 'application/json' }
  const body = method === 'GET' ? null : JSON.stringify({ query })
  return app.handle(new Request(url, { method, headers, body }))
}

/** The events of a stream, without comments. */
async function eventsOf(response: Response): Promise<string> {
  return (await response.text()).replaceAll(':\n\n', '')
}

const complete = 'event: complete\ndata: \n\n'

describe('subscriptions over text/event-stream', () => {
  it.each(['POST', 'GET'])('send each event and then complete, with %s', async (method) => {
    const response = await send('subscription { count(to: 2) }', { method })
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    expect(await eventsOf(response)).toBe(
      `event: next\ndata: {"data":{"count":1}}\n\nevent: next\ndata: {"data":{"count":2}}\n\n${complete}`,
    )
  })

  it('are accepted where a client also accepts JSON', async () => {
    const accept = 'application/graphql-response+json, application/json, text/event-stream'
    const response = await send('subscription { count(to: 0) }', { accept })
    expect(await eventsOf(response)).toBe(complete)
    const query = await send('{ now }', { accept })
    expect(await query.text()).toBe('{"data":{"now":1}}')
  })

  it('return from the source when the client leaves', async () => {
    const response = await send('subscription { price(of: 1) { eur } }')
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    channel.send({ price: { eur: 1.5 } })
    let text = ''
    while (!text.includes('next')) {
      const { value } = await reader.read()
      text += new TextDecoder().decode(value)
    }
    expect(text).toContain('event: next\ndata: {"data":{"price":{"eur":1.5}}}\n\n')
    expect(channel.open).toBe(true)
    await reader.cancel()
    await new Promise((resolve) => setImmediate(resolve))
    expect(channel.open).toBe(false)
  })

  it('contain the errors of an event with its data', async () => {
    const response = await send('subscription { price(of: 1) { note } }')
    channel.send({ price: { eur: 1 } })
    channel.send({ other: 1 })
    await channel.return()
    const events = (await eventsOf(response)).split('\n\n').map((event) => event.split('data: ')[1])
    expect(JSON.parse(events[0] ?? '')).toMatchObject({
      data: { price: { note: null } },
      errors: [{ path: ['price', 'note'], extensions: { code: 'FIELD_NOT_RESOLVED' } }],
    })
    expect(JSON.parse(events[1] ?? '')).toMatchObject({
      data: { price: null },
      errors: [{ path: ['price'] }],
    })
  })

  it.each([
    ['subscription { nothing }', 'GRAPHQL_VALIDATION_FAILED'],
    ['subscription {', 'GRAPHQL_PARSE_FAILED'],
    ['subscription ($n: Int!) { count(to: $n) }', 'BAD_VARIABLES'],
  ])('report in the stream what is wrong with %s', async (query, code) => {
    const response = await send(query)
    expect(response.status).toBe(200)
    const text = await response.text()
    expect(text.endsWith(complete)).toBe(true)
    const [, data = ''] = /data: (.*)\n/.exec(text) ?? []
    expect(JSON.parse(data)).toMatchObject({ errors: [{ extensions: { code } }] })
    expect(JSON.parse(data)).not.toHaveProperty('data')
  })

  it('report that the source failed', async () => {
    const text = await (await send('subscription { broken }')).text()
    expect(text).toContain('"message":"no source"')
    expect(text.endsWith(complete)).toBe(true)
  })

  it('are cut off without complete where the source fails midway', async () => {
    const response = await send('subscription { breaking }')
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    let text = ''
    const readAll = async (): Promise<void> => {
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        text += new TextDecoder().decode(part.value)
      }
    }
    await expect(readAll()).rejects.toThrow()
    expect(text).toContain('{"data":{"breaking":1}}')
    expect(text).not.toContain('complete')
    const results = await graphql.subscribe('subscription { breaking }')
    const read = async (): Promise<unknown[]> => {
      const all: unknown[] = []
      for await (const result of results as AsyncIterable<unknown>) all.push(result)
      return all
    }
    await expect(read()).rejects.toThrow('the source broke')
  })

  it('run queries and mutations, too', async () => {
    expect(await eventsOf(await send('{ now }'))).toBe(
      `event: next\ndata: {"data":{"now":1}}\n\n${complete}`,
    )
    expect((await send('mutation { set }', { method: 'GET' })).status).toBe(405)
  })

  it('require a token where the field does', async () => {
    const response = await send('subscription { secret }')
    expect(response.status).toBe(401)
    expect(await response.json()).toMatchObject({
      error: 'Unauthorized',
      code: 'UNAUTHENTICATED',
      data: null,
    })
  })

  it('require the media type', async () => {
    const response = await send('subscription { count(to: 1) }', { accept: 'application/json' })
    expect(await response.json()).toEqual({
      data: null,
      errors: [
        {
          message: 'A subscription needs Accept: text/event-stream.',
          extensions: { code: 'BAD_REQUEST' },
        },
      ],
    })
  })
})

describe('subscribe', () => {
  it('gives the program results as they come', async () => {
    const results = await graphql.subscribe('subscription ($n: Int!) { c: count(to: $n) }', {
      n: 2,
    })
    const received: unknown[] = []
    for await (const result of results as AsyncIterable<unknown>) received.push(result)
    expect(received).toEqual([{ data: { c: 1 } }, { data: { c: 2 } }])
  })

  it('gives one result for an operation that is not a subscription', async () => {
    const result = await graphql.subscribe('subscription { nothing }')
    expect(result).toMatchObject({
      data: null,
      errors: [{ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }],
    })
  })

  it('is required for subscriptions: execute refuses them', async () => {
    const result = await graphql.execute('subscription { count(to: 1) }')
    expect(result).toMatchObject({
      data: null,
      errors: [{ message: 'A subscription is opened with subscribe.' }],
    })
  })
})
