/**
 * Two copies of the package in one process: rules of the other copy are never ignored.
 *
 * @jest-environment node
 */
import { spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import {
  BelongsTo,
  bootstrap,
  Controller,
  currentRequest,
  DeclarationError,
  Field,
  Get,
  Module,
  pick,
  Post,
  Record,
  type Application,
  type BootstrapOptions,
  type Rel,
} from 'filigree'
import { bundlePackage } from '../bundle-program.js'

type Package = typeof import('filigree')
type ThrottlePackage = typeof import('filigree/throttle')

let folder: string
let other: Package
let otherThrottle: ThrottlePackage
beforeAll(async () => {
  folder = bundlePackage('second-copy', ['throttle'])
  const load = (name: string): Promise<unknown> =>
    import(pathToFileURL(join(folder, 'dist/server', `${name}.js`)).href)
  other = (await load('index')) as Package
  otherThrottle = (await load('throttle')) as ThrottlePackage
})
afterAll(() => {
  rmSync(folder, { recursive: true })
})

let app: Application | undefined
afterEach(async () => {
  await app?.close()
  app = undefined
})

async function start(module: new () => object, options: BootstrapOptions = {}) {
  app = await bootstrap(module, {
    listen: false,
    logger: false,
    env: {},
    database: 'sqlite::memory:',
    ...options,
  })
  return app
}

/** @returns the problems of the start */
async function reportOf(module: new () => object, options: BootstrapOptions = {}) {
  try {
    await start(module, options)
  } catch (error) {
    if (error instanceof DeclarationError) return error.problems
    throw error
  }
  return []
}

/** The problem that names a class and both copies. */
function refusalOf(name: string) {
  return {
    code: 'SECOND_COPY',
    message: `${name} was declared with the copy of filigree in ${folder}, which the copy in ${process.cwd()} cannot read.`,
    remedy: expect.stringContaining('npm ls filigree'),
  }
}

/** Expects the declaration of a class to throw an error that names both copies. */
function expectRefused(declare: () => unknown): void {
  expect(declare).toThrow(DeclarationError)
  expect(declare).toThrow(/ was declared with the copy of filigree in .*, which the copy in /)
  expect(declare).toThrow(folder)
  expect(declare).toThrow(process.cwd())
}

describe('a class that two copies decorate is refused', () => {
  it.each([
    ['@Secured on a method', () => ({ onMethod: other.Secured('admin') })],
    ['@Throttle on a method', () => ({ onMethod: otherThrottle.Throttle('1/m') })],
    ['@Use on a method', () => ({ onMethod: other.Use(class {} as never) })],
    ['@Doc on a method', () => ({ onMethod: other.Doc({ summary: 'All' }) })],
    ['@Secured on the class', () => ({ onClass: other.Secured('admin') })],
    ['@Throttle on the class', () => ({ onClass: otherThrottle.Throttle('1/m') })],
    ['@NoAuth on the class', () => ({ onClass: other.NoAuth })],
  ])('%s of a controller', (_, decorators) => {
    const { onClass = () => undefined, onMethod = () => undefined } = decorators() as {
      onClass?: ClassDecorator
      onMethod?: MethodDecorator
    }
    expectRefused(() => {
      @Controller('/items')
      @onClass
      class Items {
        @Get('/')
        @onMethod
        list(): string[] {
          return []
        }
      }
      return Items
    })
  })

  it('a class with standard decorators', async () => {
    class Items {
      list(): string[] {
        return []
      }
    }
    const metadata = {}
    Object.defineProperty(Items, Symbol.for('Symbol.metadata'), { value: metadata })
    const context = { kind: 'method', name: 'list', metadata, addInitializer: () => undefined }
    const decorateMethod = other.Secured('admin') as (value: unknown, context: object) => void
    decorateMethod(Reflect.get(Items.prototype, 'list'), context)
    @Module({ controllers: [Items] })
    class AppModule {}
    expect(await reportOf(AppModule)).toEqual([refusalOf('Items')])
  })

  it('a base class with decorators of the other copy', () => {
    class Base {
      @other.Secured('admin')
      show(): string {
        return ''
      }
    }
    expectRefused(() => {
      @Controller('/items')
      class Items extends Base {
        @Get('/')
        override show(): string {
          return ''
        }
      }
      return Items
    })
  })

  it('@Field, @BeforeWrite, @Resolve and @Secured of a record', async () => {
    const declarations = [
      () => {
        @Record()
        class Mixed {
          @Field('id') id!: number
          @other.Field('string', { hidden: true }) secret!: string
        }
        return Mixed
      },
      () => {
        @Record()
        class Hooked {
          @Field('id') id!: number
          @other.BeforeWrite()
          check(): void {
            throw new Error('refused')
          }
        }
        return Hooked
      },
      () => {
        @Record()
        class Computed {
          @Field('id') id!: number
          @other.Resolve('String')
          name(): string {
            return ''
          }
        }
        return Computed
      },
      () => {
        @Record()
        @other.Secured('admin')
        class Closed {
          @Field('id') id!: number
        }
        return Closed
      },
    ]
    for (const declareRecord of declarations) {
      const refused = async (): Promise<unknown> => {
        const module = class {}
        Module({ records: [declareRecord()] })(module)
        return start(module)
      }
      await expect(refused()).rejects.toThrow(folder)
    }
  })
})

describe('a class of the other copy that the application uses stops the start', () => {
  it('a record of the other copy that a relation leads to', async () => {
    @other.Record({ rows: () => false })
    class Account {
      @other.Field('id') id!: number
    }
    @Record()
    class Ticket {
      @Field('id') id!: number
      @Field('integer') accountId!: number
      @BelongsTo(() => Account) account!: Rel<Account>
    }
    @Module({ records: [Ticket] })
    class AppModule {}
    expect(await reportOf(AppModule)).toEqual([refusalOf('Account')])
  })

  it('a class of a body, nested ones and derived ones', async () => {
    class Address {
      @other.Field('string', { maxLength: 2 }) country!: string
    }
    class Order {
      @Field(() => Address) address!: Address
    }
    for (const body of [Address, Order]) {
      @Controller('/orders')
      class Orders {
        @Post('/', { body })
        add(): void {
          return undefined
        }
      }
      const module = class {}
      Module({ controllers: [Orders] })(module)
      expect(await reportOf(module)).toEqual([refusalOf('Address')])
    }
    expect(() => pick(Address, 'country')).toThrow(folder)
  })

  it('a provider, also where only a value shows its class', async () => {
    class Store {
      @other.HealthCheck('store') ping(): boolean {
        return false
      }
    }
    for (const provider of [Store, { provide: 'store', use: new Store() }]) {
      const module = class {}
      Module({ providers: [provider] })(module)
      expect(await reportOf(module)).toEqual([refusalOf('Store')])
    }
  })

  it('an interceptor', async () => {
    class Gate {
      enter(): undefined {
        return undefined
      }
      @other.HealthCheck('gate') ping(): boolean {
        return false
      }
    }
    @Controller('/items')
    class Items {
      @Get('/')
      list(): string[] {
        return []
      }
    }
    @Module({ use: [Gate], controllers: [Items] })
    class AppModule {}
    expect(await reportOf(AppModule)).toEqual([refusalOf('Gate')])
  })

  it('a module, and a package of the other copy', async () => {
    @other.Module({ imports: [] })
    class OtherModule {}
    @Module({ imports: [OtherModule] })
    class AppModule {}
    expect(await reportOf(AppModule)).toEqual([refusalOf('OtherModule')])
    @Module({ imports: [otherThrottle.throttle({ limit: '1/m' })] })
    class Throttled {}
    expect(await reportOf(Throttled)).toEqual([
      expect.objectContaining({ code: 'SECOND_COPY', message: expect.stringContaining(folder) }),
    ])
    await expect(start(OtherModule)).rejects.toThrow(folder)
  })

  it('an open database', async () => {
    const database = await other.connect('sqlite::memory:')
    @Module()
    class AppModule {}
    const problems = await reportOf(AppModule, { database: database as never })
    await database.close()
    expect(problems).toEqual([refusalOf('The option database')])
  })
})

describe('other problems of the start', () => {
  it('name the second copy, because it may be their cause', async () => {
    class Store {
      static inject = [other.Clock]
    }
    @Module({ providers: [Store] })
    class AppModule {}
    expect(await reportOf(AppModule)).toEqual([
      expect.objectContaining({ code: 'MISSING_PROVIDER' }),
      expect.objectContaining({
        code: 'SECOND_COPY',
        message: `The process has also loaded the copy of filigree in ${folder}, which the copy in ${process.cwd()} cannot read.`,
      }),
    ])
  })
})

describe('a command of another copy', () => {
  it('does not start the application that it loads', async () => {
    const program = join(folder, 'application.mjs')
    const copy = bundlePackage('third-copy')
    writeFileSync(
      program,
      `import { bootstrap, Module } from ${JSON.stringify(join(copy, 'dist/server/index.js'))}
      const AppModule = class AppModule {}
      Module()(AppModule)
      await bootstrap(AppModule, { listen: false })
      console.log('started')`,
    )
    const command = join(folder, 'dist/server/cli.js')
    const run = spawnSync(process.execPath, [command, 'routes', '--module', program], {
      encoding: 'utf8',
    })
    rmSync(copy, { recursive: true })
    expect([run.status, run.stdout]).toEqual([1, ''])
    expect(run.stderr).toContain(
      `The command was run from the copy of filigree in ${folder}, which the copy in ${copy} cannot read.`,
    )
  })
})

describe('values of a second copy work as those of one copy', () => {
  @Controller('/values')
  class Values {
    @Get('/refused')
    refused(): never {
      throw new other.HttpError(409, 'Taken', { headers: { 'retry-after': '7' } })
    }
    @Get('/reply')
    reply(): unknown {
      return other.reply({ ok: true }, 202).header('X-Part', 'one').cookie('seen', 'yes')
    }
    @Get('/page')
    page(): unknown {
      return other.html('<p>Hello</p>')
    }
    @Get('/file')
    file(): unknown {
      return other.file('package.json', { root: process.cwd() })
    }
    @Get('/events')
    events(): unknown {
      return other.events(['one', { event: 'price', data: 2 }])
    }
    @Get('/request')
    request(): unknown {
      const request = other.currentRequest()
      return { same: request !== undefined && request === currentRequest(), path: request?.path }
    }
  }
  @Module({ controllers: [Values] })
  class AppModule {}

  it('an error has its status and headers', async () => {
    const { status, headers, body } = await (await start(AppModule)).inject('/values/refused')
    expect({ status, after: headers['retry-after'], body }).toEqual({
      status: 409,
      after: '7',
      body: '{"error":"Taken","code":"CONFLICT"}',
    })
  })

  it('a reply has its status, headers and body', async () => {
    const { status, headers, body } = await (await start(AppModule)).inject('/values/reply')
    expect({ status, body }).toEqual({ status: 202, body: '{"ok":true}' })
    expect(headers['x-part']).toBe('one')
    expect(String(headers['set-cookie'])).toContain('seen=yes')
  })

  it('pages, files and events are sent as such', async () => {
    const { inject } = await start(AppModule).then((started) => ({
      inject: (path: string) => started.inject(path),
    }))
    const page = await inject('/values/page')
    expect([page.headers['content-type'], page.body]).toEqual([
      'text/html; charset=utf-8',
      '<p>Hello</p>',
    ])
    expect((await inject('/values/file')).body).toContain('"name": "filigree"')
    const events = await inject('/values/events')
    expect([events.headers['content-type'], events.body]).toEqual([
      'text/event-stream',
      ':\n\ndata: one\n\nevent: price\ndata: 2\n\n',
    ])
  })

  it('currentRequest() returns the request that the other copy serves', async () => {
    const { body } = await (await start(AppModule)).inject('/values/request')
    expect(body).toBe('{"same":true,"path":"/values/request"}')
  })

  it('an application of the other copy runs beside this one', async () => {
    @other.Controller('/items')
    class Items {
      @other.Get('/')
      list(): string[] {
        return ['one']
      }
    }
    @other.Module({ controllers: [Items] })
    class OtherModule {}
    await start(AppModule)
    const second = await other.bootstrap(OtherModule, { listen: false, logger: false, env: {} })
    const { body } = await second.inject('/items')
    await second.close()
    expect(body).toBe('["one"]')
  })

  it('a subclass of the error stays distinguishable', () => {
    class NotFound extends other.HttpError {}
    const error = new other.HttpError(404)
    expect([error instanceof NotFound, new NotFound(404) instanceof NotFound]).toEqual([
      false,
      true,
    ])
  })
})
