/** A handler can throw any value: the response is a masked 500, and the process goes on. Source: decisions, Responses. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Database,
  Field,
  Get,
  Live,
  Module,
  Record,
  type Application,
} from 'filigree'
import { startBothEngines } from '../records/both-engines.js'

@Record
class Note {
  @Field('id') id!: number
  @Field('string') text!: string
}

const no = (): never => {
  throw new Error('no')
}

const thrown: Readonly<{ [kind: string]: () => unknown }> = {
  null: () => null,
  symbol: () => Symbol('a'),
  'an error that is its own cause': () => {
    const error = new Error('a')
    return Object.assign(error, { cause: error })
  },
  'an error with a circular cause': () => {
    const error = new Error('a')
    return Object.assign(error, { cause: new Error('b', { cause: error }) })
  },
  'an error whose message throws': () =>
    Object.defineProperties(new Error('a'), { message: { get: no }, stack: { get: no } }),
  'a revoked proxy': () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    return proxy
  },
}

@Controller('/throws')
class ThrowController {
  static readonly inject = [Database]
  constructor(private readonly database: Database) {}

  @Get('/plain/<kind>')
  plain(kind: string) {
    throw thrown[kind]?.() as Error
  }

  @Get('/transaction/<kind>', { transaction: true })
  async write(kind: string) {
    await this.database.records(Note).create({ text: kind })
    throw thrown[kind]?.() as Error
  }

  @Get('/live/<kind>')
  @Live
  live(kind: string) {
    throw thrown[kind]?.() as Error
  }
}

@Module({ controllers: [ThrowController], records: [Note] })
class App {}

describe.each(await startBothEngines())('%s: a handler that throws', (_engine, open) => {
  let app: Application
  beforeAll(async () => {
    app = await bootstrap(App, { listen: false, logger: false, database: await open() })
  })
  afterAll(() => app.close())

  it.each(Object.keys(thrown))('%s is a masked 500, and nothing is stored', async (kind) => {
    for (const route of ['plain', 'transaction', 'live']) {
      const answer = await app.inject({
        method: 'GET',
        url: `/throws/${route}/${encodeURIComponent(kind)}`,
        headers: { accept: route === 'live' ? 'text/event-stream' : '*/*' },
      })
      expect([route, answer.status]).toEqual([route, 500])
      expect(answer.body).toContain('Internal server error')
    }
    expect(await app.get(Database).records(Note).count({})).toBe(0)
  })
})
