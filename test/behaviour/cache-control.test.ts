/** Cache-Control and Vary of responses for one caller and for all callers. Source: decisions, Responses; RFC 9111. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  Controller,
  bootstrap,
  Get,
  GraphQL,
  HttpError,
  Module,
  NoAuth,
  Post,
  reply,
  Secured,
  type Application,
  type HttpRequest,
  type InjectResponse,
  type Session,
} from 'filigree'
import { apiKey, env, now, token } from './gated-application.js'

const graphql = new GraphQL()
graphql.schema.addQuery('hello', { type: 'String', resolve: () => 'hello' })
graphql.schema.addQuery('visits', {
  type: 'Int',
  resolve: (_root, _args, context) => {
    const { session } = (context as { request: HttpRequest }).request
    return (session.visits = Number(session.visits ?? 0) + 1)
  },
})
graphql.registerRoute('/graphql')

@Controller('/')
class Answers {
  @Get('/open') open(): object {
    return { ok: true }
  }
  @Get('/public') public(): unknown {
    return reply({ ok: true }).header('Cache-Control', 'public, max-age=60')
  }
  @Get('/secured') @Secured secured(): object {
    return { ok: true }
  }
  @Get('/secured/text') @Secured text(): string {
    return 'text'
  }
  @Get('/secured/none') @Secured none(): undefined {
    return undefined
  }
  @Get('/secured/missing') @Secured missing(): never {
    throw new HttpError(404)
  }
  @Get('/secured/admin') @Secured('nobody') admin(): object {
    return {}
  }
  @Get('/secured/rule') @Secured rule(request: HttpRequest): unknown {
    return reply({}).header('cache-control', String(request.headers['x-rule']))
  }
  @Post('/login') @NoAuth login(): unknown {
    return reply({}).freshToken('a.b.c').header('Cache-Control', 'public, max-age=60')
  }
  @Get('/cdn') cdn(session: Session, query: unknown): unknown {
    if ((query as { visit?: string }).visit !== undefined) session.user = 'ada'
    return reply({ ok: true })
      .header('CDN-Cache-Control', 'public, max-age=60')
      .header('Cloudflare-CDN-Cache-Control', 'max-age=60')
      .header('Surrogate-Control', 'max-age=60')
  }
  @Post('/theme') @NoAuth theme(): unknown {
    return reply({}).cookie('theme', 'dark')
  }
  @Post('/visit') @NoAuth visit(session: Session): object {
    session.user = 'ada'
    return {}
  }
  @Get('/visitor') visitor(session: Session): unknown {
    return reply({ user: session.user ?? null }).header('Cache-Control', 'public, max-age=60')
  }
  @Get('/request') request(request: HttpRequest): unknown {
    return reply({ path: request.path }).header('Cache-Control', 'public, max-age=60')
  }
}

@Module({ controllers: [Answers], graphql: [graphql] })
class AppModule {}

let app: Application

beforeAll(async () => {
  app = await bootstrap(AppModule, { listen: false, logger: false, env })
})
afterAll(() => app.close())

const rulesOf = ({ headers }: InjectResponse) => ({
  rule: headers['cache-control'],
  vary: headers.vary,
})
const ofOne = { rule: 'private, no-store', vary: 'Authorization' }

describe('a response to a token', () => {
  it.each(['/secured', '/secured/text', '/secured/none'])(
    'is private, no-store from %s',
    async (url) => {
      expect(rulesOf(await app.inject({ url, token: token() }))).toEqual(ofOne)
    },
  )

  it.each(['/secured/missing', '/secured/admin'])(
    'is private, no-store if it is an error, from %s',
    async (url) => {
      const rules = rulesOf(await app.inject({ url, token: token() }))
      expect(rules).toEqual({ ...ofOne, vary: 'Authorization, Accept' })
    },
  )

  it('is private for the static key too', async () => {
    expect(rulesOf(await app.inject({ url: '/secured', token: apiKey }))).toEqual(ofOne)
  })

  it('has its Vary header if it is a 401', async () => {
    expect(rulesOf(await app.inject('/secured')).vary).toBe('Authorization, Accept')
  })

  it.each([
    { handlerRule: 'private, max-age=60', sent: 'private, max-age=60' },
    { handlerRule: 'max-age=5, PRIVATE', sent: 'max-age=5, PRIVATE' },
    { handlerRule: 'public, max-age=60', sent: 'private, no-store' },
    { handlerRule: 'max-age=60', sent: 'private, no-store' },
    { handlerRule: 'no-cache', sent: 'private, no-store' },
    { handlerRule: 'private, public', sent: 'private, no-store' },
    { handlerRule: 'private, s-maxage=60', sent: 'private, no-store' },
    { handlerRule: 'private="set-cookie", max-age=60', sent: 'private, no-store' },
  ])('is $sent if the handler sets $handlerRule', async ({ handlerRule, sent }) => {
    const headers = { 'x-rule': handlerRule }
    for (const fresh of [undefined, { iat: now() - 590, exp: now() + 10 }]) {
      const answer = await app.inject({ url: '/secured/rule', headers, token: token(fresh) })
      expect(rulesOf(answer).rule).toBe(sent)
      expect(answer.headers.freshtoken === undefined).toBe(fresh === undefined)
    }
  })
})

describe('a public response', () => {
  it('has the Cache-Control of its handler', async () => {
    expect(rulesOf(await app.inject('/open'))).toEqual({ rule: undefined, vary: undefined })
    const shared = { rule: 'public, max-age=60', vary: undefined }
    expect(rulesOf(await app.inject('/public'))).toEqual(shared)
    expect(rulesOf(await app.inject({ url: '/public', token: token() }))).toEqual(shared)
  })
})

describe('a response with a token or a cookie', () => {
  it.each(['/login', '/theme', '/visit'])('is private, no-store from %s', async (url) => {
    expect(rulesOf(await app.inject({ method: 'POST', url })).rule).toBe('private, no-store')
  })
})

describe('headers that CDNs prefer to Cache-Control', () => {
  const names = ['cdn-cache-control', 'cloudflare-cdn-cache-control', 'surrogate-control']

  it('are removed from a response for one caller, and from no other response', async () => {
    const open = await app.inject('/cdn')
    expect(names.map((name) => open.headers[name] === undefined)).toEqual([false, false, false])
    const personal = await app.inject('/cdn?visit=1')
    expect(personal.headers['set-cookie']).toMatch(/^app_session=/)
    expect(rulesOf(personal).rule).toBe('private, no-store')
    expect(names.map((name) => personal.headers[name])).toEqual([undefined, undefined, undefined])
  })
})

describe('a response that read the session', () => {
  it('is private with a session, and varies by cookie without one', async () => {
    const { headers } = await app.inject({ method: 'POST', url: '/visit' })
    const cookie = headers['set-cookie']?.split(';', 1)[0] ?? ''
    expect(rulesOf(await app.inject('/visitor'))).toEqual({
      rule: 'public, max-age=60',
      vary: 'Cookie',
    })
    expect(rulesOf(await app.inject({ url: '/visitor', headers: { cookie } }))).toEqual({
      rule: 'private, no-store',
      vary: 'Cookie',
    })
  })

  it('is public if the handler does not read the session', async () => {
    const { headers } = await app.inject({ method: 'POST', url: '/visit' })
    const cookie = headers['set-cookie']?.split(';', 1)[0] ?? ''
    expect(rulesOf(await app.inject({ url: '/request', headers: { cookie } }))).toEqual({
      rule: 'public, max-age=60',
      vary: undefined,
    })
  })
})

describe('GraphQL', () => {
  it('marks public results as public', async () => {
    const { maxAge } = graphql
    const rule = maxAge > 0 ? `public, max-age=${maxAge}` : 'no-cache'
    expect(rulesOf(await app.inject('/graphql?query={hello}'))).toEqual({
      rule,
      vary: 'Accept, Authorization',
    })
  })

  it('marks a result with a session as private', async () => {
    const first = await app.inject('/graphql?query={visits}')
    expect(first.headers['set-cookie']).toMatch(/^app_session=/)
    expect(rulesOf(first).rule).toBe('private, no-store')
    const cookie = first.headers['set-cookie']?.split(';', 1)[0] ?? ''
    const second = await app.inject({ url: '/graphql?query={visits}', headers: { cookie } })
    expect(second.json()).toEqual({ data: { visits: 2 } })
    expect(rulesOf(second)).toEqual({
      rule: 'private, no-store',
      vary: 'Accept, Authorization, Cookie',
    })
  })

  it('marks a result for a token as private', async () => {
    const { headers } = await app.inject({ url: '/graphql?query={hello}', token: token() })
    expect(headers['cache-control']).toBe('private, no-store')
  })
})
