/** Streams end when their token is revoked, in every process of a database. Source: decisions, Tokens. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import {
  Auth,
  bootstrap,
  Controller,
  Database,
  events,
  Field,
  Get,
  Module,
  Record,
  reply,
  Secured,
  type Application,
  type Claims,
} from 'filigree'
import { makePair } from '../auth/key-pair.js'
import { startPostgres } from '../records/postgres-server.js'
import { createSilentGraphql } from './silent-subscription.js'

@Record
class Letter {
  @Field('id') id!: number
  @Field('string') text!: string
}

/** Yields `begun` and then never ends. */
async function* silence(): AsyncGenerator<string> {
  yield 'begun'
  await new Promise(() => undefined)
}

const graphql = createSilentGraphql(silence)

@Controller('/')
class Streams {
  @Get('/events') @Secured events() {
    return events(silence())
  }
  @Get('/text') @Secured text() {
    return reply(silence())
  }
  @Get('/web') @Secured web() {
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        controller.enqueue(Buffer.from('begun'))
      },
    })
  }
  @Get('/perhaps') perhaps(user: Claims | null) {
    return user === null ? 'nobody' : events(silence())
  }
}

@Module({ controllers: [Streams], records: [Letter], graphql: [graphql] })
class AppModule {}

@Controller('/')
class Few {
  @Get('/events') @Secured events() {
    return events(silence())
  }
  @Get('/text') @Secured text() {
    return reply(silence())
  }
}

@Module({ controllers: [Few] })
class Bare {}

const server = await startPostgres()
afterAll(() => server.close())

const apiKey = 'operator-0123456789abcdef'
const env = { APP_API_KEY: apiKey, APP_PRIVATE_KEY: makePair().privatePem }

const start = (database: string): Promise<Application> =>
  bootstrap(AppModule, {
    database,
    port: 0,
    host: '127.0.0.1',
    logger: false,
    env,
    times: { linger: 20 },
  })

/** A response that has started. */
interface Open {
  /** The complete text, resolved when the response ends. */
  readonly fullText: Promise<string>
  readonly leave: () => void
}

async function follow(app: Application, path: string, token?: string): Promise<Open> {
  const abort = new AbortController()
  const headers: { [name: string]: string } = { accept: 'text/event-stream' }
  if (token !== undefined) headers.authorization = `Bearer ${token}`
  const response = await fetch(`${app.url}${path}`, { headers, signal: abort.signal })
  expect(response.status).toBe(200)
  return {
    fullText: response.text(),
    leave: () => {
      abort.abort()
    },
  }
}

const subscription = (query: string): string => `?query=${encodeURIComponent(query)}`
const paths = [
  '/events',
  '/text',
  '/web',
  '/perhaps',
  `/hand-made${subscription('subscription { silence }')}`,
  `/graphql${subscription('subscription { letterChanged { id } }')}`,
]

let folder: string
let apps: Application[] = []
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filigree-streams-'))
})
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close()
  await rm(folder, { recursive: true })
})

const ways: readonly (readonly [string, (auth: Auth, claims: Claims) => Promise<unknown>])[] = [
  ['revoke', (auth, { jti = '' }) => auth.revoke(jti)],
  ['revokeAll', (auth, { sub = '' }) => auth.revokeAll(sub)],
]

const engines: readonly (readonly [string, () => Promise<string>])[] = [
  ['a SQLite file', () => Promise.resolve(`sqlite:${join(folder, 'app.db')}`)],
  ['PostgreSQL', () => server.createDatabase()],
]

describe.each(engines)('the streams of a revoked token, on %s', (_name, address) => {
  it.each(ways)('after %s end in every application of the database', async (_way, callBack) => {
    const database = await address()
    apps = [await start(database), await start(database)]
    const [firstApp, secondApp] = apps as [Application, Application]
    const auth = firstApp.get(Auth)
    const token = await auth.getToken({ sub: 'ada' })
    const otherToken = await auth.getToken({ sub: 'eve' })
    const claims = (await auth.verify(token)) ?? {}
    const staying = await Promise.all([
      ...paths.map((path) => follow(firstApp, path, otherToken)),
      ...paths.slice(0, 3).map((path) => follow(secondApp, path, apiKey)),
      follow(secondApp, paths[4] ?? ''),
    ])
    let ended = 0
    for (const { fullText } of staying) {
      fullText.then(
        () => ended++,
        () => undefined,
      )
    }
    const ending = await Promise.all(
      apps.flatMap((app) => paths.map((path) => follow(app, path, token))),
    )
    await callBack(auth, claims)
    const texts = await Promise.all(ending.map(({ fullText }) => fullText))
    expect(texts).toHaveLength(12)
    for (const text of texts) expect(text).not.toContain('complete')
    expect(ended).toBe(0)
    expect(await firstApp.get(Database).records(Letter).create({ text: 'on' })).toMatchObject({
      id: 1,
    })
    for (const { leave } of staying) leave()
    // The tokens were cached until then. New connections are refused.
    for (const { url } of apps) {
      expect((await fetch(`${url}/events`, bearer(token))).status).toBe(401)
    }
  })

  it('end if the token was revoked before they started', async () => {
    const database = await address()
    apps = [await start(database), await start(database)]
    const [firstApp, secondApp] = apps as [Application, Application]
    const token = await firstApp.get(Auth).getToken({ sub: 'ada' })
    // The second application caches the token for some seconds.
    const claims = (await secondApp.get(Auth).verify(token)) ?? {}
    await firstApp.get(Auth).revoke(claims.jti ?? '')
    expect(await (await follow(secondApp, '/text', token)).fullText).toMatch(/^(begun)?$/)
  })
})

describe('without a database', () => {
  it.each(ways)('after %s the streams of a token end', async (_way, callBack) => {
    apps = [await bootstrap(Bare, { port: 0, host: '127.0.0.1', logger: false, env })]
    const [app] = apps as [Application]
    const auth = app.get(Auth)
    const token = await auth.getToken({ sub: 'ada' })
    const ending = await Promise.all(['/events', '/text'].map((path) => follow(app, path, token)))
    await callBack(auth, (await auth.verify(token)) ?? {})
    for (const { fullText } of ending) expect(await fullText).toContain('begun')
  })

  it('the streams of a token end if it is not renewed', async () => {
    const renew = () => null
    apps = [
      await bootstrap(Bare, {
        port: 0,
        host: '127.0.0.1',
        logger: false,
        env,
        auth: { rotate: 'always', renew },
      }),
    ]
    const [app] = apps as [Application]
    const token = await app.get(Auth).getToken({ sub: 'ada' })
    // The response of the stream needs the next token, and there is none.
    expect(await (await follow(app, '/text', token)).fullText).toMatch(/^(begun)?$/)
    expect((await fetch(`${app.url}/text`, bearer(token))).status).toBe(401)
  })
})

function bearer(token: string): { headers: { authorization: string } } {
  return { headers: { authorization: `Bearer ${token}` } }
}
