/** Source: decisions, Interceptors. */
import { describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  createDecorator,
  DeclarationError,
  Get,
  Module,
  Post,
  type AnyDecorator,
  type BootstrapOptions,
  type DecoratorSpecification,
  type HttpRequest,
  type Next,
} from '../../src/index.js'

const quiet: BootstrapOptions = { listen: false, logger: false, env: { APP_API_KEY: 'operator' } }

const built: string[] = []

const CacheFor = createDecorator('CacheFor', (seconds: number) => ({
  check: (route) =>
    route.method === 'GET'
      ? []
      : [{ message: 'caches GET only', remedy: 'Move it to a GET route.' }],
  document: (operation) => ({
    ...operation,
    description: `${operation.description ?? ''} Kept for ${seconds} s.`.trim(),
  }),
  intercept: (route) => {
    built.push(`${route.path} ${seconds}`)
    let cachedResult: Promise<unknown> | undefined
    return (_request, next) => (cachedResult ??= next())
  },
}))

const Bare = createDecorator('Bare', () => ({
  before: 'gate',
  intercept: () => async (_request: HttpRequest, next: Next) => {
    const answer = await next()
    answer.headers.set('Bare', '1')
    return answer
  },
}))

let calls = 0

@Bare
@CacheFor(5)
@Controller('/rates')
class RateController {
  @Get('/') rates() {
    return { calls: ++calls }
  }
  @Get('/own')
  @CacheFor(60)
  cachedLonger() {
    return { calls: ++calls }
  }
  @Get('/plain')
  @Bare
  plain() {
    return { calls: ++calls }
  }
}

@Module({ controllers: [RateController] })
class RateModule {}

/** @returns the report of the failed start of an application whose route has the decorator */
async function reportOf(decorator: AnyDecorator, verb: (path?: string) => AnyDecorator = Get) {
  @Controller('/faulty')
  class FaultyController {
    @decorator
    @verb('/')
    act() {
      return 1
    }
  }
  @Module({ controllers: [FaultyController] })
  class FaultyModule {}
  const failure: unknown = await bootstrap(FaultyModule, quiet).catch((error: unknown) => error)
  if (!(failure instanceof DeclarationError)) throw new Error('It started.')
  return failure.message
}

function specified(specification: unknown): AnyDecorator {
  return createDecorator('Odd', () => specification as DecoratorSpecification)()
}

describe('custom decorators', () => {
  it('intercept is called once for each route, and on a class it runs outside the one on the method', async () => {
    await using app = await bootstrap(RateModule, quiet)
    expect(built).toEqual(['/rates 5', '/rates/own 5', '/rates/own 60', '/rates/plain 5'])
    expect((await app.inject('/rates')).json()).toEqual({ calls: 1 })
    expect((await app.inject('/rates')).json()).toEqual({ calls: 1 })
    expect((await app.inject('/rates/own')).json()).toEqual({ calls: 2 })
    expect((await app.inject('/rates')).headers.bare).toBe('1')
  })

  it('document changes the operation of its route, first on the method, then on the class', async () => {
    await using app = await bootstrap(RateModule, quiet)
    expect(app.openapi.paths?.['/rates']?.get?.description).toBe('Kept for 5 s.')
    expect(app.openapi.paths?.['/rates/own']?.get?.description).toBe('Kept for 60 s. Kept for 5 s.')
  })

  it('route.metadata.get returns the arguments, [] without arguments, and undefined without the decorator', async () => {
    const seenArguments: unknown[] = []
    const Reading = createDecorator('Reading', () => ({
      check: (route) => {
        seenArguments.push(
          route.metadata.get(CacheFor),
          route.metadata.get(Bare),
          route.metadata.get(Reading),
        )
        return []
      },
    }))
    @Controller('/notes')
    class NoteController {
      @Reading
      @Bare
      @Get('/')
      bare() {
        return 1
      }
      @Reading()
      @CacheFor(60)
      @Get('/cached')
      cached() {
        return 1
      }
    }
    @Module({ controllers: [NoteController] })
    class NoteModule {}
    await using app = await bootstrap(NoteModule, quiet)
    expect(app.routes).toHaveLength(2)
    expect(seenArguments).toEqual([undefined, [], [], [60], undefined, []])
  })

  it('a problem of check names the decorator, the handler and the message', async () => {
    const report = await reportOf(CacheFor(60), Post)
    expect(report).toContain(
      '@CacheFor on FaultyController.act: caches GET only.  Move it to a GET route.',
    )
  })

  it.each<[string, unknown, string]>([
    [
      'a check that throws',
      {
        check: () => {
          throw new Error('no clock')
        },
      },
      '@Odd on FaultyController.act: check throws: no clock.',
    ],
    ['an unknown member', { intercepts: () => undefined }, 'intercepts'],
    ['an unknown position', { before: 'route', intercept: () => () => 1 }, 'before is "route"'],
    [
      'an intercept that does not return a function',
      { intercept: () => 7 },
      'intercept does not return a function',
    ],
    ['no specification', undefined, 'it has no specification'],
  ])('%s stops the start', async (_what, specification, expected) => {
    expect(await reportOf(specified(specification))).toContain(expected)
  })
})

/** A decorator that replaces the method by a wrapper, as applications write them. */
function wrapWith(wrap: (method: (...args: never[]) => unknown) => unknown): AnyDecorator {
  return ((_target: object, _member: string, descriptor: PropertyDescriptor) => {
    descriptor.value = wrap(descriptor.value as (...args: never[]) => unknown)
  }) as unknown as AnyDecorator
}

type Method = (this: unknown, ...args: unknown[]) => unknown

const wrappers: readonly [string, (method: Method) => unknown][] = [
  [
    'rest arguments',
    (method) =>
      function (this: unknown, ...args: unknown[]) {
        return method.apply(this, args)
      },
  ],
  [
    'arguments',
    (method) =>
      function (this: unknown) {
        // eslint-disable-next-line prefer-rest-params -- as older code wraps
        return method.apply(this, [...arguments] as unknown[])
      },
  ],
  ['a proxy', (method) => new Proxy(method, {})],
]

describe('a function that wraps a method', () => {
  it.each(wrappers)(
    'with %s it keeps the names of the arguments, above and below the verb',
    async (_name, wrap) => {
      const Wrapped = wrapWith(wrap as never)
      @Controller('/wrapped')
      class WrappedController {
        @Wrapped
        @Get('/above/<id:int>')
        above(id: number, query: object) {
          return { id, query }
        }
        @Get('/below/<id:int>')
        @Wrapped
        below(id: number, query: object) {
          return { id, query }
        }
      }
      @Module({ controllers: [WrappedController] })
      class WrappedModule {}
      await using app = await bootstrap(WrappedModule, quiet)
      for (const path of ['above', 'below']) {
        expect((await app.inject(`/wrapped/${path}/7?a=1`)).json()).toEqual({
          id: 7,
          query: { a: '1' },
        })
      }
    },
  )

  it.each<[string, (method: Method) => unknown]>([
    [
      'no arguments at all',
      (method) =>
        function (this: unknown) {
          return method.call(this)
        },
    ],
    [
      'other argument names',
      (method) =>
        function (this: unknown, first: unknown) {
          return method.call(this, first)
        },
    ],
  ])('with %s it is refused, and the message names args', async (_name, wrap) => {
    const Wrapped = wrapWith(wrap as never)
    @Controller('/refused')
    class RefusedController {
      @Get('/<id:int>')
      @Wrapped
      show(id: number) {
        return id
      }
    }
    @Module({ controllers: [RefusedController] })
    class RefusedModule {}
    await expect(bootstrap(RefusedModule, quiet)).rejects.toThrow(
      /RefusedController\.show.*args: \[/,
    )
  })

  it('a parameter renamed by a bundler is refused, and the message names args', async () => {
    @Controller('/bundled')
    class BundledController {
      @Get('/<id:int>') show(id2: number) {
        return id2
      }
    }
    @Module({ controllers: [BundledController] })
    class BundledModule {}
    await expect(bootstrap(BundledModule, quiet)).rejects.toThrow(/"id2".*args: \[/)
  })
})
