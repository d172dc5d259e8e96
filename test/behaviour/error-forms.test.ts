/** `bootstrap(AppModule, { errors: { form, class } })` sets the body and the status of all errors. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { IsIn, MinLength } from 'class-validator'
import type { OpenAPIObject, ResponseObject } from 'openapi3-ts/oas31'
import {
  bootstrap,
  Controller,
  createModule,
  Doc,
  Field,
  Get,
  GraphQL,
  HttpError,
  Module,
  Post,
  Secured,
  type Application,
  type ErrorForm,
  type ErrorsOptions,
} from 'filigree'
import { silentLog } from '../silent-log.js'
import { env } from './gated-application.js'

class Line {
  @Field('integer', { min: 3 }) qty!: number
}
class Order {
  @Field('string', { maxLength: 4 }) name!: string
  @Field('string', { oneOf: ['a', 'b'], optional: true }) size?: string
  @Field(() => [Line]) lines!: Line[]
  @MinLength(2) note!: string
  @IsIn(['x', 'y']) mark!: string
}

@Controller('/orders')
class Orders {
  @Post('/', { body: Order }) @Secured create(body: Order): object {
    return body
  }
  @Get('/broken') broken(): never {
    throw new Error('the password is 5')
  }
  @Get('/unavailable') unavailable(): never {
    throw new HttpError(503, 'Later', { headers: { 'Retry-After': '7' } })
  }
  @Get('/custom') @Doc({ responses: { 404: { description: 'There is none.' } } }) custom(): never {
    throw new HttpError(404, 'None', { code: 'NO_ORDER' })
  }
}

@Controller('/part')
class Part {
  @Get('/') part(): never {
    throw new HttpError(409, 'Taken')
  }
}
const part = createModule(() => ({ controllers: [Part] }))

const graphql = new GraphQL()
graphql.schema.addQuery('one', { type: 'Int', resolve: () => 1 })
graphql.registerRoute('/graphql')

@Module({ controllers: [Orders], imports: [part()], graphql: [graphql] })
class AppModule {}

class Problems {
  @Field('json') errors!: Record<string, string[]>
}

const form: ErrorForm = ({ status, code, message, fields }, request) => ({
  status: code === 'VALIDATION' ? 422 : status,
  body: {
    path: request.path,
    errors:
      fields.length === 0
        ? { [code]: [message] }
        : Object.fromEntries(fields.map(({ path, code, value }) => [path, [code, value]])),
  },
})

const start = (errors: unknown, logger: false | typeof silentLog = false) =>
  bootstrap(AppModule, { listen: false, logger, env, errors: errors as ErrorsOptions })

let app: Application
beforeAll(async () => {
  app = await start({ form, class: Problems })
})
afterAll(() => app.close())

const authorization = `Bearer ${env.APP_API_KEY}`
const get = async (url: string, headers: Record<string, string> = {}) => {
  const answer = await app.inject({ url, headers })
  return [answer.status, answer.json()]
}

describe('errors.form', () => {
  it('gets the paths, codes and rule values of fields', async () => {
    const json = { name: 'Ladder', size: 'c', lines: [{ qty: 1 }], note: 'x', mark: 'z', more: 1 }
    const answer = await app.inject({
      method: 'POST',
      url: '/orders',
      json,
      headers: { authorization },
    })
    expect([answer.status, answer.json()]).toEqual([
      422,
      {
        path: '/orders',
        errors: {
          name: ['maxLength', 4],
          size: ['oneOf', ['a', 'b']],
          'lines.0.qty': ['min', 3],
          note: ['minLength', 2],
          mark: ['isIn', ['x', 'y']],
          more: ['unknown', null],
        },
      },
    ])
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
  })

  it('formats errors before the handler, errors of unknown paths, and masked errors', async () => {
    const refused = await app.inject({ method: 'POST', url: '/orders' })
    expect([refused.status, refused.json()]).toEqual([
      401,
      { path: '/orders', errors: { UNAUTHENTICATED: ['Unauthorized'] } },
    ])
    expect(refused.headers['www-authenticate']).toBe('Bearer')
    expect(await get('/nowhere')).toEqual([
      404,
      { path: '/nowhere', errors: { NOT_FOUND: ['Not found'] } },
    ])
    const { status, headers } = await app.inject({ method: 'PUT', url: '/orders' })
    expect([status, headers.allow]).toEqual([405, 'POST, OPTIONS'])
    expect(await get('/orders/broken')).toEqual([
      500,
      { path: '/orders/broken', errors: { INTERNAL_SERVER_ERROR: ['Internal server error'] } },
    ])
  })

  it('does not change the headers of an error, also if the client accepts problem details', async () => {
    const answer = await app.inject({
      url: '/orders/unavailable',
      headers: { accept: 'application/problem+json' },
    })
    expect(answer.headers).toMatchObject({
      'retry-after': '7',
      'content-type': 'application/json; charset=utf-8',
    })
    expect(answer.json()).toMatchObject({ errors: { SERVICE_UNAVAILABLE: ['Later'] } })
  })

  it('does not change errors of packages and of GraphQL', async () => {
    expect(await get('/part')).toEqual([409, { error: 'Taken', code: 'CONFLICT' }])
    const answer = await app.inject('/graphql?query={two}')
    expect(answer.json()).toMatchObject({
      errors: [{ message: expect.stringContaining('two') }],
    })
  })

  it.each([
    ['throws', () => JSON.parse('{')],
    ['returns nothing', () => undefined],
    ['returns a status below 400', () => ({ status: 200, body: {} })],
    ['returns a body that is not JSON', () => ({ body: () => 1 })],
  ])('that %s is a masked 500, and logged', async (_, broken) => {
    const lines: unknown[] = []
    const error = (...line: unknown[]): void => void lines.push(line)
    const other = await start({ form: broken }, { ...silentLog, error })
    try {
      const answer = await other.inject('/nowhere')
      expect([answer.status, answer.json()]).toEqual([
        500,
        { error: 'Internal server error', code: 'INTERNAL_SERVER_ERROR' },
      ])
      expect(lines).toHaveLength(1)
    } finally {
      await other.close()
    }
  })
})

describe('the document', () => {
  const documentOf = async (one: Application) =>
    (await one.inject('/swagger/openapi.json')).json() as OpenAPIObject
  const at = ({ paths }: OpenAPIObject, path: string, method: 'get' | 'post') =>
    (paths?.[path]?.[method]?.responses ?? {}) as Record<string, ResponseObject>

  it('has the error class and the statuses', async () => {
    const document = await documentOf(app)
    const responses = at(document, '/orders', 'post')
    expect(Object.keys(responses).filter((status) => status >= '4')).toEqual([
      '401',
      '413',
      '415',
      '422',
      'default',
    ])
    const content = {
      'application/json': { schema: { $ref: '#/components/schemas/Problems' } },
    }
    expect(responses['422']).toEqual({ $ref: '#/components/responses/OwnBadRequest' })
    expect(document.components?.responses?.OwnBadRequest).toMatchObject({ content })
    expect(at(document, '/orders/custom', 'get')['404']).toMatchObject({
      description: 'There is none.',
      content,
    })
  })

  it('has the standard error body for packages', async () => {
    const document = await documentOf(app)
    expect(at(document, '/part', 'get').default).toEqual({
      $ref: '#/components/responses/Failure',
    })
    expect(document.components?.schemas?.ErrorBody).toBeDefined()
  })

  it('has an empty schema for error bodies without a class', async () => {
    const other = await start({ form })
    try {
      const { components } = await documentOf(other)
      expect(components?.responses?.OwnFailure).toMatchObject({
        content: { 'application/json': { schema: {} } },
      })
    } finally {
      await other.close()
    }
  })
})

it.each([
  [{ form: 5 }, 'bootstrap errors: form cannot be 5'],
  [{ form, class: 'Problems' }, 'bootstrap errors: class cannot be used'],
  [{ form, klass: Problems }, 'klass'],
  [5, 'bootstrap: errors is 5'],
])('refuses %o at the start', async (errors, message) => {
  await expect(start(errors)).rejects.toThrow(message)
})
