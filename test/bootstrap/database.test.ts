import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import {
  Auth,
  bootstrap,
  connect,
  Controller,
  Database,
  Field,
  Get,
  HttpError,
  Module,
  NoAuth,
  Post,
  Record,
  type Application,
  type BootstrapOptions,
  type Session,
} from '../../src/index.js'
import { makePair } from '../auth/key-pair.js'

@Record
class Lamp {
  @Field('id') id!: number
  @Field('string', { maxLength: 20 }) name!: string
  @Field('numeric', { min: 0 }) price!: number
}

@Controller('/lamps', { crud: Lamp, only: ['list', 'find', 'create', 'delete'] })
class LampController {
  static inject = [Database]
  readonly #database: Database
  constructor(database: Database) {
    this.#database = database
  }

  @Get('/count')
  async count() {
    return { count: await this.#database.records(Lamp).count() }
  }

  @Post('/pair', { transaction: true })
  @NoAuth
  async pair(body: { fail?: boolean }) {
    await this.#database.records(Lamp).create({ name: 'Left', price: 1 })
    if (body.fail === true) throw new HttpError(409, 'One is missing.')
    return this.#database.records(Lamp).create({ name: 'Right', price: 2 })
  }

  @Post('/slow', { transaction: true, timeout: 20 })
  @NoAuth
  async slow() {
    await this.#database.records(Lamp).create({ name: 'Late', price: 1 })
    await new Promise<void>((resolve) => {
      release = resolve
    })
  }

  @Get('/visits')
  visits(session: Session) {
    session.visits = Number(session.visits ?? 0) + 1
    return { visits: session.visits }
  }
}

let release: () => void = () => undefined

@Module({ controllers: [LampController], records: [Lamp] })
class LampModule {}

let folder: string
let url: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'filigree-test-'))
  url = `sqlite:${join(folder, 'app.db')}`
})
afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

function start(options: BootstrapOptions = {}): Promise<Application> {
  return bootstrap(LampModule, {
    listen: false,
    logger: false,
    database: url,
    env: { APP_API_KEY: 'a-key-that-is-long-enough' },
    ...options,
  })
}

const token = 'a-key-that-is-long-enough'

describe('an application with records', () => {
  it('creates the tables, serves the record and keeps it over a restart', async () => {
    {
      await using app = await start()
      const json = { name: 'Desk', price: 12.5 }
      expect((await app.inject({ url: '/lamps', json })).status).toBe(401)
      const created = await app.inject({ url: '/lamps', json, token })
      expect([created.status, created.json()]).toEqual([201, { id: 1, ...json }])
      const wrong = await app.inject({ url: '/lamps', json: { name: 'x'.repeat(21) }, token })
      expect(wrong.status).toBe(400)
      expect(wrong.json()).toMatchObject({ errors: [{ path: 'name' }, { path: 'price' }] })
    }
    await using app = await start()
    const list = await app.inject('/lamps')
    expect([list.json(), list.headers['x-total-count']]).toEqual([
      [{ id: 1, name: 'Desk', price: 12.5 }],
      '1',
    ])
    expect((await app.inject('/lamps/2')).status).toBe(404)
    expect((await app.inject({ method: 'PATCH', url: '/lamps/1', json: {}, token })).status).toBe(
      405,
    )
  })

  it('rolls back what a handler did in a transaction before it threw', async () => {
    await using app = await start()
    expect((await app.inject({ url: '/lamps/pair', json: { fail: true } })).status).toBe(409)
    expect((await app.inject('/lamps/count')).json()).toEqual({ count: 0 })
    expect((await app.inject({ url: '/lamps/pair', json: {} })).status).toBe(200)
    expect((await app.inject('/lamps/count')).json()).toEqual({ count: 2 })
  })

  it('rolls back what came after the client received the timeout', async () => {
    await using app = await start()
    expect((await app.inject({ method: 'POST', url: '/lamps/slow' })).status).toBe(503)
    release()
    expect((await app.inject({ url: '/lamps/pair', json: {} })).status).toBe(200)
    expect((await app.inject('/lamps/count')).json()).toEqual({ count: 2 })
  })

  it('stores sessions and revocations in the database, over a restart', async () => {
    const { privatePem, publicPem } = makePair()
    const auth = { keys: { private: privatePem, public: publicPem } }
    let cookie = ''
    let revoked = ''
    {
      await using app = await start({ auth })
      cookie = (await app.inject('/lamps/visits')).headers['set-cookie']?.split(';')[0] ?? ''
      revoked = await app.get(Auth).getToken({ sub: '7', jti: 'one' })
      await app.get(Auth).revoke('one')
    }
    await using app = await start({ auth })
    const second = await app.inject({ url: '/lamps/visits', headers: { cookie } })
    expect(second.json()).toEqual({ visits: 2 })
    expect(await app.get(Auth).verify(revoked)).toBeNull()
  })

  it('starts in any time while the process holds a database', async () => {
    // Checks the database every 5 ms instead of every 5 s.
    const begin = globalThis.setInterval
    const spy = jest
      .spyOn(globalThis, 'setInterval')
      .mockImplementation((run, ms) => begin(run, ms === 5000 ? 5 : ms))
    class Loader {
      static inject = [Database]
      constructor(private readonly database: Database) {}
      onStart(): Promise<void> {
        return this.database.transaction(async (tx) => {
          await tx.records(Lamp).create({ name: 'Desk', price: 7 })
          // A check of the database in this time would get no response, and end the start.
          await pause(200)
        })
      }
    }
    @Module({ imports: [LampModule], providers: [Loader] })
    class LoadingModule {}
    try {
      const settings = { listen: false, logger: false, env: {} } as const
      const one = await bootstrap(LoadingModule, { ...settings, database: 'sqlite::memory:' })
      expect(await one.get(Database).records(Lamp).count()).toBe(1)
      await one.close()
    } finally {
      spy.mockRestore()
    }
  })

  it('refuses to start in production on a different schema, and lists the differences', async () => {
    const production = {
      env: { NODE_ENV: 'production', APP_API_KEY: token },
      auth: { keys: false as const },
    }
    await expect(start(production)).rejects.toMatchObject({
      problems: [{ code: 'SCHEMA_DIFFERS', message: expect.stringContaining('lamp') }],
    })
    await (await start()).close()
    await using app = await start(production)
    expect((await app.inject('/lamps/count')).json()).toEqual({ count: 0 })
  })

  it('accepts an open database, and leaves it open', async () => {
    await using database = await connect(url)
    const app = await start({ database })
    expect(app.get(Database)).toBe(database)
    await app.close()
    expect(await database.records(Lamp).count()).toBe(0)
  })

  it('reads DATABASE_URL', async () => {
    await using app = await start({ database: undefined, env: { DATABASE_URL: url } })
    expect((await app.inject('/lamps/count')).json()).toEqual({ count: 0 })
    expect(existsSync(join(folder, 'app.db'))).toBe(true)
  })
})

describe('an application without records', () => {
  it('opens no database', async () => {
    @Module({})
    class EmptyModule {}
    await using app = await bootstrap(EmptyModule, { listen: false, logger: false, env: {} })
    expect(() => app.get(Database)).toThrow(
      'No module provides Database. Add records to the module, or inject it in a constructor.',
    )
  })
})
