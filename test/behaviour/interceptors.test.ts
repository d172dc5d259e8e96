/** Source: decisions, Interceptors. */
import { Readable } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  Auth,
  bootstrap,
  Controller,
  createDecorator,
  createModule,
  currentRequest,
  DeclarationError,
  file,
  Get,
  HttpError,
  Module,
  NoAuth,
  Post,
  reply,
  Use,
  type Application,
  type BootstrapOptions,
  type HttpRequest,
  type Interceptor,
  type Next,
  type InterceptorPosition,
  type RouteInfo,
} from '../../src/index.js'

const quiet: BootstrapOptions = { listen: false, logger: false, env: { APP_API_KEY: 'operator' } }

let trail: string[] = []

/** Makes an interceptor that records its name before and after the handler. */
function tracer(name: string, before?: InterceptorPosition) {
  return class implements Interceptor {
    static before = before
    async intercept(_request: HttpRequest, next: Next) {
      trail.push(name)
      const answer = await next()
      trail.push(`/${name}`)
      return answer
    }
  }
}

class Boot extends tracer('boot') {}
class BootGate extends tracer('boot-gate', 'gate') {}
class App extends tracer('app') {}
class AppBody extends tracer('app-body', 'body') {}
class Feature extends tracer('feature') {}
class FeatureGate extends tracer('feature-gate', 'gate') {}
class OnClass extends tracer('class') {}
class OnMethod extends tracer('method') {}
class Second extends tracer('second') {}
class Packaged extends tracer('package') {}

const Own = createDecorator('Own', (name: string) => ({
  intercept: () => async (_request: HttpRequest, next: Next) => {
    trail.push(`own ${name}`)
    return await next()
  },
}))

@Use(OnClass)
@Controller('/feature')
class FeatureController {
  @Get('/')
  @Own('first')
  @Use(OnMethod, Second)
  @Own('last')
  list() {
    trail.push('handler')
    return { ok: true }
  }
}

@Controller('/home')
class HomeController {
  @Get('/') home() {
    return { home: true }
  }
}

const packaged = createModule(() => ({ use: [Packaged] }))

@Module({ controllers: [FeatureController], use: [Feature, FeatureGate] })
class FeatureModule {}

@Module({
  controllers: [HomeController],
  imports: [FeatureModule, packaged()],
  use: [App, AppBody],
})
class AppModule {}

describe('the order', () => {
  let app: Application

  beforeAll(async () => {
    app = await bootstrap(AppModule, { ...quiet, use: [Boot, BootGate] })
  })
  afterAll(() => app.close())
  beforeEach(() => {
    trail = []
  })

  it('is by position, then application, modules, class, method, then as written', async () => {
    expect((await app.inject('/feature')).json()).toEqual({ ok: true })
    expect(trail.filter((name) => !name.startsWith('/'))).toEqual([
      'boot-gate',
      'feature-gate',
      'app-body',
      'boot',
      'app',
      'package',
      'feature',
      'class',
      'own first',
      'method',
      'second',
      'own last',
      'handler',
    ])
    expect(trail.slice(-10)).toEqual([
      '/second',
      '/method',
      '/class',
      '/feature',
      '/package',
      '/app',
      '/boot',
      '/app-body',
      '/feature-gate',
      '/boot-gate',
    ])
  })

  it("a module's `use` covers its routes and the routes of modules that it imports", async () => {
    await app.inject('/home')
    expect(trail.filter((name) => !name.startsWith('/'))).toEqual([
      'boot-gate',
      'app-body',
      'boot',
      'app',
      'package',
    ])
  })
})

describe('instances', () => {
  it('are created once, with onStart, onStop and override, without being listed as providers', async () => {
    const observed: string[] = []
    class Clock {
      readonly now = 7
    }
    class Counting implements Interceptor {
      static inject = [Clock]
      static created = 0
      constructor(readonly clock: Clock) {
        Counting.created++
      }
      onStart() {
        observed.push('start')
      }
      onStop() {
        observed.push('stop')
      }
      async intercept(_request: HttpRequest, next: Next) {
        return { clock: this.clock.now, value: await next() }
      }
    }
    @Use(Counting)
    @Controller('/counted')
    class CountedController {
      @Get('/a') a() {
        return 1
      }
      @Use(Counting)
      @Get('/b')
      b() {
        return 2
      }
    }
    @Module({ controllers: [CountedController], providers: [Clock], use: [Counting] })
    class CountedModule {}

    const app = await bootstrap(CountedModule, quiet)
    expect(Counting.created).toBe(1)
    expect((await app.inject('/counted/a')).json()).toEqual({
      clock: 7,
      value: { clock: 7, value: 1 },
    })
    await app.close()
    expect(observed).toEqual(['start', 'stop'])

    const fake: Interceptor = { intercept: (_request, next) => next() }
    await using replaced = await bootstrap(CountedModule, {
      ...quiet,
      override: [[Counting, fake]],
    })
    expect((await replaced.inject('/counted/b')).json()).toBe(2)
  })

  it('applies is called once for each route at the start', async () => {
    const checkedRoutes: string[] = []
    class Picky implements Interceptor {
      applies(route: RouteInfo) {
        checkedRoutes.push(`${route.method} ${route.path}`)
        return route.path !== '/open'
      }
      intercept() {
        return 'intercepted'
      }
    }
    @Use(Picky)
    @Controller()
    class PickyController {
      @Get('/open') open() {
        return 'open'
      }
      @Use(Picky)
      @Get('/closed')
      closed() {
        return 'closed'
      }
    }
    @Module({ controllers: [PickyController] })
    class PickyModule {}
    await using app = await bootstrap(PickyModule, quiet)
    expect(checkedRoutes).toEqual(['GET /open', 'GET /closed'])
    expect((await app.inject('/open')).body).toBe('open')
    expect((await app.inject('/closed')).body).toBe('intercepted')
    expect(checkedRoutes).toHaveLength(2)
  })

  it('an invalid interceptor stops the start', async () => {
    class NoMethod {}
    class Misplaced implements Interceptor {
      static before = 'route'
      intercept(_request: HttpRequest, next: Next) {
        return next()
      }
    }
    @Controller('/x')
    class XController {
      @Get('/') x() {
        return 1
      }
    }
    const start = (use: readonly unknown[]) => {
      @Module({ controllers: [XController], use: use as [] })
      class XModule {}
      return bootstrap(XModule, quiet)
    }
    await expect(start([NoMethod])).rejects.toThrow('NoMethod is used as an interceptor')
    await expect(start([undefined])).rejects.toThrow(DeclarationError)
    await expect(start([Misplaced])).rejects.toThrow('Misplaced: before is "route"')
  })
})

let handled = 0

/** Adds headers with the parts of the response that it could read. */
class Witness implements Interceptor {
  static before = 'gate' as const
  async intercept(request: HttpRequest, next: Next) {
    const answer = await next()
    const route = request.route?.path ?? 'none'
    answer.headers.set('Seen', `${answer.status} ${route}`)
    answer.headers.set('Seen-Type', answer.headers.get('content-type') ?? 'none')
    const fresh = answer.headers.get('FreshToken') === undefined ? 'no' : 'yes'
    answer.headers.set('Seen-Token', fresh)
    const cookie = answer.headers.get('set-cookie')?.split('=', 1)[0] ?? 'none'
    answer.headers.set('Seen-Cookie', cookie)
    return answer
  }
}

class Twice implements Interceptor {
  async intercept(_request: HttpRequest, next: Next) {
    return [await next(), await next()]
  }
}

class Dropping implements Interceptor {
  intercept(_request: HttpRequest, next: Next) {
    void next()
    return reply('instead', 299).header('X-Own', '1')
  }
}

class Rescuing implements Interceptor {
  async intercept(_request: HttpRequest, next: Next) {
    try {
      return await next()
    } catch (error) {
      return { rescued: (error as Error).message }
    }
  }
}

class Unsendable implements Interceptor {
  static before = 'body' as const
  async intercept(_request: HttpRequest, next: Next) {
    const answer = await next()
    answer.headers.set('X-Broken', 'a\nb')
    return answer
  }
}

class Slow implements Interceptor {
  static before = 'body' as const
  intercept() {
    return new Promise(() => undefined)
  }
}

class Undressing implements Interceptor {
  static before = 'gate' as const
  async intercept(_request: HttpRequest, next: Next) {
    await next()
    return { replaced: true }
  }
}

class WithPath implements Interceptor {
  async intercept(_request: HttpRequest, next: Next) {
    await Promise.resolve()
    return await next()
  }
}

let letGo: (() => void) | undefined

@Controller('/answers')
class AnswerController {
  @Get('/value') value() {
    return { a: 1 }
  }
  @Get('/thrown') thrown() {
    throw new HttpError(409, 'Taken.')
  }
  @Get('/broken') broken() {
    throw new Error('secret')
  }
  @Post('/secured') secured(body: unknown) {
    return { body }
  }
  @Get('/session') session(session: Record<string, unknown>) {
    session.user = 'ann'
    return 'in'
  }
  @Use(Twice) @Get('/twice') twice() {
    return { handled: ++handled }
  }
  @Use(Dropping) @Get('/dropped') async dropped() {
    await Promise.resolve()
    throw new Error('no caller awaits this error')
  }
  @Use(Rescuing) @Get('/rescued') rescued() {
    throw new Error('inside')
  }
  @Use(Unsendable) @Get('/unsendable') unsendable() {
    return 1
  }
  @Use(Slow) @Get('/slow', { timeout: 40 }) slow() {
    return 1
  }
  @Get('/hanging', { timeout: 40 }) hanging() {
    return new Promise(() => undefined)
  }
  @Use(Undressing) @Get('/replaced-stream') replacedStream() {
    const stream = Readable.from(['a', 'b'])
    stream.once('close', () => letGo?.())
    return stream
  }
  @Get('/stream') stream() {
    return Readable.from(['a', 'b'])
  }
  @Get('/file') file() {
    return file('package.json', { root: process.cwd() })
  }
  @Use(WithPath) @Get('/current') current() {
    return { path: currentRequest()?.path }
  }
  @Post('/open')
  @NoAuth
  open(body: unknown) {
    return reply(body, 201)
  }
}

@Module({ controllers: [AnswerController] })
class AnswerModule {}

describe('responses', () => {
  let app: Application

  beforeAll(async () => {
    app = await bootstrap(AnswerModule, {
      ...quiet,
      use: [Witness],
      client: true,
      static: { '/docs': './docs' },
      auth: { rotate: 'always' },
    })
  })
  afterAll(() => app.close())

  it.each([
    ['/answers/value', '200 /answers/value', 'application/json; charset=utf-8'],
    ['/answers/thrown', '409 /answers/thrown', 'application/json; charset=utf-8'],
    ['/answers/broken', '500 /answers/broken', 'application/json; charset=utf-8'],
    ['/answers/nowhere', '404 none', 'application/json; charset=utf-8'],
    ['/swagger', '200 /swagger', 'text/html; charset=utf-8'],
    ['/swagger/openapi.json', '200 /swagger/openapi.json', 'application/json; charset=utf-8'],
    ['/filigree.js', '200 /filigree.js', 'text/javascript; charset=utf-8'],
    ['/docs/client.md', '200 /docs/<path:path>', 'text/markdown; charset=utf-8'],
    ['/answers/file', '200 /answers/file', 'application/json; charset=utf-8'],
  ])('before the gate sees the final response of %s', async (url, observed, type) => {
    const answer = await app.inject(url)
    expect(answer.headers.seen).toBe(observed)
    expect(answer.headers['seen-type']).toBe(type)
    expect(answer.headers['content-type']).toBe(type)
    expect(answer.headers['access-control-allow-origin']).toBe('*')
  })

  it('before the gate sees 405 and 401, but not OPTIONS', async () => {
    expect((await app.inject({ method: 'PUT', url: '/answers/value' })).headers.seen).toBe(
      '405 none',
    )
    const refused = await app.inject({ url: '/answers/secured', json: {} })
    expect(refused.headers.seen).toBe('401 /answers/secured')
    const options = await app.inject({ method: 'OPTIONS', url: '/answers/value' })
    expect([options.status, options.headers.seen]).toEqual([204, undefined])
  })

  it('before the gate sees the fresh token and the session cookie, which are sent once', async () => {
    const token = await app.get(Auth).getToken({ sub: '7' })
    const secured = await app.inject({ url: '/answers/secured', json: { a: 1 }, token })
    expect(secured.json()).toEqual({ body: { a: 1 } })
    expect(secured.headers['seen-token']).toBe('yes')
    expect(secured.headers.freshtoken).not.toContain(',')
    const session = await app.inject('/answers/session')
    expect(session.headers['seen-cookie']).toBe('app_session')
    expect(session.headers['set-cookie']?.split('\n')).toHaveLength(1)
  })

  it('the handler runs once, even if next is called twice or not awaited', async () => {
    handled = 0
    expect((await app.inject('/answers/twice')).json()).toEqual([{ handled: 1 }, { handled: 1 }])
    const dropped = await app.inject('/answers/dropped')
    expect([dropped.status, dropped.body, dropped.headers['x-own']]).toEqual([299, 'instead', '1'])
  })

  it('next rejects with the error of the handler', async () => {
    expect((await app.inject('/answers/rescued')).json()).toEqual({ rescued: 'inside' })
  })

  it('invalid headers are a masked 500 with CORS', async () => {
    const answer = await app.inject('/answers/unsendable')
    expect(answer.status).toBe(500)
    expect(answer.json()).toEqual({ error: 'Internal server error', code: 'INTERNAL_SERVER_ERROR' })
    expect(answer.headers['access-control-allow-origin']).toBe('*')
    expect(answer.headers.seen).toBe('500 /answers/unsendable')
  })

  it("the route's timeout covers interceptors, and outer interceptors see the 503", async () => {
    const slow = await app.inject('/answers/slow')
    expect([slow.status, slow.headers.seen]).toEqual([503, '503 /answers/slow'])
    const hanging = await app.inject('/answers/hanging')
    expect([hanging.status, hanging.headers.seen]).toEqual([503, '503 /answers/hanging'])
  })

  it('streams pass unchanged, and a replaced stream is closed', async () => {
    const stream = await app.inject('/answers/stream')
    expect([stream.body, stream.headers.seen]).toEqual(['ab', '200 /answers/stream'])
    const closed = new Promise<void>((resolve) => {
      letGo = resolve
    })
    expect((await app.inject('/answers/replaced-stream')).json()).toEqual({ replaced: true })
    await closed
  })

  it('currentRequest is set in a handler after an asynchronous interceptor', async () => {
    expect((await app.inject('/answers/current')).json()).toEqual({ path: '/answers/current' })
  })

  it('HEAD has the headers of GET without a body', async () => {
    const head = await app.inject({ method: 'HEAD', url: '/answers/value' })
    expect([head.status, head.body, head.headers['content-length']]).toEqual([200, '', '7'])
  })
})
