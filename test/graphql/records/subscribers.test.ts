/** Many subscribers are notified of a change in slices, and a slow one may lose events. Source: docs/configuration.md, "Bounds". */
import { afterEach, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Database,
  Field,
  GraphQL,
  Module,
  NoAuth,
  Record,
  type Application,
  type GraphQLResult,
} from 'filigree'

@Record
@NoAuth
class Note {
  @Field('id') id!: number
  @Field('string') text!: string
}

@Module({ records: [Note] })
class NotesModule {}

let app: Application

function start(limits: Readonly<{ [name: string]: number }> = {}): Promise<Application> {
  return bootstrap(NotesModule, {
    database: 'sqlite::memory:',
    listen: false,
    logger: false,
    env: {},
    limits,
  })
}

async function follow(): Promise<AsyncIterableIterator<GraphQLResult>> {
  const opened = await app.graphql.subscribe('subscription { noteChanged { note { text } } }')
  if (!(Symbol.asyncIterator in opened)) throw new Error(JSON.stringify(opened))
  return opened
}

const eventLoopTick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

function eventOf(text: string): object {
  return { value: { data: { noteChanged: { note: { text } } } }, done: false }
}

afterEach(() => app.close())

describe('many subscribers', () => {
  it('are notified in slices, and the event loop is free between them', async () => {
    app = await start()
    const streams = await Promise.all(Array.from({ length: 100 }, follow))
    let heard = 0
    const responses = streams.map(async (stream) => {
      const response = await stream.next()
      heard++
      return response
    })
    await app.get(Database).records(Note).create({ text: 'a' })
    const steps: number[] = []
    for (let before = heard; heard < streams.length; before = heard) {
      await eventLoopTick()
      steps.push(heard - before)
    }
    // Two slices of the server may run between two of the test, but never all.
    expect(Math.max(...steps)).toBeLessThanOrEqual(16)
    for (const response of await Promise.all(responses)) expect(response).toEqual(eventOf('a'))
  })

  it('of custom subscriptions are notified in slices, too', async () => {
    let wake: () => void = () => undefined
    const event = new Promise<void>((resolve) => (wake = resolve))
    const graphql = new GraphQL()
    graphql.schema.addQuery('now', { type: 'Int', resolve: () => 1 }).addSubscription('bell', {
      type: 'Int',
      async *subscribe() {
        await event
        yield { bell: 1 }
        yield { bell: 2 }
      },
    })
    @Module({ graphql: [graphql.registerRoute()] })
    class BellModule {}
    app = await bootstrap(BellModule, { listen: false, logger: false, env: {} })
    const streams = await Promise.all(
      Array.from({ length: 100 }, () => graphql.subscribe('subscription { bell }', {}, {})),
    )
    let heard = 0
    const responses = streams.map(async (stream) => {
      if (!(Symbol.asyncIterator in stream)) throw new Error(JSON.stringify(stream))
      const first = await stream.next()
      heard++
      return [first, await stream.next(), await stream.next()]
    })
    wake()
    const steps: number[] = []
    for (let before = heard; heard < streams.length; before = heard) {
      await eventLoopTick()
      steps.push(heard - before)
    }
    expect(Math.max(...steps)).toBeLessThanOrEqual(16)
    for (const response of await Promise.all(responses))
      expect(response).toEqual([
        { value: { data: { bell: 1 } }, done: false },
        { value: { data: { bell: 2 } }, done: false },
        { value: undefined, done: true },
      ])
  })

  it('receive changes in order, however many wait', async () => {
    app = await start()
    const streams = await Promise.all(Array.from({ length: 30 }, follow))
    const notes = app.get(Database).records(Note)
    const texts = Array.from({ length: 12 }, (_, index) => `n${index}`)
    for (const text of texts) await notes.create({ text })
    for (const stream of streams)
      for (const text of texts) expect(await stream.next()).toEqual(eventOf(text))
  })
})

describe('pending changes of a subscriber', () => {
  it.each([
    [3, 3],
    [3, 4],
    [1, 1],
    [1, 2],
    [Infinity, 1500],
  ])(
    'with limits.events %d: of %d all are sent, or an error reports the loss',
    async (maxEvents, count) => {
      app = await start({ events: maxEvents })
      const stream = await follow()
      const notes = app.get(Database).records(Note)
      for (let index = 0; index < count; index++) await notes.create({ text: `n${index}` })
      if (count <= maxEvents) {
        for (let index = 0; index < count; index++)
          expect(await stream.next()).toEqual(eventOf(`n${index}`))
      } else {
        const { value } = (await stream.next()) as { value: GraphQLResult }
        expect(value.errors?.map(({ extensions }) => extensions['code'])).toEqual(['EVENTS_LOST'])
      }
      await notes.create({ text: 'next' })
      expect(await stream.next()).toEqual(eventOf('next'))
    },
  )

  it('are limited to 1,000 by default', async () => {
    app = await start()
    const stream = await follow()
    const notes = app.get(Database).records(Note)
    const many = (count: number) => Array.from({ length: count }, () => ({ text: 'n' }))
    await notes.insertMany(many(1000))
    expect(await stream.next()).toEqual(eventOf('n'))
    await notes.insertMany(many(2))
    const { value } = (await stream.next()) as { value: GraphQLResult }
    expect(value.errors?.map(({ extensions }) => extensions['code'])).toEqual(['EVENTS_LOST'])
  })
})
