/** Source: decisions, Operations. */
import { afterEach, describe, expect, it } from '@jest/globals'
import {
  Auth,
  bootstrap,
  Field,
  GraphQL,
  Module,
  Record,
  toGlobalId,
  type Application,
  type Claims,
  type HttpRequest,
} from '../../src/index.js'
import { Throttle, throttle } from '../../src/modules/throttle/throttle.js'

@Throttle('2/m')
@Record
class Lamp {
  @Field('id') id!: number
  @Field('string') name!: string
}

const quiet = {
  port: 0,
  host: '127.0.0.1',
  times: { linger: 20 },
  logger: false,
  database: 'sqlite::memory:',
} as const

let app: Application | undefined
afterEach(() => app?.close())

async function start(relay = false) {
  const graphql = new GraphQL()
  graphql.schema.addQuery('rate', {
    type: 'Int',
    use: [Throttle('3/m')],
    resolve: () => 7,
  })
  graphql.schema.addQuery('free', { type: 'Int', resolve: () => 8 })
  graphql.registerRoute('/rates')
  @Module({ records: [Lamp], graphql: [graphql] })
  class AppModule {}
  app = await bootstrap(AppModule, { ...quiet, graphql: { relay } })
  const { url } = app
  return (path: string, query: string) =>
    fetch(url + path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ query }),
    })
}

describe('@Throttle on root fields', () => {
  it('counts every alias, and refuses the operation as a whole', async () => {
    const send = await start()
    const first = await send('/rates', '{ a: rate b: rate free }')
    expect(await first.json()).toEqual({ data: { a: 7, b: 7, free: 8 } })
    expect(first.headers.get('ratelimit')).toMatch(/^"3\/m";r=1/)
    const second = await send('/rates', '{ a: rate b: rate }')
    expect(second.status).toBe(429)
    expect(second.headers.get('retry-after')).toMatch(/^\d+$/)
    expect(await second.json()).toEqual({
      error: 'Too many requests',
      code: 'TOO_MANY_REQUESTS',
      data: null,
      errors: [{ message: 'Too many requests', extensions: { code: 'TOO_MANY_REQUESTS' } }],
    })
    // Neither of the two was counted.
    expect((await send('/rates', '{ rate }')).status).toBe(200)
    expect((await send('/rates', '{ rate }')).status).toBe(429)
    expect((await send('/rates', '{ free }')).headers.get('ratelimit')).toBeNull()
  })

  it('counts with GET, too', async () => {
    const send = await start()
    await send('/rates', '{ a: rate b: rate c: rate }')
    const response = await fetch(`${app?.url}/rates?query=${encodeURIComponent('{ rate }')}`)
    expect(response.status).toBe(429)
  })

  it('works for generated fields of a record, each with its own count', async () => {
    const send = await start()
    for (const status of [200, 200, 429])
      expect((await send('/graphql', '{ lamps { id } }')).status).toBe(status)
    expect((await send('/graphql', '{ lampCount }')).status).toBe(200)
  })

  it('counts a record read by its global id like its query', async () => {
    const send = await start(true)
    const id = toGlobalId('Lamp', 1)
    expect((await send('/graphql', `{ node(id: "${id}") { id } }`)).status).toBe(200)
    expect((await send('/graphql', `{ nodes(ids: ["${id}"]) { id } }`)).status).toBe(200)
    expect((await send('/graphql', `{ lamp(id: "${id}") { id } }`)).status).toBe(429)
    expect((await send('/graphql', '{ node(id: "none") { id } }')).status).toBe(200)
  })

  it('stops the start for options without effect', async () => {
    const graphql = new GraphQL()
    graphql.schema.addQuery('a', { type: 'Int', use: [Throttle('often')], resolve: () => 1 })
    graphql.registerRoute('/a')
    @Module({ graphql: [graphql] })
    class Faulty {}
    await expect(bootstrap(Faulty, { listen: false, logger: false })).rejects.toMatchObject({
      problems: [{ message: '@Throttle on Query.a: limit is "often".' }],
    })
  })
})

describe('throttle({ by }) of an application with GraphQL', () => {
  const operation = async (claims?: Claims, headers: object = {}) => {
    const token = claims && (await app?.get(Auth).getToken(claims))
    const response = await fetch(`${app?.url}/graphql`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
        ...headers,
      },
      body: JSON.stringify({ query: '{ __typename }' }),
    })
    return response.status
  }

  it('counts the operations of a user', async () => {
    @Module({ records: [Lamp], imports: [throttle({ limit: '2/m', by: 'user' })] })
    class AppModule {}
    app = await bootstrap(AppModule, quiet)
    const ann = { sub: 'ann' }
    expect([await operation(ann), await operation(ann), await operation(ann)]).toEqual([
      200, 200, 429,
    ])
    expect(await operation({ sub: 'bob' })).toBe(200)
    expect(await operation()).toBe(200)
  })

  it('counts the operations of a key', async () => {
    const by = ({ headers }: HttpRequest) => headers['x-key']
    @Module({ records: [Lamp], imports: [throttle({ limit: '1/m', by })] })
    class AppModule {}
    app = await bootstrap(AppModule, quiet)
    const as = (key: string) => operation(undefined, { 'X-Key': key })
    expect([await as('a'), await as('a'), await as('b')]).toEqual([200, 429, 200])
    expect([await operation(), await operation()]).toEqual([200, 200])
  })
})
