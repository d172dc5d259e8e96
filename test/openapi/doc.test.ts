import { beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  DeclarationError,
  Doc,
  Field,
  Get,
  Module,
  NoAuth,
  Post,
  Secured,
  type BootstrapOptions,
  type DocOptions,
  type OpenApiDocument,
} from 'filigree'
import type { Class } from '../public-types.js'

async function start(controllers: Class[], options: BootstrapOptions = {}) {
  @Module({ controllers })
  class TestModule {}
  return await bootstrap(TestModule, { listen: false, logger: false, ...options })
}

async function problemsOf(controllers: Class[], options?: BootstrapOptions): Promise<string[]> {
  try {
    await using app = await start(controllers, options)
    return [`started with ${app.routes.length} routes`]
  } catch (error) {
    if (!(error instanceof DeclarationError)) throw error
    return error.problems.map(({ code, message }) => `${code} ${message}`)
  }
}

@Controller('/base')
@Doc({
  tags: ['a'],
  description: 'About.',
  secure: true,
  responses: { 409: 'Base.', 429: 'Slow.' },
})
class BaseController {
  @Get('/one')
  @Doc({ summary: 'One', tags: ['b', 'b'], deprecated: true, responses: { 409: 'Own.' } })
  one() {
    return 1
  }

  @Get('/two')
  two() {
    return 2
  }

  @Get('/three')
  @NoAuth
  three() {
    return 3
  }
}

@Controller('/derived')
class DerivedController extends BaseController {
  @Doc({ summary: 'Uno' })
  override one() {
    return 11
  }
}

describe('@Doc', () => {
  class Sampled {
    @Get('/nothing')
    @Doc({ exampleResponse: null })
    nothing() {}
    @Get('/something')
    something() {}
  }
  Controller('/sampled')(Sampled)
  let document: OpenApiDocument
  beforeAll(async () => {
    await using app = await start([BaseController, DerivedController, Sampled])
    document = app.openapi
  })
  const operation = (path: string) => document.paths?.[path]?.get

  it("prefers the method's values over its class's, and both for responses", () => {
    const one = operation('/base/one')
    expect(one).toMatchObject({ summary: 'One', tags: ['b'], deprecated: true })
    expect(one?.description).toBeUndefined()
    expect(document.tags).toContainEqual({ name: 'b', description: 'About.' })
    expect(one?.responses).toMatchObject({
      409: { description: 'Own.' },
      429: { description: 'Slow.' },
    })
    expect(operation('/base/two')).toMatchObject({ tags: ['a'] })
    expect(operation('/base/two')).not.toHaveProperty('deprecated')
  })

  it('is inherited', () => {
    expect(operation('/derived/one')).toMatchObject({ summary: 'Uno', tags: ['a'] })
    expect(operation('/derived/two')?.tags).toEqual(['a'])
  })

  it('distinguishes a sample of null from no sample', () => {
    expect(JSON.stringify(operation('/sampled/nothing')?.responses)).toContain('"example":null')
    expect(JSON.stringify(operation('/sampled/something'))).not.toContain('"example"')
  })
})

describe('@Doc({ secure })', () => {
  it('requires a token for reads, unless @NoAuth overrides it', async () => {
    await using app = await start([BaseController])
    expect((await app.inject('/base/two')).status).toBe(401)
    expect((await app.inject('/base/three')).status).toBe(200)
    expect(app.openapi.paths!['/base/two']!.get!.security).toEqual([{ bearerAuth: [] }])
    expect(app.openapi.paths!['/base/three']!.get!.security).toEqual([])
  })

  it('false opens nothing', async () => {
    @Controller('/writes')
    class WriteController {
      @Post('/')
      @Doc({ secure: false })
      write() {
        return 1
      }

      @Get('/')
      @Secured
      @Doc({ secure: false })
      read() {
        return 1
      }
    }
    await using app = await start([WriteController])
    expect((await app.inject({ method: 'POST', url: '/writes' })).status).toBe(401)
    expect((await app.inject('/writes')).status).toBe(401)
  })
})

describe('problems of the documentation', () => {
  function withDoc(options: DocOptions): Class {
    @Controller('/x')
    class DocumentedController {
      @Get('/')
      @Doc(options)
      show() {
        return 1
      }
    }
    return DocumentedController
  }

  const circle: Record<string, unknown> = {}
  circle.self = circle

  it.each<[string, object, string]>([
    [
      'an unknown name',
      { sumary: 'x' },
      'UNKNOWN_OPTION @Doc of DocumentedController.show: unknown option "sumary".',
    ],
    [
      'a summary that is not text',
      { summary: 1 },
      'INVALID_OPTION @Doc of DocumentedController.show: summary cannot be 1.',
    ],
    [
      'tags that are not a list',
      { tags: 'x' },
      'INVALID_OPTION @Doc of DocumentedController.show: tags cannot be used.',
    ],
    [
      'secure that is not a boolean',
      { secure: 'yes' },
      'INVALID_OPTION @Doc of DocumentedController.show: secure cannot be used.',
    ],
    [
      'a sample in a circle',
      { example: circle },
      'DOC_DECLARATION @Doc of DocumentedController.show: example cannot be expressed in JSON.',
    ],
    [
      'a sample that is a function',
      { exampleResponse: () => 1 },
      'DOC_DECLARATION @Doc of DocumentedController.show: exampleResponse cannot be expressed in JSON.',
    ],
    [
      'a status that is none',
      { responses: { 42: 'x' } },
      'DOC_DECLARATION @Doc of DocumentedController.show: "42" is not a status.',
    ],
    [
      'an answer that is none',
      { responses: { 200: 7 } },
      'DOC_DECLARATION @Doc of DocumentedController.show, responses 200: it is neither a text nor an object.',
    ],
    [
      'an answer with an unknown name',
      { responses: { 200: { body: 1 } } },
      'UNKNOWN_OPTION @Doc of DocumentedController.show, responses 200: unknown option "body".',
    ],
    [
      'an answer without its class',
      { responses: { 200: { type: () => undefined } } },
      'DOC_DECLARATION @Doc of DocumentedController.show, responses 200: type is not a class.',
    ],
    [
      'a header that is none',
      { headers: { 'a b': 'x' } },
      'DOC_DECLARATION @Doc of DocumentedController.show: "a b" is not a header.',
    ],
    [
      'a header that the gate reads',
      { headers: { authorization: 'x' } },
      'DOC_DECLARATION @Doc of DocumentedController.show: header "authorization" is documented by the route itself.',
    ],
    [
      'files that are none',
      { files: [1] },
      'INVALID_OPTION @Doc of DocumentedController.show: files cannot be used.',
    ],
  ])('refuse %s', async (_, options, message) => {
    expect(await problemsOf([withDoc(options)])).toEqual([message])
  })

  it('refuse @Doc on a method that is not a route', async () => {
    @Controller('/x')
    class HelpedController {
      @Get('/')
      show() {
        return this.helper()
      }

      @Doc({ summary: 'x' })
      helper() {
        return 1
      }
    }
    expect(await problemsOf([HelpedController])).toEqual([
      'DOC_DECLARATION @Doc of HelpedController.helper: it is on a member that is not a route.',
    ])
  })

  it('refuse different classes with one name, and let equal ones share it', async () => {
    const one = (() => {
      class Item {
        @Field('string') name!: string
      }
      return Item
    })()
    const equal = (() => {
      class Item {
        @Field('string') name!: string
      }
      return Item
    })()
    const other = (() => {
      class Item {
        @Field('integer') size!: number
      }
      return Item
    })()
    const controllerFor = (first: Class, second: Class): Class => {
      @Controller('/x')
      class PairController {
        @Get('/a', { returns: first })
        a() {
          return {}
        }

        @Get('/b', { returns: [second] })
        b() {
          return []
        }
      }
      return PairController
    }
    expect(await problemsOf([controllerFor(one, equal)])).toEqual(['started with 2 routes'])
    expect(await problemsOf([controllerFor(one, other)])).toEqual([
      'SCHEMA_NAME GET /x/b (PairController.b): its class Item and the class of GET /x/a (PairController.a) have the same name in the documentation: Item.',
    ])
    expect(await problemsOf([controllerFor(one, other)], { docs: false })).toEqual([
      'started with 2 routes',
    ])
  })

  it('refuse a class with the name of an error component', async () => {
    class ErrorBody {
      @Field('string') error!: string
    }
    @Controller('/x')
    class ErrorController {
      @Get('/', { returns: ErrorBody })
      show() {
        return {}
      }
    }
    expect(await problemsOf([ErrorController])).toEqual([
      'SCHEMA_NAME GET /x (ErrorController.show): the documentation itself uses the name ErrorBody.',
    ])
  })

  it('refuse braces in literals of a path', async () => {
    @Controller('/x')
    class BraceController {
      @Get('/a{b}c')
      show() {
        return 1
      }
    }
    expect((await problemsOf([BraceController]))[0]).toMatch(/^MALFORMED_PATTERN /)
  })

  it.each<[string, object, string]>([
    ['an unknown name', { titel: 'x' }, 'UNKNOWN_OPTION bootstrap docs: unknown option "titel".'],
    ['a relative path', { path: 'docs' }, 'INVALID_OPTION bootstrap docs: path is "docs".'],
    ['a path with a parameter', { path: '/<x>' }, 'INVALID_OPTION bootstrap docs: path is "/<x>".'],
    ['an empty title', { title: '' }, 'INVALID_OPTION bootstrap docs: title is "".'],
    [
      'a server that is none',
      { servers: ['ftp://x'] },
      'INVALID_OPTION bootstrap docs: servers is "ftp://x".',
    ],
    [
      'a description that is not text',
      { description: 7 },
      'INVALID_OPTION bootstrap docs: description is 7.',
    ],
    ['a tag without a text', { tags: { a: 1 } }, 'INVALID_OPTION bootstrap docs: tags.a is 1.'],
    ['a role that is none', { secured: [] }, 'INVALID_OPTION bootstrap docs: secured is [].'],
    ['a role that is not text', { secured: 5 }, 'INVALID_OPTION bootstrap docs: secured is 5.'],
    [
      'servers that are not a list',
      { servers: 'https://a.example' },
      'INVALID_OPTION bootstrap docs: servers is "https://a.example".',
    ],
    [
      'a server that is nothing',
      { servers: [null] },
      'INVALID_OPTION bootstrap docs: servers is null.',
    ],
  ])('refuse, among the options, %s', async (_, docs, message) => {
    expect(await problemsOf([], { docs })).toEqual([message])
  })
})
