/** Source: decisions, "Second storey: production", Throttle, on root fields of GraphQL. */
import { afterEach, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Field,
  GraphQL,
  Module,
  Record,
  toGlobalId,
  type Application,
} from '../../src/index.js'
import { Throttle } from '../../src/modules/throttle/throttle.js'

@Throttle('2/m')
@Record
class Lamp {
  @Field('id') id!: number
  @Field('string') name!: string
}

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
  app = await bootstrap(AppModule, {
    port: 0,
    host: '127.0.0.1',
    logger: false,
    database: 'sqlite::memory:',
    graphql: { relay },
  })
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
    const ask = await start()
    const first = await ask('/rates', '{ a: rate b: rate free }')
    expect(await first.json()).toEqual({ data: { a: 7, b: 7, free: 8 } })
    expect(first.headers.get('ratelimit')).toMatch(/^"3\/m";r=1/)
    const both = await ask('/rates', '{ a: rate b: rate }')
    expect(both.status).toBe(429)
    expect(both.headers.get('retry-after')).toMatch(/^\d+$/)
    expect(await both.json()).toEqual({
      error: 'Too many requests',
      data: null,
      errors: [{ message: 'Too many requests', extensions: { code: 'TOO_MANY_REQUESTS' } }],
    })
    // None of the two has counted.
    expect((await ask('/rates', '{ rate }')).status).toBe(200)
    expect((await ask('/rates', '{ rate }')).status).toBe(429)
    expect((await ask('/rates', '{ free }')).headers.get('ratelimit')).toBeNull()
  })

  it('counts by GET, too', async () => {
    const ask = await start()
    await ask('/rates', '{ a: rate b: rate c: rate }')
    const answer = await fetch(`${app?.url}/rates?query=${encodeURIComponent('{ rate }')}`)
    expect(answer.status).toBe(429)
  })

  it('holds for the fields that are generated of a record, each with a count of its own', async () => {
    const ask = await start()
    for (const status of [200, 200, 429])
      expect((await ask('/graphql', '{ lamps { id } }')).status).toBe(status)
    expect((await ask('/graphql', '{ lampCount }')).status).toBe(200)
  })

  it('counts a record that is asked for by its global id, as by its query', async () => {
    const ask = await start(true)
    const id = toGlobalId('Lamp', 1)
    expect((await ask('/graphql', `{ node(id: "${id}") { id } }`)).status).toBe(200)
    expect((await ask('/graphql', `{ nodes(ids: ["${id}"]) { id } }`)).status).toBe(200)
    expect((await ask('/graphql', `{ lamp(id: "${id}") { id } }`)).status).toBe(429)
    expect((await ask('/graphql', '{ node(id: "none") { id } }')).status).toBe(200)
  })

  it('stops the start where it says nothing', async () => {
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
