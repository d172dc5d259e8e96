/** Source: specification, Request object; decisions, Sessions. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Get,
  HttpError,
  Module,
  NoAuth,
  Post,
  type Application,
  type InjectResponse,
  type Session,
} from 'filigree'

@Controller('/')
class VisitController {
  @Get('/who') visitor(session: Session): object {
    return { user: session.user ?? null, views: session.views ?? 0 }
  }
  @Get('/plain') plain(): object {
    return { ok: true }
  }
  @Get('/count') async count(session: Session): Promise<object> {
    await Promise.resolve()
    session.views = ((session.views as number | undefined) ?? 0) + 1
    return { views: session.views }
  }
  @Post('/login') @NoAuth login(body: unknown, session: Session): object {
    session.user = (body as { name: string }).name
    session.regenerate()
    return { ok: true }
  }
  @Post('/logout') @NoAuth logout(session: Session): object {
    session.destroy()
    return { ok: true }
  }
  @Get('/fail') fail(session: Session): never {
    session.views = 100
    throw new HttpError(409, 'Busy')
  }
  @Post('/save') save(): object {
    return { ok: true }
  }
}

@Module({ controllers: [VisitController] })
class AppModule {}

const env = { APP_API_KEY: 'operator-0123456789abcdef' }
let app: Application

beforeAll(async () => {
  app = await bootstrap(AppModule, { listen: false, logger: false, env })
})

afterAll(async () => {
  await app.close()
})

const get = (url: string, cookie?: string): Promise<InjectResponse> =>
  app.inject({ url, headers: cookie === undefined ? {} : { cookie } })

const cookieOf = (answer: InjectResponse): string =>
  answer.headers['set-cookie']?.split(';')[0] ?? ''

describe('Sessions', () => {
  it('session: an unchanged session sets no cookie', async () => {
    expect((await get('/plain')).headers['set-cookie']).toBeUndefined()
    const answer = await get('/who')
    expect(answer.headers['set-cookie']).toBeUndefined()
    expect(answer.json()).toEqual({ user: null, views: 0 })
  })

  it('session: `user` can be read after a login', async () => {
    const login = await app.inject({ url: '/login', json: { name: 'ada' } })
    expect(login.headers['set-cookie']).toMatch(
      /^app_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/,
    )
    const visitor = await get('/who', cookieOf(login))
    expect(visitor.json()).toEqual({ user: 'ada', views: 0 })
    expect(visitor.headers['set-cookie']).toBeUndefined()
  })

  it('session: a login moves the existing data to a new id', async () => {
    const before = cookieOf(await get('/count'))
    const login = await app.inject({
      url: '/login',
      json: { name: 'ada' },
      headers: { cookie: before },
    })
    expect(cookieOf(login)).not.toBe(before)
    expect((await get('/who', cookieOf(login))).json()).toEqual({ user: 'ada', views: 1 })
    expect((await get('/who', before)).json()).toEqual({ user: null, views: 0 })
  })

  it('session: a logout removes the session', async () => {
    const cookie = cookieOf(await get('/count'))
    const logout = await app.inject({ method: 'POST', url: '/logout', headers: { cookie } })
    expect(logout.headers['set-cookie']).toMatch(/^app_session=; Max-Age=0; /)
    expect((await get('/who', cookie)).json()).toEqual({ user: null, views: 0 })
  })

  it('session: changes of a handler that fails are stored', async () => {
    const cookie = cookieOf(await get('/count'))
    expect((await get('/fail', cookie)).status).toBe(409)
    expect((await get('/who', cookie)).json()).toMatchObject({ views: 100 })
  })

  it.each([
    'A'.repeat(43),
    'A'.repeat(7000),
    '../../etc/passwd',
    '..%2f..%2fetc%2fpasswd',
    '%00',
    '%ZZ',
    '"; DROP TABLE sessions',
    '',
  ])('session: the invalid id %j gets a new empty session', async (id) => {
    const cookie = `app_session=${id}`
    expect((await get('/who', cookie)).json()).toEqual({ user: null, views: 0 })
    const counted = await get('/count', cookie)
    expect(counted.json()).toEqual({ views: 1 })
    expect(cookieOf(counted)).toMatch(/^app_session=[\w-]{43}$/)
    expect(cookieOf(counted)).not.toBe(cookie)
  })

  it('session: it is not a credential for secured routes', async () => {
    const cookie = cookieOf(await app.inject({ url: '/login', json: { name: 'ada' } }))
    const answer = await app.inject({ method: 'POST', url: '/save', headers: { cookie } })
    expect(answer.status).toBe(401)
  })

  it('session: a failing store is 503 with Retry-After, and logged', async () => {
    const errors: string[] = []
    const fail = (): never => {
      throw new Error('the disk is gone')
    }
    const quiet = () => undefined
    const failing = await bootstrap(AppModule, {
      listen: false,
      env,
      sessions: { store: { read: fail, write: fail, remove: fail } },
      logger: {
        error: (details, message) => {
          const { cause } = (details as { err: Error }).err
          errors.push(`${message}: ${(cause as Error).message}`)
        },
        warn: quiet,
        info: quiet,
        debug: quiet,
      },
    })
    const validCookie = { cookie: `app_session=${'A'.repeat(43)}` }
    for (const headers of [validCookie, {}]) {
      const answer = await failing.inject({ url: '/count', headers })
      expect(answer.status).toBe(503)
      expect(answer.json()).toEqual({
        error: 'Sessions are not available at the moment.',
        code: 'SESSIONS_UNAVAILABLE',
      })
      expect(answer.headers['retry-after']).toBe('1')
      expect(answer.headers['set-cookie']).toBeUndefined()
    }
    expect(errors).toEqual(Array(2).fill('request failed: the disk is gone'))
    expect((await failing.inject({ url: '/plain', headers: validCookie })).status).toBe(200)
    await failing.close()
  })
})
