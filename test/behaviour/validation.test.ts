/** Source: decisions, Validation and fields; public API, 1 and 5. Titles begin with the statement that they check. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Module,
  NoAuth,
  omit,
  partial,
  Patch,
  pick,
  Post,
  type Application,
  type BootstrapOptions,
  type InjectResponse,
} from '../../src/index.js'
import { fieldErrorsOf } from './error-responses.js'
import { Line, Order, order } from './orders.js'

class ChangedOrder extends partial(omit(Order, 'lines')) {}
class Contact extends pick(Order, 'customer', 'mail') {}

let received: unknown

@Controller
class OrderController {
  @Post('/orders')
  @NoAuth
  create(body: Order) {
    received = body
    return { isOrder: body instanceof Order, isLine: body.lines[0] instanceof Line }
  }

  @Post('/many', { body: [Line] })
  @NoAuth
  many(body: Line[]) {
    return { count: body.length, isLine: body.every((line) => line instanceof Line) }
  }

  @Post('/thunk', { body: () => Line })
  @NoAuth
  thunk(body: Line) {
    return { isLine: body instanceof Line }
  }

  @Post('/thunk/in/list', { body: [() => Line] })
  @NoAuth
  thunkInList(body: Line[]) {
    return { isLine: body.every((line) => line instanceof Line) }
  }

  @Post('/thunk/of/list', { body: () => [Line] })
  @NoAuth
  thunkOfList(body: Line[]) {
    return { isLine: body.every((line) => line instanceof Line) }
  }

  @Post('/dropping', { unknownKeys: 'drop' })
  @NoAuth
  dropping(body: Order) {
    received = body
    return {}
  }

  @Patch('/orders')
  @NoAuth
  change(body: ChangedOrder) {
    received = body
    return {}
  }

  @Post('/contact')
  @NoAuth
  contact(body: Contact) {
    return body
  }
}

@Module({ controllers: [OrderController] })
class OrderModule {}

function start(options: BootstrapOptions = {}): Promise<Application> {
  return bootstrap(OrderModule, { listen: false, logger: false, env: {}, ...options })
}

let app: Application

beforeAll(async () => {
  app = await start()
})
afterAll(() => app.close())

const post = (url: string, json: unknown): Promise<InjectResponse> => app.inject({ url, json })

describe('Validation of a body', () => {
  it('Validation: valid input becomes an instance of its class with defaults', async () => {
    const answer = await post('/orders', { ...order, colour: null })
    expect(answer.json()).toEqual({ isOrder: true, isLine: true })
    expect(received).toEqual({ ...order, colour: null, gift: false })
  })

  it('Validation: one response has the path, code and message of every error', async () => {
    const answer = await post('/orders', {
      customer: 'ada lovelace',
      price: -1,
      lines: [{ sku: 'ab', qty: 1 }, { sku: 'a', qty: 0.5 }, 7],
      mail: 'nobody',
      colour: 'green',
      gift: 'yes',
      due: 'tomorrow',
      tags: ['a', 5],
      customr: 'x',
    })
    expect(fieldErrorsOf(answer).map(({ path, code }) => `${path} ${code}`)).toEqual([
      'customer maxLength',
      'customer pattern',
      'price min',
      'lines.1.sku minLength',
      'lines.1.qty type',
      'lines.2 type',
      'mail format',
      'colour oneOf',
      'gift type',
      'due type',
      'tags.1 type',
      'customr unknown',
    ])
    const { error } = answer.json() as { error: string }
    expect(error).toMatch(/price must be at least 0; /)
    expect(error).toMatch(/customr is unknown\. Did you mean "customer"\?$/)
  })

  it.each<[string, unknown, string, string]>([
    ['a list', [order], '', 'type'],
    ['a text', 'x', '', 'type'],
    ['null', null, '', 'type'],
    ['a number', 5, '', 'type'],
    ['a missing key', { ...order, price: undefined }, 'price', 'required'],
    ['null for a value', { ...order, price: null }, 'price', 'type'],
    ['text for a number', { ...order, price: '9.5' }, 'price', 'type'],
    ['a number over the maximum', { ...order, price: 1001 }, 'price', 'max'],
    ['an empty list', { ...order, lines: [] }, 'lines', 'minItems'],
    ['an object for a list', { ...order, lines: { 0: {} } }, 'lines', 'type'],
    ['a long list', { ...order, tags: ['a', 'b', 'c', 'd'] }, 'tags', 'maxItems'],
    ['a list for a value', { ...order, customer: ['Ada'] }, 'customer', 'type'],
    ['a lone surrogate', { ...order, customer: 'A\ud800' }, 'customer', 'type'],
    ['NUL', { ...order, customer: 'A\0' }, 'customer', 'type'],
    ['the 30th of February', { ...order, due: '2026-02-30' }, 'due', 'type'],
    ['1 for true', { ...order, gift: 1 }, 'gift', 'type'],
  ])('Validation: %s is 400', async (_, body, path, code) => {
    expect(fieldErrorsOf(await post('/orders', body))).toMatchObject([{ path, code }])
  })

  it.each(['id', 'secret', 'other', 'constructor', 'toString', 'hasOwnProperty'])(
    'Bodies: the key %s, read-only, hidden or unknown, is refused with 400',
    async (key) => {
      const answer = await post('/orders', { ...order, [key]: 1 })
      expect(fieldErrorsOf(answer)).toMatchObject([{ path: key, code: 'unknown' }])
    },
  )

  it('Bodies: unknownKeys: drop removes them, for a route or for all', async () => {
    const body = { ...order, id: 7, secret: 's', other: 1, lines: [{ sku: 'ab', qty: 2, x: 1 }] }
    const expected = { ...order, gift: false }
    expect((await post('/dropping', body)).status).toBe(200)
    expect(received).toEqual(expected)
    received = undefined
    await using dropping = await start({ unknownKeys: 'drop' })
    expect((await dropping.inject({ url: '/orders', json: body })).status).toBe(200)
    expect(received).toEqual(expected)
  })

  it('Validation: a list of a class is validated item by item', async () => {
    expect((await post('/many', [order.lines[0], order.lines[0]])).json()).toEqual({
      count: 2,
      isLine: true,
    })
    expect((await post('/many', [])).json()).toEqual({ count: 0, isLine: true })
    expect(
      fieldErrorsOf(await post('/many', [order.lines[0], { sku: 'ab', qty: 0 }, null])),
    ).toEqual([
      { path: '1.qty', code: 'min', message: '1.qty must be at least 1' },
      { path: '2', code: 'type', message: '2 must be an object' },
    ])
    expect(fieldErrorsOf(await post('/many', order.lines[0]))).toMatchObject([{ path: '' }])
  })

  it('Validation: a class can be given by a function', async () => {
    expect((await post('/thunk', order.lines[0])).json()).toEqual({ isLine: true })
    expect(fieldErrorsOf(await post('/thunk', {}))).toHaveLength(2)
  })

  it.each(['/thunk/in/list', '/thunk/of/list'])(
    'Validation: the class of a list can be given by a function: %s',
    async (url) => {
      expect((await post(url, [order.lines[0]])).json()).toEqual({ isLine: true })
      expect(fieldErrorsOf(await post(url, [{}]))).toMatchObject([
        { path: '0.sku' },
        { path: '0.qty' },
      ])
    },
  )
})

describe('Classes derived from others', () => {
  it('partial and omit: keys are optional and get no default, and rules apply', async () => {
    const change = (json: unknown) => app.inject({ method: 'PATCH', url: '/orders', json })
    expect((await change({ price: 5 })).status).toBe(200)
    expect(received).toEqual({ price: 5 })
    expect((await change({})).status).toBe(200)
    expect(received).toEqual({})
    expect(fieldErrorsOf(await change({ price: -1, customer: null }))).toMatchObject([
      { path: 'customer', code: 'type' },
      { path: 'price', code: 'min' },
    ])
    expect(fieldErrorsOf(await change({ lines: [] }))).toMatchObject([
      { path: 'lines', code: 'unknown' },
    ])
  })

  it('pick: only the named keys are accepted', async () => {
    expect((await post('/contact', { customer: 'Ada' })).json()).toEqual({ customer: 'Ada' })
    expect(fieldErrorsOf(await post('/contact', { customer: 'ada', price: 1 }))).toMatchObject([
      { path: 'customer', code: 'pattern' },
      { path: 'price', code: 'unknown' },
    ])
  })
})
