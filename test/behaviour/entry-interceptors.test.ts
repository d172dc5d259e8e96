/** Source: docs/extending.md, "Only on the way in". */
import { afterEach, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  createDecorator,
  currentRequest,
  Get,
  HttpError,
  Module,
  NoAuth,
  Post,
  requestValue,
  reply,
  Use,
  type Application,
  type BootstrapOptions,
  type EntryInterceptor,
  type HttpRequest,
  type Interceptor,
  type Next,
  type InterceptorPosition,
  type RouteInfo,
} from '../../src/index.js'

const quiet: BootstrapOptions = { listen: false, logger: false, env: { APP_API_KEY: 'operator' } }

let trail: string[] = []

function entering(name: string, before?: InterceptorPosition) {
  return class implements EntryInterceptor {
    static before = before
    enter(request: HttpRequest) {
      trail.push(`${name} ${typeof request.body}`)
      request.addHeader('X-Entered', name)
    }
  }
}

class AtGate extends entering('gate', 'gate') {
  static everywhere = true
}
class AtBody extends entering('body', 'body') {}
class AtHandler extends entering('handler') {}

class Delayed implements EntryInterceptor {
  async enter(request: HttpRequest) {
    await Promise.resolve()
    if (request.query['refuse'] === 'later') throw new HttpError(409)
    trail.push('later')
  }
}

class Around implements Interceptor {
  async intercept(_request: HttpRequest, next: Next) {
    trail.push('around')
    const value = await next<{ ok: boolean }>()
    trail.push('/around')
    return { ...value, around: true }
  }
}

class Both implements Interceptor, EntryInterceptor {
  enter() {
    trail.push('enter')
  }
  intercept(_request: HttpRequest, next: Next) {
    trail.push('intercept')
    return next()
  }
}

class Refusing implements EntryInterceptor {
  static before = 'gate' as const
  applies({ path }: RouteInfo) {
    return path === '/refused'
  }
  enter() {
    throw new HttpError(418, 'No.', { headers: { 'X-Why': 'tea' } })
  }
}

const callerName = requestValue<string>('who')
const other = requestValue<number>('other')
const Known = createDecorator('Known', (name: string) => ({
  before: 'body',
  enter: (route) => (request) => {
    callerName.set(request, `${name} at ${route.path}`)
    other.set(request, 1)
    other.set(request, (other.get(request) ?? 0) + 1)
    request.setHeader('X-Who', 'first')
    request.setHeader('X-Who', name)
  },
}))

class Current implements EntryInterceptor {
  enter(request: HttpRequest) {
    request.addHeader('X-Current', String(currentRequest() === request))
  }
}

@Use(Refusing)
@Controller
class RouteController {
  @NoAuth @Post('/order') @Use(AtHandler, Delayed, Around, Both) order(body: unknown) {
    trail.push('handler')
    return { ok: true, body }
  }
  @Get('/refused') refused() {
    return 1
  }
  @Get('/known') @Known('ann') identified(request: HttpRequest) {
    return { callerName: callerName.get(request), other: other.get(request) }
  }
  @Get('/own') @Known('ann') overridden() {
    return reply({}).header('X-Who', 'mine')
  }
  @Get('/current') @Use(Current) current() {
    return {}
  }
}

@Module({ controllers: [RouteController], use: [AtGate, AtBody] })
class AppModule {}

let app: Application | undefined
afterEach(async () => {
  trail = []
  await app?.close()
})

async function start() {
  app = await bootstrap(AppModule, quiet)
  return app
}

describe('interceptors with enter', () => {
  it('run at their positions in the order of all interceptors, each once', async () => {
    const app = await start()
    const answer = await app.inject({ url: '/order', json: { a: 1 } })
    expect(answer.json()).toEqual({ ok: true, body: { a: 1 }, around: true })
    expect(trail).toEqual([
      'gate undefined',
      'body undefined',
      'handler object',
      'later',
      'around',
      'enter',
      'intercept',
      'handler',
      '/around',
    ])
  })

  it('refuse by throwing, synchronously or not, and their headers are in every response', async () => {
    const app = await start()
    const refused = await app.inject('/refused')
    expect([refused.status, refused.headers['x-why']]).toEqual([418, 'tea'])
    expect(refused.headers['x-entered']).toBe('gate')
    const delayedRefusal = await app.inject({ url: '/order?refuse=later', json: {} })
    expect(delayedRefusal.status).toBe(409)
    expect(trail).not.toContain('around')
    const missing = await app.inject('/nowhere')
    expect([missing.status, missing.headers['x-entered']]).toEqual([404, 'gate'])
  })

  it('can be made by decorators, and store values with the request', async () => {
    const app = await start()
    const identified = await app.inject('/known')
    expect(identified.json()).toEqual({ callerName: 'ann at /known', other: 2 })
    expect(identified.headers['x-who']).toBe('ann')
    expect((await app.inject('/own')).headers['x-who']).toBe('mine')
    expect((await app.inject('/current')).headers['x-current']).toBe('true')
  })

  it('stop the start if they have no method `enter` or `intercept`', async () => {
    class Neither {
      static before = 'gate' as const
    }
    const Bad = createDecorator('Bad', () => ({ enter: () => 7 as never }))
    @Controller
    class Faulty {
      @Get('/') @Use(Neither as never) @Bad x() {
        return 1
      }
    }
    @Module({ controllers: [Faulty] })
    class FaultyModule {}
    await expect(bootstrap(FaultyModule, quiet)).rejects.toMatchObject({
      problems: [
        {
          code: 'NOT_AN_INTERCEPTOR',
          message: 'Neither is used as an interceptor, but has no method intercept or enter.',
        },
        {
          code: 'DECORATOR_SPECIFICATION',
          message: '@Bad on Faulty.x: enter does not return a function.',
          remedy: 'Write enter: (route) => (request) => { … }.',
        },
      ],
    })
  })
})
