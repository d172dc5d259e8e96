/** Streams end when their token expires or its sign-in gets too old. Source: decisions, Access to routes. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals'
import {
  Auth,
  bootstrap,
  Clock,
  Controller,
  Database,
  events,
  Field,
  Get,
  Live,
  Module,
  NoAuth,
  Record,
  reply,
  Secured,
  type Application,
} from 'filigree'
import { TestClock } from 'filigree/testing'
import { WebSocket } from 'ws'
import { waitUntil } from '../wait-until.js'
import { createSilentGraphql } from './silent-subscription.js'

@Record
@NoAuth
class Letter {
  @Field('id') id!: number
  @Field('string') text!: string
}

@Record
@Secured({ fresh: '10m' })
class Secret {
  @Field('id') id!: number
  @Field('string') word!: string
}

/** Yields `begun`, and `more` once a function in `sayMore` is called. */
let sayMore: (() => void)[] = []
async function* silence(): AsyncGenerator<string> {
  yield 'begun'
  await new Promise<void>((resolve) => sayMore.push(resolve))
  yield 'more'
}

const graphql = createSilentGraphql(silence)

@Controller('/')
class Streams {
  @Get('/events') @Secured events() {
    return events(silence())
  }
  @Get('/recent') @Secured({ fresh: '10m' }) recent() {
    return events(silence())
  }
  @Get('/file') @Secured({ fresh: '10m' }) file() {
    return reply(silence())
  }
  /** The same for all callers, so that they share one live query. */
  @Get('/live') @Live @Secured({ fresh: '10m' }) live() {
    return { say: 'the same' }
  }
  @Get('/open') open() {
    return events(silence())
  }
}

@Controller('/secrets', { crud: Secret })
class SecretController {}

@Module({ controllers: [Streams, SecretController], records: [Letter, Secret], graphql: [graphql] })
class AppModule {}

const clock = new TestClock()
const apiKey = 'operator-0123456789abcdef'
let app: Application
const leaving: (() => void)[] = []
let isLeaving = false

beforeAll(async () => {
  app = await bootstrap(AppModule, {
    ...{ port: 0, host: '127.0.0.1', logger: false, database: 'sqlite::memory:' },
    env: { APP_API_KEY: apiKey },
    override: [[Clock, clock]],
  })
})
beforeEach(() => {
  isLeaving = false
})
afterEach(() => {
  isLeaving = true
  for (const leave of leaving.splice(0)) leave()
  for (const say of sayMore.splice(0)) say()
  sayMore = []
})
afterAll(() => app.close())

/** An open response: the text received so far, and whether it has ended. */
class OpenStream {
  text = ''
  isOver = false
  constructor(response: Response) {
    void this.#read(response)
  }
  async #read(response: Response): Promise<void> {
    const decoder = new TextDecoder()
    try {
      for await (const chunk of response.body ?? [])
        this.text += decoder.decode(chunk, { stream: true })
    } catch {
      // The test has closed the connection.
    }
    this.isOver = true
  }
  async until(isSo: (text: string) => boolean): Promise<void> {
    await waitUntil(() => {
      if (isSo(this.text)) return true
      if (this.isOver || isLeaving)
        throw new Error(`The expected text did not come. The stream ended with: ${this.text}`)
      return false
    })
  }
  async end(): Promise<void> {
    await waitUntil(() => this.isOver || isLeaving)
  }
}

async function openStream(path: string, token: string): Promise<OpenStream> {
  const abort = new AbortController()
  leaving.push(() => {
    abort.abort()
  })
  const headers = { accept: 'text/event-stream', authorization: `Bearer ${token}` }
  const response = await fetch(`${app.url}${path}`, { headers, signal: abort.signal })
  expect(response.status).toBe(200)
  return new OpenStream(response)
}
const subscription = (path: string, query: string): string =>
  `${path}?query=${encodeURIComponent(query)}`
const tokenFor = (expiresIn: string): Promise<string> =>
  app.get(Auth).getToken({ sub: '7' }, { expiresIn })
const hasBegun = (text: string): boolean => text.includes('begun')

it('streams end when their token expires, without waiting for an event, and files do not end', async () => {
  const token = await tokenFor('5m')
  const paths = [
    '/events',
    '/recent',
    '/open',
    subscription('/hand-made', 'subscription { silence }'),
  ]
  const ending = await Promise.all(paths.map((path) => openStream(path, token)))
  const [fileStream, operators, longer] = await Promise.all([
    openStream('/file', token),
    openStream('/recent', apiKey),
    tokenFor('1h').then((other) => openStream('/events', other)),
  ])
  await Promise.all([...ending, fileStream, operators, longer].map((one) => one.until(hasBegun)))
  await clock.advance('306s')
  // The public route did not read the token, so its stream is still open.
  for (const place of [0, 1, 3]) await ending[place]?.end()
  expect(ending[2]?.isOver).toBe(false)
  for (const one of [fileStream, operators, longer]) expect(one.isOver).toBe(false)
  for (const say of sayMore.splice(0)) say()
  await Promise.all(
    [fileStream, operators, longer].map((one) => one.until((text) => text.includes('more'))),
  )
  const retried = await fetch(`${app.url}/events`, {
    headers: { authorization: `Bearer ${token}` },
  })
  expect(retried.status).toBe(401)
})

it('streams of routes with `fresh` end with 403 when the sign-in gets too old', async () => {
  const token = await tokenFor('1h')
  const [recent, plain, live] = await Promise.all(
    ['/recent', '/events', '/live'].map((path) => openStream(path, token)),
  )
  await recent?.until(hasBegun)
  await plain?.until(hasBegun)
  await live?.until((text) => text.includes('the same'))
  await clock.advance('5m')
  // Another subscriber of the same live query, with a later sign-in.
  const other = await openStream('/live', await tokenFor('1h'))
  await other.until((text) => text.includes('the same'))
  await clock.advance('6m')
  await recent?.end()
  await live?.end()
  expect(live?.text).toContain('event: closed\ndata: {"status":403}')
  expect([plain?.isOver, other.isOver]).toEqual([false, false])
  const retried = await fetch(`${app.url}/recent`, {
    headers: { authorization: `Bearer ${token}` },
  })
  expect(retried.status).toBe(403)
})

it('streams of records with `fresh` end too, and send no later change', async () => {
  const token = await tokenFor('1h')
  const secrets = app.get(Database).records(Secret)
  const changesPath = subscription(
    '/graphql',
    'subscription { secretChanged { event secret { word } } }',
  )
  const [changes, rows, query] = await Promise.all([
    openStream(changesPath, token),
    openStream('/secrets', token),
    openStream(subscription('/graphql', 'query @live { secrets { word } }'), token),
  ])
  await rows.until((text) => text.includes('event: live'))
  await secrets.create({ word: 'early' })
  for (const one of [changes, rows, query]) await one.until((text) => text.includes('early'))
  await clock.advance('11m')
  await secrets.create({ word: 'late' })
  for (const one of [changes, rows, query]) await one.end()
  for (const one of [changes, rows, query]) expect(one.text).not.toContain('late')
})

it('a WebSocket ends a subscription whose sign-in is too old, and closes when its token expires', async () => {
  const socket = new WebSocket(`${app.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
  leaving.push(() => {
    socket.terminate()
  })
  const messages: string[] = []
  let code = 0
  socket.on('message', (data: Buffer) => messages.push(data.toString()))
  socket.on('close', (closeCode: number) => (code = closeCode))
  const until = (isSo: () => boolean): Promise<void> => waitUntil(() => isSo() || isLeaving)
  const send = (message: object): void => {
    socket.send(JSON.stringify(message))
  }
  await until(() => socket.readyState === WebSocket.OPEN)
  send({ type: 'connection_init', payload: { token: await tokenFor('20m') } })
  await until(() => messages.length === 1)
  for (const [id, name] of [
    ['recent', 'secret'],
    ['plain', 'letter'],
  ] as const) {
    const query = `subscription { ${name}Changed { event } }`
    send({ type: 'subscribe', id, payload: { query } })
  }
  const letters = app.get(Database).records(Letter)
  const secrets = app.get(Database).records(Secret)
  const isNotified = (id: string): boolean => messages.some((text) => text.includes(`"id":"${id}"`))
  await waitUntil(async () => {
    await letters.create({ text: 'a' })
    await secrets.create({ word: 'a' })
    return (isNotified('recent') && isNotified('plain')) || isLeaving
  })
  await clock.advance('11m')
  await until(() => messages.join().includes('"error"'))
  expect(messages.filter((text) => text.includes('"error"'))).toEqual([
    '{"id":"recent","type":"error","payload":[{"message":"The stream was ended.","extensions":{"code":"FORBIDDEN"}}]}',
  ])
  await clock.advance('10m')
  await until(() => code !== 0)
  expect(code).toBe(4403)
})
