import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Field, GraphQL, Record as RecordOf, type Database } from '../../../src/index.js'
import { startBothEngines } from '../../records/both-engines.js'
import { Category, openShop, Product, Review, shopGraphql, shopRecords } from '../records/shop.js'
import { countStatements } from './count-statements.js'
import type { Class } from '../../public-types.js'

const columns = Array.from({ length: 200 }, (_, index) => `column${index}`)
const Wide = { Wide: class {} }.Wide as Class
RecordOf(Wide)
Field('id')(Wide.prototype as object, 'id')
for (const column of columns) Field('integer', { default: 1 })(Wide.prototype as object, column)

describe.each(await startBothEngines())('planner on %s', (_name, open) => {
  let database: Database
  let graphql: GraphQL
  beforeAll(async () => {
    database = await openShop(await open(), [...shopRecords, Wide])
    graphql = shopGraphql(database, [...shopRecords, Wide])
    for (let id = 1; id <= 4; id++) {
      await database.records(Category).create({ name: `C${id}` })
      for (let place = 1; place <= 12; place++) {
        const name = `P${String(place).padStart(2, '0')}`
        const stock = place % 3 === 0 ? null : place
        const product = await database
          .records(Product)
          .create({ name, price: place / 2, stock, categoryId: id, secret: 's' })
        await database
          .records(Review)
          .insertMany([{ stars: 1 + (place % 5), review_text: 'ok', productId: product.id }])
      }
    }
    await database.records(Wide).create({})
  })
  afterAll(() => database.close())

  const run = async (text: string, variables: Record<string, unknown> = {}) => {
    const { result, count, statements } = await countStatements(database, () =>
      Promise.resolve(graphql.execute(text, variables)),
    )
    const { data, errors } = JSON.parse(JSON.stringify(result)) as {
      data: Record<string, never> | null
      errors?: { message: string; path?: unknown[] }[]
    }
    return { data, errors, count, statements }
  }

  it.each([
    ['{ category(id: 1) { name } }'],
    ['{ categories(limit: 1) { name } }'],
    ['{ categories(limit: 1000) { name products(limit: 1000) { name } } }'],
    [
      '{ categories { products { reviews { product { category { products { reviews { stars } } } } } } } }',
    ],
    ['{ productCount(where: { reviews: { stars: { gt: 3 } } }) }'],
    [
      '{ productsPage(first: 5) { totalCount pageInfo { hasNextPage endCursor } edges { cursor node { name category { name } } } } }',
    ],
  ])('answers %s with one statement', async (text) => {
    const { count, errors } = await run(text)
    expect([errors, count]).toEqual([undefined, 1])
  })

  it('limits the rows of every list before anything is aggregated', async () => {
    const { statements } = await run('{ categories(limit: 2) { products(limit: 3) { name } } }')
    expect(statements[0]?.sql.match(/ limit \d+\) as/g)).toHaveLength(2)
  })

  it('writes limits of the document into the statement, and uses parameters for variables', async () => {
    const text =
      'query Q($many: Int) { categories(limit: 2) { products(limit: $many) { reviews { stars } } } }'
    const one = await run(text, { many: 3 })
    const other = await run(text, { many: 1 })
    expect(other.statements[0]).toBe(one.statements[0])
    expect(
      one.statements[0]?.sql
        .match(/ limit (\d+|\?|\$\d)/g)
        ?.map((found) => /\d{1,2}$/.exec(found.replace(/\$\d/, '?'))?.[0]),
    ).toEqual(['10', undefined, '2'])
    const counts = (data: unknown) =>
      (data as { categories: { products: unknown[] }[] }).categories.map(
        ({ products }) => products.length,
      )
    expect([counts(one.data), counts(other.data)]).toEqual([
      [3, 3],
      [1, 1],
    ])
  })

  it.each<[string, Record<string, unknown>, number]>([
    ['products', {}, 0],
    ['products(offset: 0)', {}, 0],
    ['products(offset: null)', {}, 0],
    ['products(offset: $offset)', {}, 0],
    ['products(offset: $offset)', { offset: null }, 0],
    ['products(offset: $offset)', { offset: 0 }, 0],
    ['products(offset: $offset)', { offset: 2 }, 2],
    ['products(offset: 11)', {}, 11],
    ['products(offset: 12)', {}, 12],
  ])('skips rows only where requested: %s %p', async (field, variables, passed) => {
    const { data, errors, statements } = await run(
      `${field.includes('$') ? 'query Q($offset: Int)' : ''} { categories(limit: 1) { ${field} { name id } } }`,
      variables,
    )
    const [category] =
      (data as { categories: { products: { id: string }[] }[] } | null)?.categories ?? []
    const ids = Array.from({ length: 12 }, (_, index) => String(index + 1))
    expect(errors).toBeUndefined()
    expect(category?.products.map(({ id }) => id)).toEqual(ids.slice(passed, passed + 10))
    expect(statements[0]?.sql.match(/ offset /g)?.length ?? 0).toBe(passed === 0 ? 0 : 1)
  })

  it('caches the statements with and without offset separately', async () => {
    const text = 'query Q($offset: Int) { products(limit: 2, offset: $offset) { id } }'
    const of = async (offset?: number) =>
      (await run(text, { offset })).data?.products as unknown as { id: string }[]
    for (let round = 0; round < 2; round++) {
      expect(await of()).toEqual([{ id: '1' }, { id: '2' }])
      expect(await of(1)).toEqual([{ id: '2' }, { id: '3' }])
      expect(await of(2)).toEqual([{ id: '3' }, { id: '4' }])
    }
  })

  it('reads as many owners as requested, each from its row', async () => {
    const aliases = Array.from({ length: 70 }, (_, index) => `a${index}: category { name }`)
    const wide = new GraphQL({
      database,
      limits: { aliases: 1000, cost: 1_000_000, tokens: 10_000 },
    })
    for (const type of shopRecords) wide.schema.fromOrm(type)
    const rows = `products(limit: 1, where: { categoryId: { eq: 3 } }) { ${aliases.join(' ')} }`
    const page = `productsPage(first: 1) { edges { node { ${aliases.join(' ')} } other: node { ${aliases.slice(0, 20).join(' ')} } } }`
    const { count, result } = await countStatements(database, () =>
      wide.execute(`{ ${rows} ${page} }`),
    )
    expect([result.errors, count]).toEqual([undefined, 2])
    const data = result.data as {
      products: object[]
      productsPage: { edges: { node: object; other: object }[] }
    }
    const [product = {}] = data.products
    const [edge] = data.productsPage.edges
    expect(Object.values(product)).toEqual(aliases.map(() => ({ name: 'C3' })))
    expect(Object.values(edge?.node ?? {})).toEqual(aliases.map(() => ({ name: 'C1' })))
    expect(Object.values(edge?.other ?? {})).toHaveLength(20)
  })

  it('keeps the order of rows whose owners have a different order', async () => {
    const text =
      '{ products(limit: 48, orderBy: [{ name: desc }, { id: desc }]) { id name category { id } } }'
    const { data } = await run(text)
    const rows = data?.products as unknown as {
      id: string
      name: string
      category: { id: string }
    }[]
    const sorted = [...rows].sort((a, b) =>
      a.name < b.name ? 1 : a.name > b.name ? -1 : Number(b.id) - Number(a.id),
    )
    expect(rows).toEqual(sorted)
    expect(
      rows.every(({ id, category }) => Math.ceil(Number(id) / 12) === Number(category.id)),
    ).toBe(true)
  })

  it('caches one statement for queries that differ in values only', async () => {
    const text =
      'query Q($where: ProductWhere, $limit: Int) { products(where: $where, limit: $limit) { name } }'
    const one = await run(text, { where: { name: { eq: 'P01' } }, limit: 2 })
    const other = await run(text, { where: { name: { eq: 'P02' } }, limit: 3 })
    expect(other.statements[0]).toBe(one.statements[0])
    expect([one.data, other.data]).toEqual([
      { products: [{ name: 'P01' }, { name: 'P01' }] },
      { products: [{ name: 'P02' }, { name: 'P02' }, { name: 'P02' }] },
    ])
  })

  it('runs no statement for an invalid key', async () => {
    expect(await run('{ product(id: "x") { name } none: product { name } }')).toMatchObject({
      data: { product: null, none: null },
      count: 0,
    })
  })

  it('returns objects wider than the maximum number of function arguments', async () => {
    const { data, count } = await run(`{ wides { ${columns.join(' ')} id } }`)
    const [wide = {}] = (data as { wides: Record<string, unknown>[] } | null)?.wides ?? []
    expect(count).toBe(1)
    expect(Object.keys(wide)).toEqual([...columns, 'id'])
    expect(new Set(Object.values(wide))).toEqual(new Set([1, '1']))
  })

  it('decides @skip and @include once for each combination', async () => {
    const text =
      'query Q($a: Boolean!) { category(id: 1) { name @skip(if: $a) id @include(if: $a) } }'
    expect((await run(text, { a: true })).data).toEqual({ category: { id: '1' } })
    expect((await run(text, { a: false })).data).toEqual({ category: { name: 'C1' } })
    expect((await run(text, { a: true })).data).toEqual({ category: { id: '1' } })
  })

  it('writes keys as requested, whatever they are called', async () => {
    const text = '{ category(id: 1) { z: name a: id __proto__: name constructor: id __typename } }'
    const result = await graphql.execute(text)
    expect(JSON.stringify(result)).toBe(
      '{"data":{"category":{"z":"C1","a":"1","__proto__":"C1","constructor":"1","__typename":"Category"}}}',
    )
  })

  describe.each([2147483648, -2147483649, 4294967296, 9007199254740991])(
    'with an Int of %d, over 32 bits',
    (stock) => {
      let id = 0
      beforeAll(async () => {
        const values = { name: 'Large', price: 1, stock, categoryId: 4 }
        ;({ id } = await database.records(Product).create(values))
        const review = { stars: 1, review_text: 'ok', productId: id }
        await database.records(Review).insertMany([review])
      })
      afterAll(async () => {
        for (const review of await database.records(Review).list({ where: { productId: id } }))
          await database.records(Review).delete(review.id)
        await database.records(Product).delete(id)
      })

      it.each<[string, (number | string)[], unknown]>([
        [
          '{ found: products(where: { name: { eq: "Large" } }) { name stock } }',
          ['found', 0, 'stock'],
          { found: [{ name: 'Large', stock: null }] },
        ],
        [
          '{ category(id: 4) { products(where: { name: { in: ["P01", "Large"] } }) { many: stock } } }',
          ['category', 'products', 1, 'many'],
          { category: { products: [{ many: 1 }, { many: null }] } },
        ],
        [
          '{ reviews(where: { product: { name: { eq: "Large" } } }) { product { stock } } }',
          ['reviews', 0, 'product', 'stock'],
          { reviews: [{ product: { stock: null } }] },
        ],
        [
          '{ productsPage(where: { name: { eq: "Large" } }) { edges { node { stock } } } }',
          ['productsPage', 'edges', 0, 'node', 'stock'],
          { productsPage: { edges: [{ node: { stock: null } }] } },
        ],
      ])('leaves %s to graphql-js, which reports the position', async (text, path, data) => {
        const response = await run(text)
        const message = `Int cannot represent non 32-bit signed integer value: ${stock}`
        expect(response).toMatchObject({ data, errors: [{ path, message }] })
        expect(response.errors).toHaveLength(1)
      })
    },
  )

  it('returns the smallest and the largest Int, and no larger value', async () => {
    const { id } = await database.records(Product).create({ name: 'Edge', price: 1, categoryId: 4 })
    for (const stock of [2147483647, -2147483648, 0, null]) {
      await database.records(Product).update(id, { stock })
      const text = '{ products(where: { name: { eq: "Edge" } }) { stock } }'
      const { data, errors, count } = await run(text)
      expect([data, errors, count]).toEqual([{ products: [{ stock }] }, undefined, 1])
    }
    await database.records(Product).delete(id)
  })

  it.each([
    ['{ products(limit: 1001) { id } }', 'limit must be at most 1000'],
    ['{ products(limit: -1) { id } }', 'limit must be an integer from 0'],
    ['{ products(offset: -1) { id } }', 'offset must be an integer from 0'],
    ['{ productsPage(first: 2000) { totalCount } }', 'first must be at most 1000'],
    [
      '{ productsPage(after: "nonsense") { totalCount } }',
      'after is not a cursor of this list in this order',
    ],
    ['{ products(orderBy: [{ name: asc, price: desc }]) { id } }', 'orderBy.0 must name one field'],
    [
      '{ products(where: { name: { like: "\\\\" } }) { id } }',
      'where.name.like must not end in a single backslash',
    ],
  ])('refuses %s', async (text, message) => {
    const { data, errors } = await run(text)
    expect(Object.values(data ?? {})).toEqual([null])
    expect(errors).toMatchObject([{ message }])
  })

  it.each([
    ['{ products(where: { secret: { eq: "s" } }) { id } }'],
    ['{ products(orderBy: [{ secret: asc }]) { id } }'],
    ['{ products { secret } }'],
  ])('does not know the hidden field in %s', async (text) => {
    const { data, errors, count } = await run(text)
    expect([data, count]).toEqual([null, 0])
    expect(errors?.[0]?.message).toMatch(/secret/)
  })

  it.each([
    ['[]'],
    ['[{ stock: asc }]'],
    ['[{ stock: desc_nulls_first }, { name: desc }]'],
    ['[{ stock: desc }]'],
    ['[{ active: desc }, { price: asc }]'],
  ])('reads pages in the order %s without losing or repeating a row', async (order) => {
    const all = await run(`{ products(limit: 1000, orderBy: ${order}) { id } }`)
    const expected = (all.data?.products as { id: string }[] | undefined)?.map(({ id }) => id)
    const text = `query Q($after: String) { productsPage(first: 7, after: $after, orderBy: ${order}) {
        edges { node { id } } pageInfo { hasNextPage hasPreviousPage endCursor } totalCount } }`
    const found: string[] = []
    let cursor: string | undefined
    for (let hasNext = true; hasNext;) {
      const { data, count } = await run(text, { after: cursor })
      const page = data?.productsPage as unknown as Page
      expect([count, page.totalCount, page.pageInfo.hasPreviousPage]).toEqual([
        1,
        48,
        cursor !== undefined,
      ])
      found.push(...page.edges.map(({ node }) => node.id))
      cursor = page.pageInfo.endCursor
      hasNext = page.pageInfo.hasNextPage
    }
    expect(found).toEqual(expected)
  })

  it('reads relations in batches next to fields with their own resolvers', async () => {
    const text =
      '{ categories { name products(limit: 3) { withTax(rate: 1) category { name } reviews { stars product { name } } } } }'
    const { data, errors, count } = await run(text)
    expect(errors).toBeUndefined()
    expect((data?.categories as unknown[] | undefined)?.length).toBe(4)
    // The list, and one statement for each of the four relations.
    expect(count).toBe(5)
  })
})

interface Page {
  readonly edges: { readonly node: { readonly id: string } }[]
  readonly pageInfo: {
    readonly hasNextPage: boolean
    readonly hasPreviousPage: boolean
    readonly endCursor: string
  }
  readonly totalCount: number
}
