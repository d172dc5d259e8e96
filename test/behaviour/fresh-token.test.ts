/** Source: specification, Authentication 7; decisions, Tokens. Titles begin with the statement that they check. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Get,
  Module,
  Routes,
  Secured,
  type Application,
  type HttpRequest,
  type InjectResponse,
} from 'filigree'
import { verifyToken } from '../auth/sign-token.js'
import { expectUnauthorized } from './error-responses.js'
import {
  apiKey,
  env,
  now,
  publicPem,
  startProtectedApplication,
  token,
} from './gated-application.js'

let app: Application
let always: Application

beforeAll(async () => {
  app = await startProtectedApplication()
  always = await startProtectedApplication({ auth: { rotate: 'always' } })
})
afterAll(async () => {
  await app.close()
  await always.close()
})

const get = (url: string, bearer?: string, by = app): Promise<InjectResponse> =>
  by.inject({ url, ...(bearer === undefined ? {} : { token: bearer }) })

describe('FreshToken', () => {
  it('Authentication 7: login → FreshToken → write → rotation', async () => {
    const login = await always.inject({ url: '/login', json: { password: 'lovelace' } })
    expect(login.json()).toEqual({ ok: true })
    const first = login.headers.freshtoken ?? ''
    const write = await always.inject({ url: '/items', json: { n: 1 }, token: first })
    expect(write.status).toBe(200)
    const second = write.headers.freshtoken ?? ''
    expect((await get('/items/admin', second, always)).status).toBe(200)
    expect(login.headers['access-control-expose-headers']).toContain('FreshToken')
  })

  it('Authentication 7: a failed login gets its own message and no token', async () => {
    const answer = await app.inject({ url: '/login', json: { password: 'byron' } })
    expect(answer.status).toBe(401)
    expect(answer.json()).toEqual({ error: 'Wrong name or password', code: 'UNAUTHENTICATED' })
    expect(answer.headers.freshtoken).toBeUndefined()
  })

  it('rotation: starts in the second half of the token lifetime, with all claims', async () => {
    const young = token({ iat: now() - 100, exp: now() + 500 })
    expect((await get('/items/private', young)).headers.freshtoken).toBeUndefined()
    const old = token({ iat: now() - 400, exp: now() + 200, roles: ['admin'], shop: 3 })
    const { freshtoken: fresh = '' } = (await get('/items/private', old)).headers
    const claims = verifyToken(fresh, publicPem) as { exp?: number; iat?: number }
    expect(claims).toMatchObject({ sub: 'ada', roles: ['admin'], shop: 3 })
    expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(600)
  })

  it('rotation: ends 12 h after the first sign-in', async () => {
    const old = token({ iat: now() - 12 * 3600 - 1, exp: now() + 60 })
    expect((await get('/items/private', old)).headers.freshtoken).toBeUndefined()
  })

  it('rotation: error responses of secured routes have the next token too', async () => {
    const missing = await get('/items/broken', token(), always)
    expect([missing.status, missing.headers.freshtoken]).toEqual([404, expect.any(String)])
    const forbidden = await get('/items/admin', token(), always)
    expect([forbidden.status, forbidden.headers.freshtoken]).toEqual([403, expect.any(String)])
  })

  it('rotation: the static key, anonymous requests and public routes get no token', async () => {
    expect((await get('/items/private', apiKey, always)).headers.freshtoken).toBeUndefined()
    expect((await get('/items/private', undefined, always)).headers.freshtoken).toBeUndefined()
    expect((await get('/items', token(), always)).headers.freshtoken).toBeUndefined()
  })

  it('rotation: calls of other routes within a request get no token, because no client would receive it', async () => {
    @Controller('/outer')
    class OuterController {
      static inject = [Routes]
      constructor(private readonly routes: Routes) {}
      @Get('/inner') @Secured inner(): object {
        return { ok: true }
      }
      @Get('/') @Secured async outer(request: HttpRequest): Promise<object> {
        const inner = this.routes.all.find(({ path }) => path === '/outer/inner')
        if (inner === undefined) throw new Error('no such route')
        const response = await this.routes.call(request, inner)
        return { status: response.status, fresh: response.header('freshtoken') ?? null }
      }
    }
    @Module({ controllers: [OuterController] })
    class OuterModule {}
    const auth = { rotate: 'always' } as const
    const outer = await bootstrap(OuterModule, { listen: false, logger: false, env, auth })
    try {
      const response = await get('/outer', token(), outer)
      expect(response.json()).toEqual({ status: 200, fresh: null })
      expect(response.headers.freshtoken).toEqual(expect.any(String))
    } finally {
      await outer.close()
    }
  })

  it('revocation: a token is refused after the logout, and gets no next token', async () => {
    const login = await always.inject({ url: '/login', json: { password: 'lovelace' } })
    const { freshtoken: mine = '' } = login.headers
    const { freshtoken: rotated = '' } = (await get('/items/private', mine, always)).headers
    const logout = await always.inject({ method: 'POST', url: '/logout', token: rotated })
    expect([logout.status, logout.headers.freshtoken]).toEqual([200, undefined])
    expectUnauthorized(await get('/items/private', mine, always))
    expectUnauthorized(await get('/items/private', rotated, always))
  })
})
