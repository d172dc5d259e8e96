/** Source: decisions, Responses (validation), "Bodies" and "Errors"; public face, 1 and 5. Fields as clients meet them. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  ArrayMaxSize,
  IsEmail,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  Length,
  Max,
  Min,
  registerDecorator,
  ValidateNested,
} from 'class-validator'
import {
  bootstrap,
  Controller,
  Field,
  Get,
  HttpError,
  Module,
  NoAuth,
  omit,
  Page,
  partial,
  Patch,
  pick,
  Post,
  reply,
  type Application,
  type BootstrapOptions,
  type FieldFault,
  type InjectResponse,
} from '../../src/index.js'

class Line {
  @Field('string', { minLength: 2 }) sku!: string
  @Field('integer', { min: 1 }) qty!: number
}

class Order {
  @Field('integer', { readOnly: true }) id!: number
  @Field('string', { maxLength: 10, pattern: /^[A-Z]/ }) customer!: string
  @Field('numeric', { min: 0, max: 1000 }) price!: number
  @Field(() => Line, { list: true, minItems: 1, maxItems: 1000 }) lines!: Line[]
  @Field('string', { optional: true, format: 'email' }) mail?: string
  @Field('string', { nullable: true, optional: true, oneOf: ['red', 'blue'] }) colour?:
    string | null
  @Field('boolean', { default: false }) gift!: boolean
  @Field('datetime', { optional: true }) due?: string
  @Field('string', { hidden: true, optional: true }) secret?: string
  @Field('string', { list: true, optional: true, maxItems: 3 }) tags?: string[]
}

class Search {
  @Field('integer', { min: 1, max: 100, default: 10 }) limit!: number
  @Field('boolean', { optional: true }) full?: boolean
  @Field('numeric', { optional: true }) near?: number
  @Field('datetime', { optional: true }) since?: string
  @Field('string', { list: true, optional: true }) tag?: string[]
  @Field('string', { optional: true }) q?: string
}

class Tree {
  @Field('string') name!: string
  @Field(() => Tree, { list: true, optional: true }) children?: Tree[]
  @Field('json', { optional: true }) data?: unknown
}

/** A rule of the application's own, which answers by a promise. */
function IsFree() {
  return (target: object, propertyName: string): void => {
    registerDecorator({
      name: 'isFree',
      target: target.constructor,
      propertyName,
      options: { message: '$property is taken' },
      async: true,
      validator: { validate: (value) => Promise.resolve(value !== 'taken') },
    })
  }
}

class Address {
  @IsString() @Length(2, 20) city!: string
}

/** Described by class-validator alone. */
class Signup {
  @IsEmail() mail!: string
  @IsInt() @Min(18) @Max(150) age!: number
  @IsOptional() @IsIn(['a', 'b']) plan?: string
  @IsFree() @IsString() name!: string
  @ValidateNested() address!: Address
  @IsOptional() @IsString({ each: true }) @ArrayMaxSize(2) roles?: string[]
}

/** Both beside each other. */
class Both {
  @Field('string') @IsEmail() mail!: string
  @Field('integer', { min: 1 }) @Max(5) stars!: number
}

class Fault {
  @Field('string') error!: string
}

class ChangedOrder extends partial(omit(Order, 'lines')) {}
class Contact extends pick(Order, 'customer', 'mail') {}

let given: unknown
let seen: unknown

@Controller
class OrderController {
  @Post('/orders')
  @NoAuth
  create(body: Order) {
    seen = body
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

  @Post('/dropping', { unknownKeys: 'drop' })
  @NoAuth
  dropping(body: Order) {
    seen = body
    return {}
  }

  @Patch('/orders')
  @NoAuth
  change(body: ChangedOrder) {
    seen = body
    return {}
  }

  @Post('/contact')
  @NoAuth
  contact(body: Contact) {
    return body
  }

  @Post('/tree')
  @NoAuth
  tree(body: Tree) {
    return body
  }

  @Post('/signup')
  @NoAuth
  signup(body: Signup) {
    seen = body
    return { isSignup: body instanceof Signup, isAddress: body.address instanceof Address }
  }

  @Post('/both')
  @NoAuth
  both(body: Both) {
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

  @Get('/one', { returns: Order })
  one() {
    return given
  }

  @Get('/list', { returns: [Order] })
  list() {
    return given
  }

  @Get('/page', { returns: Page.of(Line) })
  page() {
    return { items: [{ sku: 'ab', qty: 1, cost: 3 }], total: 9, limit: 1, offset: 0, sql: 'x' }
  }

  @Get('/either', { returns: { 200: Line, 404: Fault } })
  either() {
    return given
  }
}

@Module({ controllers: [OrderController] })
class OrderModule {}

const order = { customer: 'Ada', price: 9.5, lines: [{ sku: 'ab', qty: 2 }] }

function start(options: BootstrapOptions = {}): Promise<Application> {
  return bootstrap(OrderModule, { listen: false, logger: false, env: {}, ...options })
}

let app: Application

beforeAll(async () => {
  app = await start()
})
afterAll(() => app.close())

function faultsOf(answer: InjectResponse): FieldFault[] {
  expect(answer.status).toBe(400)
  const { error, errors } = answer.json() as { error: string; errors: FieldFault[] }
  expect(error).toBe(errors.map(({ message }) => message).join('; '))
  return errors
}

const post = (url: string, json: unknown): Promise<InjectResponse> => app.inject({ url, json })

describe('Validation of a body', () => {
  it('Validation: checked input arrives as an instance of its class, defaults filled in', async () => {
    const answer = await post('/orders', { ...order, colour: null })
    expect(answer.json()).toEqual({ isOrder: true, isLine: true })
    expect(seen).toEqual({ ...order, colour: null, gift: false })
  })

  it('Validation: every fault is named by path, code and message in one answer', async () => {
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
    expect(faultsOf(answer).map(({ path, code }) => `${path} ${code}`)).toEqual([
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
    ['a number over the most', { ...order, price: 1001 }, 'price', 'max'],
    ['an empty list', { ...order, lines: [] }, 'lines', 'minItems'],
    ['an object for a list', { ...order, lines: { 0: {} } }, 'lines', 'type'],
    ['a long list', { ...order, tags: ['a', 'b', 'c', 'd'] }, 'tags', 'maxItems'],
    ['a list for a value', { ...order, customer: ['Ada'] }, 'customer', 'type'],
    ['a lone surrogate', { ...order, customer: 'A\ud800' }, 'customer', 'type'],
    ['NUL', { ...order, customer: 'A\0' }, 'customer', 'type'],
    ['the 30th of February', { ...order, due: '2026-02-30' }, 'due', 'type'],
    ['1 for true', { ...order, gift: 1 }, 'gift', 'type'],
  ])('Validation: %s is 400', async (_, body, path, code) => {
    expect(faultsOf(await post('/orders', body))).toMatchObject([{ path, code }])
  })

  it.each(['id', 'secret', 'other', 'constructor', 'toString', 'hasOwnProperty'])(
    'Bodies: the key %s, read-only, hidden or unknown, is refused with 400',
    async (key) => {
      const answer = await post('/orders', { ...order, [key]: 1 })
      expect(faultsOf(answer)).toMatchObject([{ path: key, code: 'unknown' }])
    },
  )

  it('Bodies: unknownKeys drops them, for a route or for all', async () => {
    const body = { ...order, id: 7, secret: 's', other: 1, lines: [{ sku: 'ab', qty: 2, x: 1 }] }
    const kept = { ...order, gift: false }
    expect((await post('/dropping', body)).status).toBe(200)
    expect(seen).toEqual(kept)
    seen = undefined
    await using dropping = await start({ unknownKeys: 'drop' })
    expect((await dropping.inject({ url: '/orders', json: body })).status).toBe(200)
    expect(seen).toEqual(kept)
  })

  it('Validation: a list of a class is checked item by item', async () => {
    expect((await post('/many', [order.lines[0], order.lines[0]])).json()).toEqual({
      count: 2,
      isLine: true,
    })
    expect((await post('/many', [])).json()).toEqual({ count: 0, isLine: true })
    expect(faultsOf(await post('/many', [order.lines[0], { sku: 'ab', qty: 0 }, null]))).toEqual([
      { path: '1.qty', code: 'min', message: '1.qty must be at least 1' },
      { path: '2', code: 'type', message: '2 must be an object' },
    ])
    expect(faultsOf(await post('/many', order.lines[0]))).toMatchObject([{ path: '' }])
  })

  it('Validation: a class may be named by a thunk', async () => {
    expect((await post('/thunk', order.lines[0])).json()).toEqual({ isLine: true })
    expect(faultsOf(await post('/thunk', {}))).toHaveLength(2)
  })
})

describe('Classes made of others', () => {
  it('partial and omit: absent keys are fine, no default is made up, rules hold', async () => {
    const change = (json: unknown) => app.inject({ method: 'PATCH', url: '/orders', json })
    expect((await change({ price: 5 })).status).toBe(200)
    expect(seen).toEqual({ price: 5 })
    expect((await change({})).status).toBe(200)
    expect(seen).toEqual({})
    expect(faultsOf(await change({ price: -1, customer: null }))).toMatchObject([
      { path: 'customer', code: 'type' },
      { path: 'price', code: 'min' },
    ])
    expect(faultsOf(await change({ lines: [] }))).toMatchObject([
      { path: 'lines', code: 'unknown' },
    ])
  })

  it('pick: the named keys and no others', async () => {
    expect((await post('/contact', { customer: 'Ada' })).json()).toEqual({ customer: 'Ada' })
    expect(faultsOf(await post('/contact', { customer: 'ada', price: 1 }))).toMatchObject([
      { path: 'customer', code: 'pattern' },
      { path: 'price', code: 'unknown' },
    ])
  })
})

describe('Validation of text', () => {
  it('Conversion: a query is converted by kind', async () => {
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
    expect(faultsOf(answer)).toMatchObject([{ path, code }])
  })

  it('Conversion: an undeclared query stays text', async () => {
    expect((await app.inject('/raw?limit=20&full=1')).json()).toEqual({ limit: '20', full: '1' })
  })

  it.each(['{"__proto__":{"a":1}}', '[{"constructor":{"prototype":1}}]', '[', 'NaN', ''])(
    'Conversion: %j in a form is no value for a json field',
    async (data) => {
      const answer = await app.inject({ url: '/tree', form: { name: 'x', data } })
      expect(faultsOf(answer)).toMatchObject([{ path: 'data', code: 'type' }])
    },
  )

  it('Conversion: a form is converted like a query, nested classes written as JSON', async () => {
    const form = { customer: 'Ada', price: '9.50', gift: 'true', lines: '{"sku":"ab","qty":2}' }
    expect((await app.inject({ url: '/orders', form })).json()).toEqual({
      isOrder: true,
      isLine: true,
    })
    expect(seen).toEqual({ ...order, gift: true })
    const wrong = await app.inject({ url: '/orders', form: { ...form, gift: 'on', lines: '{' } })
    expect(faultsOf(wrong).map(({ path, code }) => `${path} ${code}`)).toEqual([
      'lines.0 type',
      'gift type',
    ])
  })
})

describe('class-validator', () => {
  const signup = { mail: 'a@b.example', age: 30, name: 'Ada', address: { city: 'Rome' } }

  it('class-validator: a class described by it alone is checked and built', async () => {
    const answer = await post('/signup', { ...signup, plan: null, roles: ['x'] })
    expect([answer.status, answer.json()]).toEqual([200, { isSignup: true, isAddress: true }])
    expect(seen).toEqual({ ...signup, plan: null, roles: ['x'] })
  })

  it('class-validator: its messages, with the name of the constraint as code', async () => {
    const answer = await post('/signup', {
      mail: 'x',
      age: 17.5,
      name: 'taken',
      address: { city: 'R' },
      plan: 'c',
      roles: ['a', 'b', 3],
      admin: true,
    })
    const faults = faultsOf(answer)
    expect(new Set(faults.map(({ path, code }) => `${path} ${code}`))).toEqual(
      new Set([
        'mail isEmail',
        'age min',
        'age isInt',
        'name isFree',
        'address.city isLength',
        'plan isIn',
        'roles isString',
        'roles arrayMaxSize',
        'admin unknown',
      ]),
    )
    expect(faults).toContainEqual({
      path: 'mail',
      code: 'isEmail',
      message: 'mail must be an email',
    })
    expect(faults).toContainEqual({ path: 'name', code: 'isFree', message: 'name is taken' })
  })

  it.each([null, [], 'text', [signup]])('class-validator: %j is no object', async (body) => {
    expect(faultsOf(await post('/signup', body))).toMatchObject([{ path: '', code: 'type' }])
  })

  it('class-validator: beside @Field both hold', async () => {
    expect((await post('/both', { mail: 'a@b.example', stars: 5 })).status).toBe(200)
    expect(faultsOf(await post('/both', { mail: 'x', stars: 6 }))).toMatchObject([
      { path: 'mail', code: 'isEmail' },
      { path: 'stars', code: 'max' },
    ])
    expect(faultsOf(await post('/both', { mail: 5, stars: 0 }))).toMatchObject([
      { path: 'mail', code: 'type' },
      { path: 'stars', code: 'min' },
    ])
  })
})

describe('Hostile bodies', () => {
  it('Errors: at most 50 are told', async () => {
    const wrong = Array.from({ length: 1000 }, () => ({ sku: 1, qty: 'x' }))
    const faults = faultsOf(await post('/orders', { ...order, lines: wrong }))
    expect(faults).toHaveLength(50)
    expect(faults[49]).toMatchObject({ path: 'lines.24.qty' })
    const unknown = Object.fromEntries(Array.from({ length: 5000 }, (_, key) => [`k${key}`, 1]))
    expect(faultsOf(await post('/orders', { ...order, ...unknown }))).toHaveLength(50)
  })

  it('JSON: a tree of 32 classes fits into 64 levels, one level more is 400', async () => {
    const tree = (levels: number): object =>
      levels === 1 ? { name: 'x' } : { name: 'x', children: [tree(levels - 1)] }
    expect((await post('/tree', tree(32))).status).toBe(200)
    const deep = await post('/tree', tree(33))
    expect([deep.status, deep.json()]).toEqual([
      400,
      { error: 'The JSON body is nested more than 64 levels deep.' },
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
  ])('Validation: %s is 400, soon, and is not sent back whole', async (_, body) => {
    const answer = await post('/orders', body)
    expect(faultsOf(answer).length).toBeGreaterThan(0)
    expect(answer.body.length).toBeLessThan(20_000)
  })

  it('Validation: a json field keeps what it is given, whatever its keys are called', async () => {
    const data = { toString: 1, valueOf: { constructor: 'x' }, list: [null, { a: -0 }] }
    const answer = await post('/tree', { name: 'x', data })
    expect(answer.json()).toEqual({ name: 'x', data: { ...data, list: [null, { a: 0 }] } })
  })
})

describe('Declared output', () => {
  const stored = { ...order, id: 7, secret: 's', rowid: 12, gift: false }
  const sent = { id: 7, customer: 'Ada', price: 9.5, lines: order.lines, gift: false }

  it('returns: only declared fields that are not hidden leave, read-only ones among them', async () => {
    given = stored
    expect((await app.inject('/one')).json()).toEqual(sent)
    given = reply({ ...stored, lines: [{ sku: 'ab', qty: 2, cost: 1 }] }, 201)
    const answer = await app.inject('/one')
    expect([answer.status, answer.json()]).toEqual([201, sent])
    given = Promise.resolve(stored)
    expect((await app.inject('/one')).json()).toEqual(sent)
  })

  it('returns: a list is mapped item by item', async () => {
    given = [stored, stored]
    expect((await app.inject('/list')).json()).toEqual([sent, sent])
    given = []
    expect((await app.inject('/list')).json()).toEqual([])
  })

  it('returns: Page.of names items and counts', async () => {
    expect((await app.inject('/page')).json()).toEqual({
      items: [{ sku: 'ab', qty: 1 }],
      total: 9,
      limit: 1,
      offset: 0,
    })
  })

  it('returns: the class is chosen by status', async () => {
    given = { sku: 'ab', qty: 1, cost: 2 }
    expect((await app.inject('/either')).json()).toEqual({ sku: 'ab', qty: 1 })
    given = reply({ error: 'Gone.', stack: 'secret' }, 404)
    const gone = await app.inject('/either')
    expect([gone.status, gone.json()]).toEqual([404, { error: 'Gone.' }])
    given = reply({ other: 1 }, 202)
    expect((await app.inject('/either')).json()).toEqual({ other: 1 })
  })

  it.each(['/one', '/list', '/either'])('returns: null of %s is 404', async (url) => {
    given = null
    const answer = await app.inject(url)
    expect([answer.status, answer.json()]).toEqual([404, { error: 'Not found' }])
  })

  it('returns: an error that is returned is no data', async () => {
    given = new HttpError(409, 'Taken.')
    const answer = await app.inject('/one')
    expect([answer.status, answer.json()]).toEqual([409, { error: 'Taken.' }])
  })

  it('returns: an object that holds itself is a masked 500', async () => {
    const line: Record<string, unknown> = { sku: 'ab' }
    line.qty = line
    given = line
    const answer = await app.inject('/either')
    expect([answer.status, answer.json()]).toEqual([500, { error: 'Internal server error' }])
  })
})
