/** Source: decisions, Validation and fields. Fields of queries and forms. Titles begin with the statement that they check. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Field,
  Get,
  Module,
  NoAuth,
  Post,
  type Application,
} from '../../src/index.js'
import { fieldErrorsOf } from './error-responses.js'
import { Line, Order, order } from './orders.js'

class Search {
  @Field('integer', { min: 1, max: 100, default: 10 }) limit!: number
  @Field('boolean', { optional: true }) full?: boolean
  @Field('numeric', { optional: true }) near?: number
  @Field('datetime', { optional: true }) since?: string
  @Field('string', { list: true, optional: true }) tag?: string[]
  @Field('string', { optional: true }) q?: string
}

class Note {
  @Field('string') name!: string
  @Field('json', { optional: true }) data?: unknown
}

let received: unknown

@Controller
class TextController {
  @Post('/orders')
  @NoAuth
  create(body: Order) {
    received = body
    return { isOrder: body instanceof Order, isLine: body.lines[0] instanceof Line }
  }

  @Post('/note')
  @NoAuth
  note(body: Note) {
    return body
  }

  @Get('/search')
  search(query: Search) {
    return { isSearch: query instanceof Search, query }
  }

  @Get('/raw')
  raw(query: object) {
    return query
  }
}

@Module({ controllers: [TextController] })
class TextModule {}

let app: Application

beforeAll(async () => {
  app = await bootstrap(TextModule, { listen: false, logger: false, env: {} })
})
afterAll(() => app.close())

describe('Validation of text', () => {
  it('Conversion: a query is converted to the kinds of its fields', async () => {
    const url = '/search?limit=20&full=1&near=-.5&since=2026-11-20T10:00Z&tag=a&tag=b&q=a+b'
    expect((await app.inject(url)).json()).toEqual({
      isSearch: true,
      query: {
        limit: 20,
        full: true,
        near: -0.5,
        since: '2026-11-20T10:00Z',
        tag: ['a', 'b'],
        q: 'a b',
      },
    })
    const { query } = (await app.inject('/search?tag=a')).json() as { query: unknown }
    expect(query).toEqual({ limit: 10, tag: ['a'] })
  })

  it.each(['true', 'false', '1', '0'])('Conversion: full=%s is a boolean', async (text) => {
    const { query } = (await app.inject(`/search?full=${text}`)).json() as { query: unknown }
    expect(query).toEqual({ limit: 10, full: text === 'true' || text === '1' })
  })

  it.each([
    ['full=yes', 'full', 'type'],
    ['full=TRUE', 'full', 'type'],
    ['full=', 'full', 'type'],
    ['limit=1e1', 'limit', 'type'],
    ['limit=10.0', 'limit', 'type'],
    ['limit=0x10', 'limit', 'type'],
    ['limit=%2010', 'limit', 'type'],
    ['limit=9007199254740993', 'limit', 'type'],
    ['limit=0', 'limit', 'min'],
    ['limit=101', 'limit', 'max'],
    ['limit=1&limit=2', 'limit', 'type'],
    ['near=NaN', 'near', 'type'],
    ['near=Infinity', 'near', 'type'],
    ['near=5.', 'near', 'type'],
    ['since=yesterday', 'since', 'type'],
    ['since=2026-13-01', 'since', 'type'],
    ['q=a&q=b', 'q', 'type'],
    ['colour=red', 'colour', 'unknown'],
  ])('Conversion: ?%s is 400 and names %s', async (query, path, code) => {
    const answer = await app.inject(`/search?${query}`)
    expect(fieldErrorsOf(answer)).toMatchObject([{ path, code }])
  })

  it('Conversion: an undeclared query stays text', async () => {
    expect((await app.inject('/raw?limit=20&full=1')).json()).toEqual({ limit: '20', full: '1' })
  })

  it.each(['{"__proto__":{"a":1}}', '[{"constructor":{"prototype":1}}]', '[', 'NaN'])(
    'Conversion: %j in a form is refused for a json field',
    async (data) => {
      const answer = await app.inject({ url: '/note', form: { name: 'x', data } })
      expect(fieldErrorsOf(answer)).toMatchObject([{ path: 'data', code: 'type' }])
    },
  )

  it('Conversion: "" in a form leaves out an optional json field', async () => {
    const answer = await app.inject({ url: '/note', form: { name: 'x', data: '' } })
    expect(answer.status).toBe(200)
  })

  it('Conversion: a form is converted like a query, and nested classes are JSON', async () => {
    const form = { customer: 'Ada', price: '9.50', gift: 'true', lines: '{"sku":"ab","qty":2}' }
    expect((await app.inject({ url: '/orders', form })).json()).toEqual({
      isOrder: true,
      isLine: true,
    })
    expect(received).toEqual({ ...order, gift: true })
    const wrong = await app.inject({ url: '/orders', form: { ...form, gift: 'yes', lines: '{' } })
    expect(fieldErrorsOf(wrong).map(({ path, code }) => `${path} ${code}`)).toEqual([
      'lines.0 type',
      'gift type',
    ])
  })
})
