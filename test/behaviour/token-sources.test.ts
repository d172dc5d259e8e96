/** Where a request can have its token: `auth: { scheme }` and `auth: { read }`. Interceptors cannot change headers. */
import { describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Get,
  GraphQL,
  Module,
  NoAuth,
  Secured,
  type Application,
  type AuthOptions,
  type Claims,
  type HttpRequest,
  type Interceptor,
  type Next,
} from 'filigree'
import type { OpenAPIObject } from 'openapi3-ts/oas31'
import { compress } from 'filigree/compress'
import { apiKey, env, startProtectedApplication, token } from './gated-application.js'

const graphql = new GraphQL()
graphql.schema.addQuery('me', {
  type: 'String',
  resolve: (_root, _args, context) => (context as { user: Claims | null }).user?.sub ?? null,
})
graphql.registerRoute('/graphql')

@Controller('/me')
class Me {
  @Get('/') @Secured show(user: Claims | null): object {
    return { sub: user?.sub }
  }
  @Get('/headers') @NoAuth headers(headers: Record<string, string>): object {
    return headers
  }
}

@Module({ controllers: [Me], graphql: [graphql] })
class AppModule {}

const refusal = async (auth: unknown): Promise<unknown> =>
  bootstrap(AppModule, { listen: false, logger: false, env, auth: auth as AuthOptions }).then(
    (app) => app.close(),
    (error: unknown) => (error as Error).message,
  )

async function using(auth: AuthOptions, use: (app: Application) => Promise<void>): Promise<void> {
  const app = await bootstrap(AppModule, { listen: false, logger: false, env, auth })
  try {
    await use(app)
  } finally {
    await app.close()
  }
}

const documentOf = async (app: Application) =>
  (await app.inject('/swagger/openapi.json')).json() as OpenAPIObject

const showMe = async (app: Application, headers: Record<string, string>) => {
  const answer = await app.inject({ url: '/me', headers })
  return [answer.status, (answer.json() as { sub?: string }).sub]
}

describe('request.headers', () => {
  it('cannot be changed by an interceptor, which gets a TypeError', async () => {
    const thrown: unknown[] = []
    class Translates implements Interceptor {
      static readonly before = 'gate'
      intercept(request: HttpRequest, next: Next): Promise<unknown> {
        const headers = request.headers as Record<string, string>
        for (const change of [
          () => (headers.authorization = `Bearer ${token()}`),
          () => (headers.accept = 'text/html'),
          () => delete headers.accept,
        ])
          try {
            change()
          } catch (error) {
            thrown.push(error)
          }
        return next()
      }
    }
    const app = await startProtectedApplication({ use: [Translates] })
    try {
      const answer = await app.inject({ url: '/items/private', headers: { accept: '*/*' } })
      expect(answer.status).toBe(401)
      expect(thrown).toEqual([expect.any(TypeError), expect.any(TypeError), expect.any(TypeError)])
    } finally {
      await app.close()
    }
  })

  it('shows handlers the tag of the uncompressed response, also if an interceptor read the headers before', async () => {
    class Reads implements Interceptor {
      static readonly before = 'gate'
      intercept(request: HttpRequest, next: Next): Promise<unknown> {
        expect(request.headers['if-none-match']).toBe('W/"v1+gzip"')
        return next()
      }
    }
    @Module({ imports: [AppModule, compress()] })
    class Compressed {}
    const app = await bootstrap(Compressed, { listen: false, logger: false, env, use: [Reads] })
    try {
      const answer = await app.inject({
        url: '/me/headers',
        headers: { 'if-none-match': 'W/"v1+gzip"' },
      })
      expect(answer.json()).toMatchObject({ 'if-none-match': '"v1"' })
    } finally {
      await app.close()
    }
  })
})

describe('auth.scheme', () => {
  it('is accepted in addition to Bearer, in any case', () =>
    using({ scheme: 'Token' }, async (app) => {
      for (const scheme of ['Token', 'token', 'Bearer'])
        expect(await showMe(app, { authorization: `${scheme} ${token()}` })).toEqual([200, 'ada'])
      expect(await showMe(app, { authorization: `Token ${apiKey}` })).toEqual([200, undefined])
      for (const authorization of [`Basic ${token()}`, 'Token', 'Token x', `Tokens ${token()}`])
        expect(await showMe(app, { authorization })).toEqual([401, undefined])
    }))

  it('is 401 with an invalid token, also on public routes', () =>
    using({ scheme: 'Token' }, async (app) => {
      const json = { query: '{ me }' }
      const send = (authorization: string) =>
        app.inject({ method: 'POST', url: '/graphql', json, headers: { authorization } })
      expect((await send(`Token ${token()}`)).json()).toEqual({ data: { me: 'ada' } })
      expect((await send('Token x')).status).toBe(401)
    }))

  it('is in the document', () =>
    using({ scheme: 'Token' }, async (app) => {
      const { paths, components } = await documentOf(app)
      expect(Object.keys(components?.securitySchemes ?? {})).toEqual(['tokenAuth', 'bearerAuth'])
      expect(components?.securitySchemes?.tokenAuth).toMatchObject({
        type: 'apiKey',
        in: 'header',
        name: 'Authorization',
      })
      const either = [{ tokenAuth: [] }, { bearerAuth: [] }]
      expect(paths?.['/me']?.get?.security).toEqual(either)
      expect(paths?.['/graphql']?.post?.security).toEqual([{}, ...either])
    }))
})

describe('auth.read', () => {
  const read = ({ headers }: HttpRequest) => headers['x-token']

  it('reads the token, and Authorization is used if it returns none', () =>
    using({ read }, async (app) => {
      expect(await showMe(app, { 'x-token': token() })).toEqual([200, 'ada'])
      expect(await showMe(app, { 'x-token': apiKey })).toEqual([200, undefined])
      expect(await showMe(app, { authorization: `Bearer ${token()}` })).toEqual([200, 'ada'])
      expect(await showMe(app, { 'x-token': '', authorization: `Bearer ${token()}` })).toEqual([
        200,
        'ada',
      ])
      expect(await showMe(app, { 'x-token': 'x', authorization: `Bearer ${token()}` })).toEqual([
        401,
        undefined,
      ])
      expect(await showMe(app, {})).toEqual([401, undefined])
    }))

  it('makes responses private and varying', () =>
    using({ read }, async (app) => {
      const url = '/graphql?query={me}'
      const mine = await app.inject({ url, headers: { 'x-token': token() } })
      expect(mine.json()).toEqual({ data: { me: 'ada' } })
      expect(mine.headers['cache-control']).toBe('private, no-store')
      expect(mine.headers.vary).toContain('*')
      expect((await app.inject({ url })).headers.vary).toContain('*')
    }))

  it('allows its header in preflights of other origins', () =>
    using({ read }, async (app) => {
      const { headers } = await app.inject({
        method: 'OPTIONS',
        url: '/me',
        headers: { origin: 'https://shop.example', 'access-control-request-method': 'GET' },
      })
      expect(headers['access-control-allow-headers']?.split(', ')).toContain('x-token')
    }))

  it.each([
    ['header', read, 'x-token'],
    ['query', ({ query }: HttpRequest) => query.token as string | undefined, 'token'],
  ])('is in the document, in the %s', (place, reads, name) =>
    using({ read: reads }, async (app) => {
      const { paths, components } = await documentOf(app)
      expect(components?.securitySchemes?.tokenAuth).toMatchObject({
        type: 'apiKey',
        in: place,
        name,
      })
      expect(paths?.['/me']?.get?.security).toEqual([{ tokenAuth: [] }, { bearerAuth: [] }])
    }),
  )
})

describe('the start', () => {
  it.each([
    [{ scheme: 'my token' }, 'scheme is "my token"'],
    [{ scheme: 5 }, 'scheme is 5'],
    [{ read: 'x-token' }, 'read cannot be used'],
    [{ read: () => undefined, scheme: 'Token' }, 'scheme and read cannot be combined'],
    [{ read: ({ headers }: HttpRequest) => headers.cookie }, 'read reads a cookie'],
    [{ read: ({ cookies }: HttpRequest) => cookies.token }, 'read reads a cookie'],
    [{ read: ({ incoming }: HttpRequest) => incoming.headers.cookie }, 'read reads a cookie'],
    [
      { read: ({ headers }: HttpRequest) => headers['x-token']?.toUpperCase().trim() ?? 7 },
      'read fails for a request without a token: it returns no text',
    ],
    [{ read: () => Promise.resolve('') }, 'it returns a promise'],
    [
      { read: ({ headers }: { headers: { token: string } }) => headers.token.slice(1) },
      'read fails for a request without a token: Cannot read',
    ],
  ])('refuses %o', async (auth, message) => {
    expect(await refusal(auth)).toContain(message)
  })
})
