/** Values that handlers return are sent in the format of the field's kind. Source: decisions, Validation and fields. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Field,
  Get,
  GraphQL,
  Module,
  NoAuth,
  Record,
  type Application,
  type FieldRules,
} from 'filigree'
import { startBothEngines } from '../records/both-engines.js'
import type { KindName } from '../public-types.js'

const timestamp = '2026-11-20T10:00:00.000Z'
const uuid = '0190d1a2-0000-7000-8000-00000000abcd'

/** The kind, its rules, a returned value, and the value that is sent. */
const cases: readonly (readonly [KindName, FieldRules, unknown, unknown])[] = [
  ['bigint', {}, 10n, '10'],
  ['bigint', {}, -9223372036854775808n, '-9223372036854775808'],
  ['bigint', {}, 10, '10'],
  ['bigint', {}, '0010', '10'],
  ['bigint', {}, '-0', '0'],
  ['bigint', {}, '9007199254740993', '9007199254740993'],
  ['decimal', {}, 9.5, '9.50'],
  ['decimal', {}, '9.5', '9.50'],
  ['decimal', {}, 10n, '10.00'],
  ['decimal', {}, 0.1 + 0.2, '0.30'],
  ['decimal', {}, -0, '0.00'],
  ['decimal', { precision: 38, scale: 0 }, 1e21, '1000000000000000000000'],
  ['decimal', { precision: 12, scale: 8 }, 1e-7, '0.00000010'],
  ['date', {}, new Date(timestamp), '2026-11-20'],
  ['date', {}, '2026-11-20', '2026-11-20'],
  ['datetime', {}, new Date(timestamp), timestamp],
  ['datetime', {}, '2026-11-20T12:00:00+02:00', timestamp],
  ['datetime', {}, timestamp, timestamp],
  ['time', {}, '10:30:00', '10:30:00'],
  ['uuid', {}, uuid.toUpperCase(), uuid],
  ['id', { key: 'uuid' }, uuid.toUpperCase(), uuid],
  ['blob', {}, Buffer.from('hi'), 'aGk='],
  ['blob', {}, new Uint8Array([104, 105]), 'aGk='],
  ['id', {}, 10n, 10],
  ['integer', {}, 7, 7],
  ['integer', {}, 10n, 10],
  ['integer', {}, -9007199254740991n, -9007199254740991],
  ['numeric', {}, 1.5, 1.5],
  ['numeric', {}, 10n, 10],
  ['boolean', {}, false, false],
  ['string', {}, 'a', 'a'],
  ['text', {}, 'a', 'a'],
  ['enum', { oneOf: ['a'] }, 'a', 'a'],
  ['json', {}, { a: [new Date(timestamp)] }, { a: [timestamp] }],
]

class Plain {}
class Lists {}
for (const [index, [kind, rules]] of cases.entries()) {
  Field(kind, rules)(Plain.prototype, `f${index}`)
  Field(kind, { ...rules, list: true })(Lists.prototype, `f${index}`)
}
class Holder {
  @Field(() => Plain) one!: Plain
  @Field(() => Plain, { list: true }) many!: Plain[]
}

const column = (at: 2 | 3): object =>
  Object.fromEntries(cases.map((entry, index) => [`f${index}`, entry[at]]))
const lists = (at: 2 | 3): object =>
  Object.fromEntries(cases.map((entry, index) => [`f${index}`, [entry[at], entry[at]]]))

@Controller('/')
class Values {
  @Get('/plain', { returns: Plain }) plain(): object {
    return column(2)
  }
  @Get('/listed', { returns: [Plain] }) listed(): object {
    return [column(2)]
  }
  @Get('/lists', { returns: Lists }) lists(): object {
    return lists(2)
  }
  @Get('/nested', { returns: Holder }) nested(): object {
    return { one: column(2), many: [column(2)] }
  }
}

@Module({ controllers: [Values] })
class ValuesModule {}

describe('a value that a handler returns', () => {
  let app: Application
  beforeAll(async () => {
    app = await bootstrap(ValuesModule, { listen: false, logger: false, env: {} })
  })
  afterAll(() => app.close())

  const get = async (url: string): Promise<unknown> => (await app.inject(url)).json()

  it('is sent in the format of its kind', async () => {
    expect(await get('/plain')).toEqual(column(3))
  })
  it('is sent in that format in a list of objects', async () => {
    expect(await get('/listed')).toEqual([column(3)])
  })
  it('is sent in that format in lists of values', async () => {
    expect(await get('/lists')).toEqual(lists(3))
  })
  it('is sent in that format in nested classes', async () => {
    expect(await get('/nested')).toEqual({ one: column(3), many: [column(3)] })
  })
})

it('an integer that would be rounded is 500', async () => {
  class Large {
    @Field('integer') value!: number
  }
  @Controller('/')
  class Larges {
    @Get('/', { returns: Large }) large(): object {
      return { value: 9007199254740993n }
    }
  }
  @Module({ controllers: [Larges] })
  class LargeModule {}
  const app = await bootstrap(LargeModule, { listen: false, logger: false, env: {} })
  expect((await app.inject('/')).status).toBe(500)
  await app.close()
})

class Inner {
  @Field('decimal') price!: string
  @Field('date') day!: string
  @Field('bigint') big!: string
}

describe.each(await startBothEngines())(
  'a record that a resolver returns, on %s',
  (_engine, open) => {
    @Record({ table: 'output_item' })
    @NoAuth
    class Item {
      @Field('id') id!: number
      @Field('bigint') big!: string
      @Field('integer') count!: number
      @Field('numeric') size!: number
      @Field('decimal') price!: string
      @Field('date') day!: string
      @Field('datetime') at!: string
      @Field('uuid') mark!: string
      @Field('date', { list: true }) days!: string[]
      @Field(() => Inner) inner!: Inner
    }

    const resolverValue = {
      ...{
        id: 1n,
        count: 10n,
        size: 10n,
        big: 10n,
        price: 9.5,
        day: new Date(timestamp),
        at: new Date(timestamp),
      },
      ...{ mark: uuid.toUpperCase(), days: [new Date(timestamp)] },
      inner: { price: 9.5, day: new Date(timestamp), big: 10n },
    }
    const fields = 'id count size big price day at mark days inner { price day big }'

    it('is sent in the format of its kinds', async () => {
      const graphql = new GraphQL()
      graphql.registerRoute('/graphql')
      graphql.schema.fromOrm(Item)
      graphql.schema.addQuery('made', { type: 'Item', resolve: () => resolverValue })
      graphql.schema.addQuery('several', { type: '[Item!]', resolve: () => [resolverValue] })
      @Module({ records: [Item], graphql: [graphql] })
      class ItemModule {}
      const options = { listen: false, logger: false, env: {}, database: await open() }
      const app = await bootstrap(ItemModule, options)
      const query = `{ made { ${fields} } several { ${fields} } }`
      const answer = await app.inject({ method: 'POST', url: '/graphql', json: { query } })
      const sent = {
        ...{
          id: '1',
          count: 10,
          size: 10,
          big: '10',
          price: '9.50',
          day: '2026-11-20',
          at: timestamp,
        },
        ...{ mark: uuid, days: ['2026-11-20'] },
        inner: { price: '9.50', day: '2026-11-20', big: '10' },
      }
      expect(answer.json()).toEqual({ data: { made: sent, several: [sent] } })
      await app.close()
    })
  },
)
