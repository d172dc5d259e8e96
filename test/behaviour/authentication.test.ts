/** Source: specification, Authentication; decisions, Access to routes. Titles begin with the statement that they check. */
import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  Auth,
  bootstrap,
  Controller,
  Module,
  NoAuth,
  Post,
  Secured,
  type Application,
  type InjectRequest,
  type InjectResponse,
} from 'filigree'
import { verifyToken } from '../auth/sign-token.js'
import { exchange, statusOf } from '../bootstrap/raw-client.js'
import { expectUnauthorized } from './error-responses.js'
import {
  apiKey,
  env,
  now,
  publicPem,
  ran,
  startProtectedApplication,
  token,
} from './gated-application.js'

let app: Application

beforeAll(async () => {
  app = await startProtectedApplication()
})
afterAll(() => app.close())

const get = (url: string, bearer?: string, by = app): Promise<InjectResponse> =>
  by.inject({ url, ...(bearer === undefined ? {} : { token: bearer }) })

describe('Authentication', () => {
  it('Authentication 1: GET and HEAD are public by default', async () => {
    expect((await get('/items')).status).toBe(200)
    expect((await app.inject({ method: 'HEAD', url: '/items' })).status).toBe(200)
  })

  const writes: InjectRequest[] = [
    { method: 'POST', url: '/items', json: {} },
    { method: 'PUT', url: '/items/7', json: {} },
    { method: 'PATCH', url: '/items/7', json: {} },
    { method: 'DELETE', url: '/items/7' },
  ]

  it.each(writes)('Authentication 2: $method needs a token by default', async (request) => {
    expectUnauthorized(await app.inject(request))
    expectUnauthorized(await app.inject({ ...request, token: 'wrong' }))
    expect((await app.inject({ ...request, token: apiKey })).status).toBe(200)
    expect((await app.inject({ ...request, token: token() })).status).toBe(200)
  })

  it('Authentication 2: the handler of a refused write does not run', async () => {
    ran.length = 0
    expectUnauthorized(await app.inject({ url: '/items', json: { name: 'Lamp' } }))
    expect(ran).toEqual([])
  })

  it('Authentication 2: 401 does not wait for the body', async () => {
    const listening = await startProtectedApplication({ listen: true, port: 0, host: '127.0.0.1' })
    try {
      const answer = await exchange(
        listening.url,
        'POST /items HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 900000\r\n\r\n{',
        (text) => text.includes('}'),
      )
      expect(statusOf(answer)).toBe(401)
      expect(answer).toContain('{"error":"Unauthorized","code":"UNAUTHENTICATED"}')
    } finally {
      await listening.close()
    }
  })

  it('Authentication 3: the static key and an RS256 token are accepted', async () => {
    expect((await get('/items/private', apiKey)).json()).toEqual({ sub: null, by: 'key' })
    expect((await get('/items/private', token())).json()).toEqual({ sub: 'ada', by: 'token' })
  })

  it.each([
    { key: undefined, sent: [''] },
    { key: '', sent: ['', ' '] },
    { key: '   ', sent: ['', '   '] },
  ])('Authentication 3: a static key $key accepts no request', async ({ key, sent }) => {
    const keyless = await startProtectedApplication({ env: { ...env, APP_API_KEY: key } })
    for (const bearer of sent) expectUnauthorized(await get('/items/private', bearer, keyless))
    expectUnauthorized(await get('/items/private', undefined, keyless))
    await keyless.close()
  })

  const forged = (): Record<string, string> => {
    const [header, payload, signature] = token().split('.') as [string, string, string]
    const hs = `${Buffer.from('{"alg":"HS256"}').toString('base64url')}.${payload}`
    const none = Buffer.from('{"alg":"none"}').toString('base64url')
    return {
      none: `Bearer ${none}.${payload}.`,
      hs256: `Bearer ${hs}.${createHmac('sha256', publicPem).update(hs).digest('base64url')}`,
      expired: `Bearer ${token({ exp: now() - 60 })}`,
      early: `Bearer ${token({ nbf: now() + 60 })}`,
      future: `Bearer ${token({ iat: now() + 60 })}`,
      altered: `Bearer ${header}.${payload}.${signature.slice(0, -8)}AAAAAAAA`,
      parts: `Bearer ${header}.${payload}`,
      basic: `Basic ${Buffer.from(`x:${apiKey}`).toString('base64')}`,
      prefix: `Bearer ${apiKey.slice(0, -1)}`,
      huge: `Bearer ${header}.${'A'.repeat(9000)}.${signature}`,
      empty: '',
    }
  }

  it.each(Object.keys(forged()))(
    'Authentication 3: a token that is %s gets the same 401',
    async (name) => {
      const authorization = forged()[name] ?? ''
      expectUnauthorized(await app.inject({ url: '/items/private', headers: { authorization } }))
    },
  )

  it('Authentication 3: two Authorization headers are 400', async () => {
    const listening = await startProtectedApplication({ listen: true, port: 0, host: '127.0.0.1' })
    try {
      const header = `Authorization: Bearer ${apiKey}\r\n`
      const answer = await exchange(
        listening.url,
        `GET /items/private HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${header}${header}\r\n`,
      )
      expect(statusOf(answer)).toBe(400)
    } finally {
      await listening.close()
    }
  })

  it('Authentication 4: getToken makes a token that the application and other verifiers accept', async () => {
    const createdToken = await app.get(Auth).getToken({ sub: 'ada' })
    expect((await get('/items/private', createdToken)).json()).toEqual({ sub: 'ada', by: 'token' })
    expect(verifyToken(createdToken, publicPem)).toMatchObject({
      sub: 'ada',
    })
  })

  it('Authentication 5: @Secured makes a GET route need a token', async () => {
    expectUnauthorized(await get('/items/private'))
    expectUnauthorized(await app.inject({ method: 'HEAD', url: '/items/private' }).then(withBody))
    expect((await get('/items/private', apiKey)).status).toBe(200)
  })

  it('Authentication 5: @NoAuth makes a write route public', async () => {
    const answer = await app.inject({ url: '/items/webhook', json: { paid: true } })
    expect(answer.json()).toEqual({ body: { paid: true }, user: null })
  })

  it('Optional sign-in: a public route whose handler takes `user` checks a token that is sent', async () => {
    const hook = (bearer?: string) => app.inject({ url: '/items/webhook', json: {}, token: bearer })
    expect((await hook()).json()).toEqual({ body: {}, user: null })
    expect((await hook(token())).json()).toMatchObject({ body: {}, user: { sub: 'ada' } })
    expectUnauthorized(await hook('bad'))
    expectUnauthorized(await hook(token({ exp: 1 })))
  })

  it('Optional sign-in: a public route whose handler does not take `user` ignores tokens', async () => {
    expect((await get('/items', 'bad')).status).toBe(200)
  })

  it('Authentication 5: the nearest decorator replaces the others completely', async () => {
    const plain = token()
    expectUnauthorized(await get('/closed'))
    expect((await get('/closed', plain)).status).toBe(403)
    expect((await get('/closed', token({ roles: ['admin'] }))).status).toBe(200)
    expect((await get('/closed/anybody', plain)).status).toBe(200)
    expectUnauthorized(await get('/closed/anybody'))
    expect((await get('/closed/open')).status).toBe(200)
  })

  it('Authentication 5: both decorators on one handler stop bootstrap', async () => {
    @Controller('/torn')
    class TornController {
      @Post('/') @Secured @NoAuth save(): object {
        return {}
      }
    }
    @Module({ controllers: [TornController] })
    class TornModule {}
    await expect(
      bootstrap(TornModule, { listen: false, logger: false, env }),
    ).rejects.toMatchObject({
      problems: [
        {
          code: 'ACCESS_CONTRADICTION',
          message: 'TornController.save is both @Secured and @NoAuth.',
        },
      ],
    })
  })

  it.each([
    { answer: 200, url: '/items', bearer: undefined },
    { answer: 401, url: '/items/private', bearer: undefined },
    { answer: 403, url: '/items/admin', bearer: token() },
    { answer: 404, url: '/nowhere', bearer: undefined },
  ])('Authentication 8: $answer carries the CORS headers', async ({ answer, url, bearer }) => {
    const { status, headers } = await get(url, bearer)
    expect(status).toBe(answer)
    expect(headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE, OPTIONS',
      'access-control-allow-headers':
        'Origin, X-Requested-With, Content-Type, Accept, Authorization',
      'access-control-expose-headers': 'FreshToken',
    })
  })

  it.each([
    { url: '/items/admin', roles: ['admin'], status: 200 },
    { url: '/items/admin', roles: ['editor'], status: 403 },
    { url: '/items/admin', roles: undefined, status: 403 },
    { url: '/items/both', roles: ['admin'], status: 403 },
    { url: '/items/both', roles: ['audit', 'admin'], status: 200 },
    { url: '/items/of/ada', roles: undefined, status: 200 },
    { url: '/items/of/bob', roles: ['admin'], status: 403 },
  ])('roles: $url with $roles is $status', async ({ url, roles, status }) => {
    const answer = await get(url, token({ roles }))
    expect(answer.status).toBe(status)
    if (status === 403) expect(answer.body).toBe('{"error":"Forbidden","code":"FORBIDDEN"}')
  })

  it('roles: the static key passes every role, and a guard decides for itself', async () => {
    expect((await get('/items/both', apiKey)).status).toBe(200)
    expect((await get('/items/of/ada', apiKey)).status).toBe(403)
  })
})

/** Adds the body that HEAD lacks, so that its status and headers can be compared. */
function withBody(answer: InjectResponse): InjectResponse {
  expect(answer.body).toBe('')
  return { ...answer, body: '{"error":"Unauthorized","code":"UNAUTHENTICATED"}' }
}
