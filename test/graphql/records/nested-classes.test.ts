/** Nested classes of records in GraphQL: types, selections, filters and inputs. Source: decisions, Packages by others. */
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  connect,
  type Database,
  type ExactNumber,
  Field,
  GraphQL,
  HasMany,
  BelongsTo,
  Record,
  type Rel,
  Resolve,
} from '../../../src/index.js'
import { reusing, startBothEngines } from '../../records/both-engines.js'
import { countStatements } from '../planner/count-statements.js'

class Rate {
  @Field('decimal', { precision: 30, scale: 4 }) percent!: ExactNumber
  @Field('json', { nullable: true, optional: true }) source?: unknown
}

class Money {
  @Field('decimal', { precision: 12, scale: 2, min: '-1000' }) amount!: ExactNumber
  @Field('string', { maxLength: 3 }) currency!: string
  @Field('integer', { optional: true }) places?: number
  @Field('integer', { optional: true, max: 2 ** 50 }) large?: number
  @Field('bigint', { optional: true }) units?: ExactNumber
  @Field('numeric', { optional: true }) factor?: number
  @Field('boolean', { optional: true }) gross?: boolean
  @Field('datetime', { optional: true }) set_at?: string
  @Field('blob', { optional: true }) proof?: Uint8Array
  @Field('enum', { oneOf: ['list', 'on sale'], enum: 'Mode', optional: true })
  mode?: 'list' | 'on sale'
  @Field('string', { list: true, optional: true }) labels?: string[]
  @Field(() => Rate, { nullable: true, optional: true }) rate?: Rate | null
  @Field(() => [Rate], { optional: true }) rates?: Rate[]
  @Field('string', { hidden: true, optional: true }) memo?: string
  @Field('string', { readOnly: true, optional: true }) source?: string
}

@Record
class Shelf {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => Item) items!: Rel<Item[]>
}

@Record
class Item {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field(() => Money, { nullable: true, optional: true }) price?: Money | null
  @Field(() => [Money], { nullable: true, optional: true }) offers?: Money[] | null
  @Field('integer', { nullable: true, optional: true }) shelfId?: number | null
  @BelongsTo(() => Shelf) shelf!: Rel<Shelf> | null
  @Resolve('String', { needs: ['name'] }) loud(): string {
    return this.name.toUpperCase()
  }
}

const engines = await startBothEngines()

const money = (values: object): Money => Object.assign(new Money(), values)

const nine = {
  amount: '9',
  currency: 'EUR',
  places: 2,
  large: 2 ** 40,
  units: '9007199254740993',
  factor: 0.1 + 0.2,
  gross: true,
  set_at: '2026-11-20T12:00:00+02:00',
  proof: Buffer.from('hi'),
  mode: 'on sale' as const,
  labels: ['new', 'red'],
  rate: { percent: '12345678901234567890.1234', source: { name: 'bank' } },
  rates: [{ percent: '1' }, { percent: '2.5', source: ['x'] }],
  memo: 'hidden',
}
/** Every part, as clients get it. */
const nineForClients = {
  amount: '9.00',
  currency: 'EUR',
  places: 2,
  large: 2 ** 40,
  units: '9007199254740993',
  factor: 0.1 + 0.2,
  gross: true,
  setAt: '2026-11-20T10:00:00.000Z',
  proof: 'aGk=',
  mode: 'on_sale',
  labels: ['new', 'red'],
  rate: { percent: '12345678901234567890.1234', source: '{"name":"bank"}' },
  rates: [
    { percent: '1.0000', source: null },
    { percent: '2.5000', source: '["x"]' },
  ],
  source: null,
}
const parts = `amount currency places large units factor gross setAt proof mode labels source
  rate { percent source } rates { percent source }`

describe.each(engines)('nested classes in GraphQL on %s', (_name, open) => {
  let database: Database
  let graphql: GraphQL
  const openEmpty = reusing(open)
  beforeEach(async () => {
    await (database as Database | undefined)?.close()
    database = await connect(await openEmpty(), { records: [Item, Shelf] })
    await database.sync()
    graphql = new GraphQL({ database })
    graphql.schema.fromOrm(Item)
    await database.records(Shelf).create({ name: 'top' })
    await database.records(Item).createMany([
      {
        name: 'nine',
        shelfId: 1,
        price: money(nine),
        offers: [money({ amount: '8.5', currency: 'EUR' })],
      },
      { name: 'ten', price: money({ amount: '10.5', currency: 'USD', rate: null }) },
      { name: 'free', price: null },
    ])
  })
  afterAll(() => database.close())

  const run = async (text: string, variables?: object) =>
    JSON.parse(JSON.stringify(await graphql.execute(text, { ...variables }))) as {
      data: { [name: string]: unknown } | null
      errors?: { message: string; extensions: { [name: string]: unknown } }[]
    }
  /** A field with a resolver makes the resolvers read the whole selection. */
  const both = async (selection: string): Promise<unknown> => {
    const query = (more: string): string => `{ item(id: 1) { ${more} ${selection} } }`
    const { result, count } = await countStatements(database, () => run(query('')))
    expect(count).toBe(1)
    const resolved = await run(query('loud'))
    expect({ item: { loud: 'NINE', ...(result.data?.item as object) } }).toEqual(resolved.data)
    return result.data?.item
  }

  it('selects parts in one statement, as resolvers do', async () => {
    expect(await both(`price { ${parts} }`)).toEqual({ price: nineForClients })
    expect(await both('price { __typename a: amount } offers { amount currency places }')).toEqual({
      price: { __typename: 'Money', a: '9.00' },
      offers: [{ amount: '8.50', currency: 'EUR', places: null }],
    })
  })

  it('selects parts of related rows, of lists and of pages', async () => {
    const related = '{ shelves { name items { price { amount } } } }'
    const { result, count } = await countStatements(database, () => run(related))
    expect(result.data).toEqual({
      shelves: [{ name: 'top', items: [{ price: { amount: '9.00' } }] }],
    })
    expect(count).toBe(1)
    expect((await run('{ items { shelf { items { price { rate { percent } } } } } }')).errors).toBe(
      undefined,
    )
    expect((await run('{ items { price { amount rate { percent } } } }')).data).toEqual({
      items: [
        { price: { amount: '9.00', rate: { percent: nine.rate.percent } } },
        { price: { amount: '10.50', rate: null } },
        { price: null },
      ],
    })
    expect((await run('{ itemsPage { edges { node { price { currency } } } } }')).data).toEqual({
      itemsPage: {
        edges: [
          { node: { price: { currency: 'EUR' } } },
          { node: { price: { currency: 'USD' } } },
          { node: { price: null } },
        ],
      },
    })
  })

  it('merges selections of fragments', async () => {
    const query = `{ items(limit: 1) { price { amount } ...F ... on Item { price { rate { percent } } } } }
      fragment F on Item { price { currency rate { source } } }`
    expect((await run(query)).data).toEqual({
      items: [
        {
          price: {
            amount: '9.00',
            rate: { percent: nine.rate.percent, source: '{"name":"bank"}' },
            currency: 'EUR',
          },
        },
      ],
    })
  })

  it.each([
    ['{ price: { amount: { gte: "9" } } }', ['nine', 'ten']],
    ['{ price: { amount: { eq: "10.5" }, currency: { eq: "USD" } } }', ['ten']],
    [
      '{ price: { or: [{ currency: { like: "U%" } }, { setAt: { isNull: false } }] } }',
      ['nine', 'ten'],
    ],
    ['{ price: { not: { currency: { eq: "USD" } }, isNull: false } }', ['nine']],
    ['{ price: { isNull: true } }', ['free']],
    ['{ price: { rate: { percent: { gt: "12345678901234567890.1233" } } } }', ['nine']],
    ['{ price: { mode: { eq: on_sale } } }', ['nine']],
    ['{ price: { labels: { has: "red" } } }', ['nine']],
    ['{ price: { rates: { path: ["1", "percent"], eq: "2.5" } } }', ['nine']],
    ['{ offers: { path: ["0", "amount"], lt: "9" } }', ['nine']],
    ['{ shelf: { items: { price: { amount: { lt: "9.5" } } } } }', ['nine']],
  ])('filters by %s', async (where, names) => {
    const items = names.map((name) => ({ name }))
    expect(await run(`{ items(where: ${where}) { name } }`)).toEqual({ data: { items } })
  })

  it('answers filters that do not fit with the path of the part', async () => {
    const { errors } = await run('{ items(where: { price: { amount: { eq: "x" } } }) { name } }')
    expect(errors?.[0]?.message).toMatch(/where\.price\.amount\.eq must be a decimal number/)
  })

  it('writes objects, and selects their parts', async () => {
    const text = `mutation M($input: ItemInput!) { createItem(input: $input) { price { ${parts} } } }`
    const { memo, set_at: setAt, ...more } = nine
    expect(memo).toBe('hidden')
    const rates = [{ percent: '1' }, { percent: '2.5', source: '["x"]' }]
    const price = {
      ...more,
      setAt,
      proof: 'aGk=',
      mode: 'on_sale',
      rate: { ...nine.rate, source: '{"name":"bank"}' },
      rates,
    }
    const variables = { input: { name: 'new', price } }
    expect(await run(text, variables)).toEqual({ data: { createItem: { price: nineForClients } } })
    const plain =
      'mutation { updateItem(id: 2, input: { price: { amount: "1", currency: "CHF" }, offers: [] }) { price { amount rate { percent } } offers { amount } } }'
    expect(await run(plain)).toEqual({
      data: { updateItem: { price: { amount: '1.00', rate: null }, offers: [] } },
    })
    expect(
      await run('mutation { updateItem(id: 2, input: { price: null }) { price { amount } } }'),
    ).toEqual({
      data: { updateItem: { price: null } },
    })
  })

  it('reports all errors of an object at once, with the names of clients', async () => {
    const price = { currency: 'EURO', setAt: 'soon', rates: [{ percent: '1' }, { percent: 'x' }] }
    const { errors } = await run(
      'mutation M($input: ItemInput!) { createItem(input: $input) { id } }',
      { input: { name: 'new', price } },
    )
    const fields = errors?.[0]?.extensions.errors as { path: string }[]
    expect(fields.map(({ path }) => path)).toEqual([
      'input.price.amount',
      'input.price.currency',
      'input.price.setAt',
      'input.price.rates.1.percent',
    ])
  })

  it('selects parts in subscriptions', async () => {
    const text = 'subscription { itemChanged { item { price { amount } } } }'
    const stream = (await graphql.subscribe(text)) as AsyncIterableIterator<unknown>
    const event = stream.next()
    await database.records(Item).update(2, { price: money({ amount: '3', currency: 'EUR' }) })
    expect(JSON.parse(JSON.stringify((await event).value))).toEqual({
      data: { itemChanged: { item: { price: { amount: '3.00' } } } },
    })
    await stream.return?.()
  })

  it('lets resolvers report a stored value that GraphQL cannot express', async () => {
    const update = database.kysely.updateTable('item').where('id', '=', 2)
    await update.set({ price: JSON.stringify({ amount: '10.5', places: 2 ** 40 }) }).execute()
    expect((await run('{ item(id: 2) { price { amount } } }')).data).toEqual({
      item: { price: { amount: '10.50' } },
    })
    const { data, errors } = await run('{ item(id: 2) { price { places amount } } }')
    expect(data).toEqual({ item: { price: { places: null, amount: '10.50' } } })
    expect(errors).toMatchObject([{ path: ['item', 'price', 'places'] }])
  })
})

describe('the schema of nested classes', () => {
  it('has an object type, an input type and a filter', () => {
    const graphql = new GraphQL()
    graphql.schema.fromOrm(Item)
    const { sdl } = graphql
    const plain = sdl.replace(/"""[^"]*"""\n\s*/g, '').replace(/\s+/g, ' ')
    expect(plain).toContain('price: Money offers: [Money!]')
    expect(plain).toContain('price: MoneyInput offers: [MoneyInput!]')
    expect(plain).toContain('price: MoneyWhere offers: JsonFilter')
    expect(plain).toContain('type Money { amount: String')
    expect(plain).toContain(
      'input RateWhere { and: [RateWhere!] or: [RateWhere!] not: RateWhere isNull: Boolean percent: DecimalFilter source: JsonFilter }',
    )
    expect(plain).not.toContain('memo')
    expect(/input MoneyInput \{[^}]*source/.test(plain)).toBe(false)
  })

  it('has one type for a class that several records use', () => {
    @Record
    class Bill {
      @Field('id') id!: number
      @Field(() => Money) total!: Money
    }
    const graphql = new GraphQL()
    graphql.schema.fromOrm(Item)
    graphql.schema.fromOrm(Bill)
    expect(graphql.sdl.match(/^type Money /gm)).toHaveLength(1)
  })

  it('is described with the records that use it', () => {
    const graphql = new GraphQL()
    graphql.schema.fromOrm(Item)
    expect(graphql.describe()).toContain('type Money {')
    expect(graphql.describe('Item')).toContain('input MoneyWhere {')
  })

  it('may contain itself', () => {
    class Node {
      @Field('string') name!: string
      @Field(() => [Node], { optional: true }) children?: Node[]
      @Field(() => Node, { optional: true }) next?: Node
    }
    @Record
    class Tree {
      @Field('id') id!: number
      @Field(() => Node) root!: Node
    }
    const graphql = new GraphQL()
    graphql.schema.fromOrm(Tree)
    expect(graphql.sdl).toContain('children: [NodeInput!]')
  })

  it('refuses a record with the name of a nested class, and names both', () => {
    const nested = (() => {
      class Shelf {
        @Field('string') name!: string
      }
      return Shelf
    })()
    @Record
    class Box {
      @Field('id') id!: number
      @Field(() => nested) shelf!: object
    }
    const graphql = new GraphQL()
    graphql.schema.fromOrm(Box)
    graphql.schema.fromOrm(Shelf)
    expect(() => graphql.sdl).toThrow(
      /Shelf \(the class of Box\.shelf\) and Shelf both make the GraphQL type "Shelf"/,
    )
  })
})
