/** Source: decisions, Interceptors; the public API, 8: createModule and rawBody. */
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  createModule,
  Field,
  Get,
  HttpError,
  Module,
  NoAuth,
  Post,
  requestValue,
  type Application,
  type BootstrapOptions,
  type HttpRequest,
  type Interceptor,
  type ModuleOptions,
  type Next,
} from '../../src/index.js'

const quiet: BootstrapOptions = { listen: false, logger: false, env: { APP_API_KEY: 'operator' } }

interface Tenant {
  readonly name: string
}

const tenant = requestValue<Tenant>('tenant')
const other = requestValue<Tenant>('tenant')

class TenantReader implements Interceptor {
  static before = 'gate' as const
  intercept(request: HttpRequest, next: Next) {
    tenant.set(request, { name: request.headers['x-tenant'] ?? 'nobody' })
    return next()
  }
}

const resolvedNames: string[] = []

const tenants = createModule(({ slow }: { slow: boolean }) => ({
  use: [TenantReader],
  arguments: {
    tenant: (request) => {
      resolvedNames.push('tenant')
      return tenant.get(request)
    },
    plan: async (request) => {
      resolvedNames.push('plan')
      await delay(slow ? 1 : 0)
      if (tenant.get(request)?.name === 'unpaid') throw new HttpError(402, 'Pay first.')
      return 'gold'
    },
  },
}))

class Named {
  @Field('string') name!: string
}

@Controller('/values')
class ValueController {
  @Get('/tenant/<id:int>') show(id: number, tenant: Tenant) {
    return { id, tenant }
  }
  @Get('/plan') plan(plan: string, tenant: Tenant, query: object) {
    return { plan, tenant, query }
  }
  @Get('/none') none() {
    return { none: true }
  }
  @Get('/other') other(request: HttpRequest) {
    return { mine: tenant.get(request) ?? null, other: other.get(request) ?? null }
  }
  @Post('/raw', { limit: 1000 })
  @NoAuth
  raw(rawBody: Buffer, body: unknown) {
    return {
      raw: rawBody.toString('latin1'),
      isBuffer: Buffer.isBuffer(rawBody),
      body: body ?? null,
    }
  }
  @Post('/checked', { body: Named })
  @NoAuth
  checked(rawBody: Buffer, body: Named) {
    return { raw: rawBody.toString(), body }
  }
}

@Module({ controllers: [ValueController], imports: [tenants({ slow: true })] })
class ValueModule {}

let app: Application
beforeAll(async () => {
  app = await bootstrap(ValueModule, quiet)
})
afterAll(() => app.close())

describe('requestValue', () => {
  it('is identified by the object, not by its name', async () => {
    const headers = { 'x-tenant': 'acme' }
    expect((await app.inject({ url: '/values/other', headers })).json()).toEqual({
      mine: { name: 'acme' },
      other: null,
    })
  })
})

describe('custom handler arguments', () => {
  it('are resolved once, just before the handler, and only if a handler names them', async () => {
    resolvedNames.length = 0
    const headers = { 'x-tenant': 'acme' }
    const answer = await app.inject({ url: '/values/tenant/7', headers })
    expect(answer.json()).toEqual({ id: 7, tenant: { name: 'acme' } })
    expect(resolvedNames).toEqual(['tenant'])
    await app.inject('/values/none')
    expect(resolvedNames).toEqual(['tenant'])
  })

  it('a promise is awaited, and an HttpError is sent', async () => {
    const paid = await app.inject({ url: '/values/plan?a=1', headers: { 'x-tenant': 'acme' } })
    expect(paid.json()).toEqual({ plan: 'gold', tenant: { name: 'acme' }, query: { a: '1' } })
    const unpaid = await app.inject({ url: '/values/plan', headers: { 'x-tenant': 'unpaid' } })
    expect([unpaid.status, unpaid.json()]).toEqual([
      402,
      { error: 'Pay first.', code: 'PAYMENT_REQUIRED' },
    ])
  })

  it('are not in the OpenAPI document', () => {
    expect(app.openapi.paths?.['/values/plan']?.get?.parameters).toBeUndefined()
  })

  it.each<[string, ModuleOptions['arguments'], ModuleOptions['arguments'], RegExp]>([
    ['a built-in name', { body: () => 1 }, {}, /Outer\.arguments: "body"/],
    ['the name rawBody', { rawBody: () => 1 }, {}, /Outer\.arguments: "rawBody"/],
    [
      'a name from two modules',
      { tenant: () => 1 },
      { tenant: () => 2 },
      /"tenant" is an argument of Inner, too/,
    ],
    [
      'a value that is not a function',
      { tenant: 'acme' as never },
      {},
      /"tenant" is not a function/,
    ],
  ])('%s stops the start', async (_what, outer, inner, expected) => {
    @Module({ arguments: inner })
    class Inner {}
    @Module({ imports: [Inner], arguments: outer })
    class Outer {}
    await expect(bootstrap(Outer, quiet)).rejects.toThrow(expected)
  })
})

describe('rawBody', () => {
  it('has the exact bytes in addition to the parsed body', async () => {
    const body = '{ "a" :  1 }'
    const headers = { 'content-type': 'application/json' }
    const answer = await app.inject({ url: '/values/raw', body, headers })
    expect(answer.json()).toEqual({ raw: body, isBuffer: true, body: { a: 1 } })
    const checked = await app.inject({ url: '/values/checked', json: { name: 'ann' } })
    expect(checked.json()).toEqual({ raw: '{"name":"ann"}', body: { name: 'ann' } })
  })

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/cloudevents'])(
    'has the bytes of %s',
    async (type) => {
      const answer = await app.inject({
        url: '/values/raw',
        body: 'a=1',
        headers: { 'content-type': type },
      })
      expect(answer.json()).toMatchObject({ raw: 'a=1', isBuffer: true })
    },
  )

  it('is empty without a body, 415 for multipart, and 413 over the limit', async () => {
    const empty = await app.inject({ method: 'POST', url: '/values/raw' })
    expect(empty.json()).toEqual({ raw: '', isBuffer: true, body: null })
    const form = await app.inject({ url: '/values/raw', multipart: { a: '1' } })
    expect(form.status).toBe(415)
    const long = await app.inject({ url: '/values/raw', text: 'x'.repeat(1001) })
    expect(long.status).toBe(413)
  })
})
