/** Source: decisions, Responses. Bodies that are large, deep or oddly named. Titles begin with the statement that they check. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Field,
  Module,
  NoAuth,
  Post,
  type Application,
  type InjectResponse,
} from '../../src/index.js'
import { fieldErrorsOf } from './error-responses.js'
import { Order, order } from './orders.js'

class Tree {
  @Field('string') name!: string
  @Field(() => Tree, { list: true, optional: true }) children?: Tree[]
  @Field('json', { optional: true }) data?: unknown
}

@Controller
class BodyController {
  @Post('/orders')
  @NoAuth
  create(body: Order) {
    return body
  }

  @Post('/tree')
  @NoAuth
  tree(body: Tree) {
    return body
  }
}

@Module({ controllers: [BodyController] })
class BodyModule {}

let app: Application

beforeAll(async () => {
  app = await bootstrap(BodyModule, { listen: false, logger: false, env: {} })
})
afterAll(() => app.close())

const post = (url: string, json: unknown): Promise<InjectResponse> => app.inject({ url, json })

describe('Hostile bodies', () => {
  it('Errors: at most 50 are reported', async () => {
    const wrong = Array.from({ length: 1000 }, () => ({ sku: 1, qty: 'x' }))
    const errors = fieldErrorsOf(await post('/orders', { ...order, lines: wrong }))
    expect(errors).toHaveLength(50)
    expect(errors[49]).toMatchObject({ path: 'lines.24.qty' })
    const unknown = (length: number): object =>
      Object.fromEntries(Array.from({ length }, (_, key) => [`k${key}`, 1]))
    expect(fieldErrorsOf(await post('/orders', { ...order, ...unknown(900) }))).toHaveLength(50)
    const refused = await post('/orders', { ...order, ...unknown(5000) })
    expect([refused.status, refused.json()]).toEqual([
      400,
      { error: 'The JSON body has an object with more than 1000 keys.', code: 'JSON_TOO_COMPLEX' },
    ])
  })

  it('JSON: a tree of 32 classes fits into 64 levels, and one more level is 400', async () => {
    const tree = (levels: number): object =>
      levels === 1 ? { name: 'x' } : { name: 'x', children: [tree(levels - 1)] }
    expect((await post('/tree', tree(32))).status).toBe(200)
    const deep = await post('/tree', tree(33))
    expect([deep.status, deep.json()]).toEqual([
      400,
      { error: 'The JSON body is nested more than 64 levels deep.', code: 'JSON_TOO_DEEP' },
    ])
  })

  it.each<[string, unknown]>([
    ['a megabyte of text', { ...order, customer: `A${'a'.repeat(900_000)}!` }],
    ['a megabyte of mail', { ...order, mail: `${'a'.repeat(400_000)}@${'a.'.repeat(200_000)}` }],
    ['a megabyte of a key', { ...order, ['k'.repeat(900_000)]: 1 }],
    [
      'numbers beyond all bounds',
      { ...order, price: 1e308 * 10, lines: [{ sku: 'ab', qty: 2 ** 60 }] },
    ],
    ['300,000 lines', { ...order, lines: Array.from({ length: 300_000 }, () => 1) }],
    ['a megabyte of digits', { ...order, due: '9'.repeat(900_000) }],
  ])('Validation: %s is 400, and is not repeated in the response', async (_, body) => {
    const answer = await post('/orders', body)
    expect(fieldErrorsOf(answer).length).toBeGreaterThan(0)
    expect(answer.body.length).toBeLessThan(20_000)
  })

  it('Validation: a json field keeps its value, also with names of built-in methods', async () => {
    const data = { toString: 1, valueOf: { constructor: 'x' }, list: [null, { a: -0 }] }
    const answer = await post('/tree', { name: 'x', data })
    expect(answer.json()).toEqual({ name: 'x', data: { ...data, list: [null, { a: 0 }] } })
  })
})
