/** Nested classes of records: filters on their parts, at every interface. Source: decisions, Packages by others. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  type Application,
  bootstrap,
  connect,
  Controller,
  type Database,
  type ExactNumber,
  Field,
  Module,
  NoAuth,
  Record,
} from '../../src/index.js'
import { failure } from '../contracts/database-fixture.js'
import { startBothEngines } from './both-engines.js'

class Rate {
  @Field('decimal', { precision: 30, scale: 4 }) percent!: ExactNumber
  @Field('json', { nullable: true, optional: true }) source?: unknown
}

class Money {
  @Field('decimal', { precision: 12, scale: 2 }) amount!: ExactNumber
  @Field('string', { maxLength: 3 }) currency!: string
  @Field('integer', { optional: true }) places?: number
  @Field('bigint', { optional: true }) units?: ExactNumber
  @Field('boolean', { optional: true }) gross?: boolean
  @Field('datetime', { optional: true }) setAt?: string
  @Field('enum', { oneOf: ['list', 'sale'], optional: true }) mode?: 'list' | 'sale'
  @Field('string', { list: true, optional: true }) labels?: string[]
  @Field(() => Rate, { nullable: true, optional: true }) rate?: Rate | null
  @Field('string', { hidden: true, optional: true }) memo?: string
}

@Record
@NoAuth
class Item {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field(() => Money, { nullable: true, optional: true }) price?: Money | null
  @Field(() => [Money], { nullable: true, optional: true }) offers?: Money[] | null
}

@Controller('/items', { crud: Item })
@NoAuth
class Items {}

@Module({ controllers: [Items], records: [Item] })
class Shop {}

const money = (values: Partial<Money>): Money => Object.assign(new Money(), values)
const rateOf = (values: Partial<Rate>): Rate => Object.assign(new Rate(), values)

const engines = await startBothEngines()

describe.each(engines)('%s: nested classes', (_name, open) => {
  let app: Application
  let database: Database
  beforeAll(async () => {
    database = await connect(await open(), { records: [Item] })
    await database.sync()
    app = await bootstrap(Shop, { database, listen: false, logger: false, graphql: true })
    const nineRate = { percent: '12345678901234567890.1234', source: { name: 'bank' } }
    await database.records(Item).createMany([
      {
        name: 'nine',
        price: money({
          amount: '9',
          currency: 'EUR',
          places: 2,
          units: '9007199254740993',
          gross: true,
          setAt: '2026-11-20T12:00:00+02:00',
          mode: 'list',
          labels: ['new', 'red'],
          rate: rateOf(nineRate),
          memo: 'm',
        }),
        offers: [money({ amount: '8.50', currency: 'EUR' })],
      },
      {
        name: 'ten',
        price: money({
          amount: '10.5',
          currency: 'USD',
          units: '9007199254740992',
          gross: false,
          rate: rateOf({ percent: '-2' }),
        }),
      },
      { name: 'minus', price: money({ amount: '-100', currency: 'EUR' }) },
      { name: 'free', price: null },
    ])
  })
  afterAll(async () => {
    await app.close()
    await database.close()
  })

  const names = async (where: unknown): Promise<string[]> => {
    const rows = await database.records(Item).list({ where: where as object })
    return rows.map(({ name }) => name)
  }
  const found = async (query: string): Promise<unknown> => {
    const response = await app.inject(`/items?${encodeURI(query)}`)
    const rows = response.json() as { name: string }[] | { error: string }
    return Array.isArray(rows) ? rows.map(({ name }) => name) : rows.error
  }

  it('compares a decimal as a decimal, in a program', async () => {
    expect(await names({ price: { amount: { gte: '9.00' } } })).toEqual(['nine', 'ten'])
    expect(await names({ price: { amount: '10.50' } })).toEqual(['ten'])
    expect(await names({ price: { amount: { in: ['9', '-100.0'] } } })).toEqual(['nine', 'minus'])
    expect(await names({ price: { amount: { between: ['-100', '9.5'] } } })).toEqual([
      'nine',
      'minus',
    ])
    expect(await names({ price: { amount: { ne: '9' } } })).toEqual(['ten', 'minus', 'free'])
    expect(await names({ price: { path: ['amount'], lt: '9.5' } })).toEqual(['nine', 'minus'])
  })

  it('compares numbers beyond the digits of a double', async () => {
    expect(await names({ price: { units: { gt: '9007199254740992' } } })).toEqual(['nine'])
    const percent = { gt: '12345678901234567890.1233', lt: '12345678901234567890.1235' }
    expect(await names({ price: { rate: { percent } } })).toEqual(['nine'])
    expect(await names({ price: { rate: { percent: { lt: '0' } } } })).toEqual(['ten'])
  })

  it('compares each part as its kind', async () => {
    expect(await names({ price: { currency: 'EUR', places: { lte: 2 } } })).toEqual(['nine'])
    expect(await names({ price: { currency: { startsWith: 'U' } } })).toEqual(['ten'])
    expect(await names({ price: { gross: true } })).toEqual(['nine'])
    expect(await names({ price: { setAt: { gte: '2026-11-20T10:00Z' } } })).toEqual(['nine'])
    expect(await names({ price: { mode: { in: ['list', null] }, amount: { gt: '0' } } })).toEqual([
      'nine',
      'ten',
    ])
    expect(await names({ price: { labels: { has: 'red' } } })).toEqual(['nine'])
    expect(await names({ price: { rate: { source: { path: ['name'], eq: 'bank' } } } })).toEqual([
      'nine',
    ])
  })

  it('tests objects for null, and combines conditions', async () => {
    expect(await names({ price: { isNull: true } })).toEqual(['free'])
    expect(await names({ price: { rate: { isNull: true } } })).toEqual(['minus', 'free'])
    expect(await names({ price: { rate: null } })).toEqual(['minus', 'free'])
    const or = [{ currency: 'USD' }, { amount: { lt: '0' } }]
    expect(await names({ price: { or } })).toEqual(['ten', 'minus'])
    expect(await names({ price: { not: { currency: 'USD' } }, name: { ne: 'free' } })).toEqual([
      'nine',
      'minus',
    ])
  })

  it('finds parts of list items by their position', async () => {
    expect(await names({ offers: { path: [0, 'amount'], eq: '8.5' } })).toEqual(['nine'])
    expect(await names({ offers: { path: [0, 'amount'], gt: '8.5' } })).toEqual([])
  })

  it('has the same filters in a query string', async () => {
    expect(await found('price.amount.gte=9.00')).toEqual(['nine', 'ten'])
    expect(await found('price.amount=10.50')).toEqual(['ten'])
    expect(await found('price.amount=9&price.amount=-100')).toEqual(['nine', 'minus'])
    expect(await found('price.path=amount&price.lt=9.5')).toEqual(['nine', 'minus'])
    expect(await found('price.path.amount.lt=9.5')).toEqual(['nine', 'minus'])
    expect(await found('price={"path":["amount"],"lt":"9.5"}')).toEqual(['nine', 'minus'])
    expect(await found('price.gross=1')).toEqual(['nine'])
    expect(await found('price.rate.percent.lt=0')).toEqual(['ten'])
    expect(await found('price.rate.isNull=true')).toEqual(['minus', 'free'])
    expect(await found('price.labels.has=red')).toEqual(['nine'])
    expect(await found('price.currency.in=USD,GBP')).toEqual(['ten'])
    expect(await found('offers.path=0,amount&offers.eq=8.5')).toEqual(['nine'])
  })

  it.each([
    ['price.amount.gte=nine', /price\.amount\.gte must be a decimal number/],
    ['price.amount.like=9', /price\.amount\.like cannot be used for kind "decimal"/],
    ['price.amount.gtee=9', /price\.amount\.gtee is not a comparison/],
    ['price.amout=9', /price\.amout is not a field of Money\. Did you mean "amount"/],
    ['price.amout.gte=9', /price\.amout is not a field of Money\. Did you mean "amount"/],
    ['price.memo=m', /price\.memo is not a field of Money/],
    ['price.path=memo&price.eq=m', /is not a field of Money/],
    ['price.mode=gift', /must be one of list, sale/],
    ['price.rate=5', /price\.rate/],
    ['price.rate.percent.gt=x', /price\.rate\.percent\.gt must be a decimal number/],
  ])('answers %s with 400', async (query, message) => {
    expect(await found(query)).toMatch(message)
  })

  it('lets a program use hidden parts', async () => {
    expect(await names({ price: { memo: 'm' } })).toEqual(['nine'])
    expect(await failure(names({ price: {} }))).toMatchObject({ code: 'VALIDATION' })
  })

  it('documents the parts', async () => {
    const document = (await app.inject('/swagger/openapi.json')).body
    expect(document).toContain('"price.amount.gte"')
    expect(document).toContain('"price.rate.percent"')
    expect(document).not.toContain('price.memo')
  })
})
