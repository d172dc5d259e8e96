import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  connect,
  Controller,
  type Database,
  Field,
  type Generated,
  Module,
  NoAuth,
  Record,
  checkOf,
} from '../../src/index.js'
import { failure } from '../contracts/database-fixture.js'
import { startBothEngines } from './both-engines.js'

@Record
class Price {
  @Field('id') id!: number
  @Field('decimal', { precision: 12, scale: 2, min: '0.00', max: '1000000.00', default: '1' })
  amount!: Generated<string>
  @Field('decimal', { precision: 30, scale: 10, optional: true }) rate?: string
  @Field('bigint', { optional: true }) views?: string
}

@Controller('/prices', { crud: Price })
@NoAuth
class Prices {}

@Module({ controllers: [Prices], records: [Price] })
class Shop {}

const engines = await startBothEngines()

describe.each(engines)('%s: decimals', (_name, open) => {
  let database: Database
  beforeAll(async () => {
    database = await connect(await open(), { records: [Price] })
    await database.sync()
  })
  afterAll(() => database.close())

  it.each([
    ['9.5', '9.50'],
    ['007', '7.00'],
    ['.5', '0.50'],
    ['-0', '0.00'],
    ['9.500', '9.50'],
    ['999999.99', '999999.99'],
  ])('returns %s with its full scale from every method', async (input, stored) => {
    const prices = database.records(Price)
    const created = await prices.create({ amount: input })
    expect(created.amount).toBe(stored)
    expect((await prices.find(created.id))?.amount).toBe(stored)
    expect((await prices.update(created.id, { amount: input }))?.amount).toBe(stored)
    expect(await prices.count({ id: created.id, amount: input })).toBe(1)
    await prices.insertMany([{ amount: input }])
    const [last] = await prices.list({ orderBy: { id: 'desc' }, limit: 1 })
    expect(last?.amount).toBe(stored)
  })

  it('fills in a default with its full scale', async () => {
    expect((await database.records(Price).create({})).amount).toBe('1.00')
  })

  it.each([
    ['1e3', 'type'],
    ['NaN', 'type'],
    ['Infinity', 'type'],
    ['', 'type'],
    [' 1.00', 'type'],
    ['1 000', 'type'],
    ['1,00', 'type'],
    ['+1', 'type'],
    ['1.005', 'type'],
    [9.5, 'type'],
    ['-0.01', 'min'],
    ['1000000.01', 'max'],
  ])('refuses %j', async (amount, code) => {
    const error = await failure(database.records(Price).create({ amount: amount as string }))
    expect(error.errors).toMatchObject([{ path: 'amount', code }])
  })

  it('sorts and compares exactly where floating point would not', async () => {
    const prices = database.records(Price)
    await database.kysely.deleteFrom('price').execute()
    const rates = ['9007199254740993.0000000001', '9007199254740993', '-0.0000000001', '12']
    for (const rate of rates) await prices.create({ rate })
    const sorted = await prices.list({ orderBy: { rate: 'desc' } })
    expect(sorted.map(({ rate }) => rate)).toEqual([
      '9007199254740993.0000000001',
      '9007199254740993.0000000000',
      '12.0000000000',
      '-0.0000000001',
    ])
    expect(await prices.count({ rate: { gt: '9007199254740993' } })).toBe(1)
    expect(await prices.count({ rate: { lt: '0' } })).toBe(1)
    expect(await prices.count({ rate: { in: ['12', '-0.0000000001'] } })).toBe(2)
  })

  it('keeps integers beyond 2⁵³ exact in GraphQL conditions', async () => {
    const env = { APP_API_KEY: 'key' }
    const app = await bootstrap(Shop, { database, listen: false, logger: false, env })
    const { id } = await database.records(Price).create({ views: '9007199254740993' })
    await database.records(Price).create({ views: '9007199254740992' })
    const document = '{ prices(where: { views: { gt: "9007199254740992" } }) { id views } }'
    const prices = [{ id: String(id), views: '9007199254740993' }]
    expect(await app.graphql.execute(document)).toEqual({ data: { prices } })
    const schemas = (app.openapi as unknown as Document).components.schemas
    expect(schemas.Price?.properties.amount).toMatchObject({ type: 'string', format: 'decimal' })
    await app.close()
  })
})

interface Document {
  components: { schemas: { Price?: { properties: { amount: unknown } } } }
}

describe('the declaration of a decimal', () => {
  it.each([
    [{ precision: 0 }, 'precision'],
    [{ precision: 39 }, 'precision'],
    [{ precision: 2, scale: 3 }, 'scale'],
    [{ min: 0 }, 'min'],
    [{ max: '1e3' }, 'max'],
    [{ default: 5 }, 'default'],
    [{ oneOf: ['1.234'] }, 'oneOf'],
  ])('refuses %j', (rules, rule) => {
    class Faulty {}
    Field('decimal', rules)(Faulty.prototype, 'amount')
    expect(() => checkOf(Faulty)).toThrow(rule)
  })

  it('requires oneOf for an enum', () => {
    class Faulty {}
    Field('enum')(Faulty.prototype, 'color')
    expect(() => checkOf(Faulty)).toThrow('kind "enum" needs rule "oneOf"')
  })
})
