import { inspect } from 'node:util'
import { describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  DeclarationError,
  Field,
  Get,
  Module,
  NoAuth,
  Post,
  Secured,
  type BootstrapOptions,
} from '../../src/index.js'
import { silentLog } from '../silent-log.js'
import type { Class } from '../public-types.js'

async function report(module: Class, options: BootstrapOptions = {}): Promise<DeclarationError> {
  const starting = bootstrap(module, { listen: false, logger: false, env: {}, ...options })
  const failure: unknown = await starting.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (failure instanceof DeclarationError) return failure
  throw new Error(`The start did not fail:  ${String(failure)}`)
}

async function codes(controller: Class, options?: BootstrapOptions): Promise<string[]> {
  class TestModule {}
  Module({ controllers: [controller] })(TestModule)
  return (await report(TestModule, options)).problems.map(({ code }) => code)
}

class ItemStore {}

describe('the boot report', () => {
  it('lists all problems of an application together, each with a fix', async () => {
    @Controller('/items')
    class ItemController {
      constructor(readonly items: ItemStore) {}
      @Get('/<id:integer>')
      show(id: number) {
        return id
      }
      @Get('/<id:int>/parts')
      parts(idd: number) {
        return idd
      }
    }
    @Module({ controllers: [ItemController] })
    class AppModule {}
    const error = await report(AppModule)
    expect(error.code).toBe('DECLARATION')
    expect(error.message).toBe(
      [
        'Filigree cannot start: 3 problems',
        ' 1 GET /items/<id:integer> (ItemController.show): unknown type "integer".  Did you mean "int"? Types: int, float, path, uuid, slug.',
        ' 2 ItemController.parts: argument "idd" is not a path parameter of /items/<id:int>/parts.  Did you mean "id"?',
        ' 3 ItemController needs ItemStore, which no module provides.  Add ItemStore to AppModule.providers.',
      ].join('\n'),
    )
  })

  it('reports a module that is undefined because of an import cycle', async () => {
    const { problems } = await report(undefined as unknown as Class)
    expect(problems.map(({ code, message }) => [code, message])).toEqual([
      ['NOT_A_CLASS', 'bootstrap received undefined as its module.'],
    ])
  })

  it('is printed once where the error is not caught', async () => {
    @Controller
    class Lost {
      @Get('/<id:integer>')
      show(id: number) {
        return id
      }
    }
    @Module({ controllers: [Lost] })
    class AppModule {}
    const error = await report(AppModule)
    expect(inspect(error).split('unknown type "integer"')).toHaveLength(2)
  })

  it('names both handlers of requests that two routes match', async () => {
    @Controller
    class Twins {
      @Get('/x/<a:int>')
      first(a: number) {
        return a
      }
      @Get('/x/{b:int}/')
      second(b: number) {
        return b
      }
      @Get('/y')
      third() {
        return 3
      }
      @Get('/y')
      fourth() {
        return 4
      }
    }
    @Module({ controllers: [Twins] })
    class AppModule {}
    const { problems } = await report(AppModule)
    expect(problems.map(({ code, message }) => [code, message])).toEqual([
      [
        'DUPLICATE_ROUTE',
        'GET /x/<a:int> and /x/<b:int> match the same requests and are declared by both Twins.first and Twins.second.',
      ],
      ['DUPLICATE_ROUTE', 'GET /y is declared by both Twins.third and Twins.fourth.'],
    ])
  })

  it('refuses @Secured with @NoAuth on one handler', async () => {
    @Controller
    class Torn {
      @Post('/x')
      @NoAuth
      @Secured
      bothDecorators() {
        return 1
      }
    }
    expect(await codes(Torn)).toEqual(['ACCESS_CONTRADICTION'])
  })

  it('finds problems of declared classes, once for all routes that use them', async () => {
    class Wrong {
      @Field() size!: number
      @Field('strin' as 'string') name!: string
    }
    class Empty {}
    @Controller
    class Declared {
      @Post('/a', { body: Wrong })
      @NoAuth
      a(body: unknown) {
        return body
      }
      @Post('/b', { body: Wrong, returns: [Wrong] })
      @NoAuth
      b(body: unknown) {
        return body
      }
      @Get('/c', { query: Empty })
      c(query: unknown) {
        return query
      }
      @Get('/d', { returns: (() => undefined) as unknown as () => Class })
      d() {
        return 1
      }
    }
    const found = await codes(Declared)
    expect(found.slice(-2)).toEqual(['NO_FIELDS', 'NOT_A_CLASS'])
    expect(found).toHaveLength(4)
  })

  it.each<[string, BootstrapOptions, string, RegExp]>([
    [
      'an unknown option',
      { prot: 1 } as BootstrapOptions,
      'UNKNOWN_OPTION',
      /Did you mean "port"\?/,
    ],
    [
      'an unknown limit',
      { limits: { bodi: 1 } as object },
      'UNKNOWN_OPTION',
      /Did you mean "body"\?/,
    ],
    ['a size that is none', { limits: { body: 'many' } }, 'INVALID_OPTION', /such as '10mb'/],
    ['a time that is none', { times: { handler: 0 } }, 'INVALID_OPTION', /Give an integer/],
    ['a port that is none', { port: 65_536 }, 'INVALID_OPTION', /Give an integer from 0 to 65535/],
    ['PORT that is none', { env: { PORT: '80a' } }, 'INVALID_ENVIRONMENT', /Set a number/],
    [
      'LOG_LEVEL that is none',
      { env: { LOG_LEVEL: 'warning' } },
      'INVALID_ENVIRONMENT',
      /Set warn/,
    ],
    ['an origin that is none', { cors: { origins: ['shop'] } }, 'INVALID_CORS', /scheme and host/],
    ['a static path that is relative', { static: { assets: '.' } }, 'RELATIVE_PATH', /slash/],
    [
      'a static folder that is not there',
      { static: { '/a': './nowhere' } },
      'STATIC_FOLDER',
      /Create it/,
    ],
    [
      'a misspelt session option',
      { sessions: { idel: 5 } as object },
      'UNKNOWN_OPTION',
      /Did you mean "idle"\?/,
    ],
    ['an idle time that is none', { sessions: { idle: -1 } }, 'INVALID_OPTION', /Give an integer/],
    [
      'a misspelt unknownKeys, which would let them pass',
      { unknownKeys: 'refused' } as object,
      'INVALID_OPTION',
      /'refuse' or 'drop'/,
    ],
    ['a logger that is none', { logger: { info: () => 0 } } as object, 'INVALID_OPTION', /pino/],
    ['production without keys', { env: { NODE_ENV: 'production' } }, 'AUTH_KEYS', /openssl/],
  ])('refuses %s', async (_, options, code, remedy) => {
    @Module({})
    class AppModule {}
    const { problems } = await report(AppModule, options)
    expect(problems[0]).toEqual({
      code,
      message: expect.any(String),
      remedy: expect.stringMatching(remedy),
    })
  })

  it('warns about unreachable routes and bodies that are never read, and starts', async () => {
    @Controller
    class Odd {
      @Get('/a/../b')
      up() {
        return 1
      }
      @Get('/a%20b')
      blank() {
        return 2
      }
      @Get('/c')
      wish(body: unknown) {
        return body
      }
    }
    @Module({ controllers: [Odd] })
    class OddModule {}
    const warnings: [object, string][] = []
    const logger = { ...silentLog, warn: (...warning: [object, string]) => warnings.push(warning) }
    const app = await bootstrap(OddModule, { listen: false, logger, env: {} })
    await app.close()
    expect(warnings).toEqual([
      [
        { code: 'UNREACHABLE_ROUTE' },
        expect.stringContaining('GET /a/../b (Odd.up): clients resolve'),
      ],
      [{ code: 'UNREACHABLE_ROUTE' }, expect.stringContaining('Write the character: "a b".')],
      [{ code: 'BODY_ON_GET' }, expect.stringContaining('GET /c (Odd.wish): uses "body"')],
    ])
  })

  it('warns about bodies without checks, where the compiler emits no types and the route names no class', async () => {
    class Loose {
      make(body: unknown) {
        return body
      }
      take(body: unknown) {
        return body
      }
      ping() {
        return 'pong'
      }
    }
    // Applied by hand, like a compiler that emits no types.
    const decorate = (member: 'make' | 'take' | 'ping', decorator: MethodDecorator) => {
      decorator(Loose.prototype, member, Reflect.getOwnPropertyDescriptor(Loose.prototype, member)!)
    }
    decorate('make', Post('/made'))
    decorate('make', Post('/made/again'))
    decorate('take', Post('/taken', { body: Object }))
    decorate('ping', Post('/ping'))
    Controller('/loose')(Loose, undefined)
    @Module({ controllers: [Loose] })
    class LooseModule {}
    const warnings: [object, string][] = []
    const logger = { ...silentLog, warn: (...warning: [object, string]) => warnings.push(warning) }
    const app = await bootstrap(LooseModule, { listen: false, logger, env: {} })
    await app.close()
    expect(warnings).toEqual([
      [{ code: 'BODY_UNCHECKED' }, expect.stringMatching(/^Loose\.make: the body is not checked/)],
    ])
  })

  it.each([
    [{ format: 'mail' }, 'FIELD_RULE_VALUE'],
    [{ pattern: '(' }, 'FIELD_RULE_VALUE'],
    [{ oneOf: 5 }, 'FIELD_RULE_VALUE'],
    [{ default: 5n }, 'FIELD_DEFAULT'],
    [{ default: { n: 5n } }, 'FIELD_DEFAULT'],
    [{ default: Symbol('x') }, 'FIELD_DEFAULT'],
  ])('reports a meaningless rule of a body, and crashes on none: %p', async (rules, code) => {
    class Input {
      @Field('string', rules as never) text!: string
    }
    @Controller()
    class InputController {
      @Post('/', { body: Input })
      take(body: Input) {
        return body
      }
    }
    expect(await codes(InputController)).toEqual([code])
  })

  it('refuses classes without a decorator', async () => {
    class Plain {}
    expect(await codes(Plain)).toEqual(['NOT_A_CONTROLLER'])
    expect((await report(Plain)).problems.map(({ code }) => code)).toEqual(['NOT_A_MODULE'])
  })
})
