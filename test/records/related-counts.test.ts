/** Counts of related rows in each row of a list, through every interface. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  type Application,
  Auth,
  BelongsTo,
  bootstrap,
  connect,
  Controller,
  type Database,
  Field,
  HasMany,
  ManyToMany,
  Module,
  NoAuth,
  Record,
  type Rel,
  Secured,
} from '../../src/index.js'
import { startBothEngines } from './both-engines.js'
import { sendGraphql } from './send-graphql.js'

@Record
class Shop {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => Product) products!: Rel<Product[]>
}

@Record
class Product {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('integer') shopId!: number
  @BelongsTo(() => Shop) shop!: Rel<Shop>
  @HasMany(() => Review) reviews!: Rel<Review[]>
  @ManyToMany(() => Tag) tags!: Rel<Tag[]>
  @Secured('admin') @HasMany(() => Offer) offers!: Rel<Offer[]>
  @HasMany(() => Order) orders!: Rel<Order[]>
  @Field('integer') ordersCount!: number
}

@Record({ softDelete: true, rows: (user) => (user?.sub === 'all' ? true : { stars: { gte: 3 } }) })
class Review {
  @Field('id') id!: number
  @Field('integer') stars!: number
  @Field('integer') productId!: number
  @BelongsTo(() => Product) product!: Rel<Product>
}

@Record({ softDelete: true })
class Tag {
  @Field('id') id!: number
  @Field('string') word!: string
  @ManyToMany(() => Product) products!: Rel<Product[]>
}

@Record
class Offer {
  @Field('id') id!: number
  @Field('integer') productId!: number
  @BelongsTo(() => Product) product!: Rel<Product>
}

@Record
@Secured('admin')
class Order {
  @Field('id') id!: number
  @Field('integer') productId!: number
  @BelongsTo(() => Product) product!: Rel<Product>
}

@Controller('/products', { crud: Product })
@NoAuth
class Products {}

@Controller('/shops', { crud: Shop })
@NoAuth
class Shops {}

const records = [Shop, Product, Review, Tag, Offer, Order]

@Module({ records, controllers: [Products, Shops] })
class Market {}

describe.each(await startBothEngines())('counts of related rows on %s', (_name, open) => {
  let app: Application
  let database: Database
  let all: string
  let admin: string

  beforeAll(async () => {
    database = await connect(await open(), { records })
    await database.sync()
    app = await bootstrap(Market, { database, listen: false, logger: false })
    all = await app.get(Auth).getToken({ sub: 'all' })
    admin = await app.get(Auth).getToken({ sub: 'all', roles: ['admin'] })
    await database.records(Shop).createMany([{ name: 'a' }, { name: 'b' }])
    const products = ['Lamp', 'Oak', 'Desk'].map((name) => ({ name, shopId: 1, ordersCount: 7 }))
    await database.records(Product).createMany(products)
    // Lamp has reviews with 5 and 1 stars, and a deleted one. Oak has one with 4 stars.
    const stars = [5, 1, 5, 4]
    await database
      .records(Review)
      .createMany(stars.map((one, index) => ({ stars: one, productId: index < 3 ? 1 : 2 })))
    await database.records(Review).delete(3)
    await database.records(Tag).createMany([{ word: 'red' }, { word: 'blue' }, { word: 'deleted' }])
    await database.records(Product).link(1, 'tags', [1, 2, 3])
    await database.records(Product).link(3, 'tags', [2])
    await database.records(Tag).delete(3)
    await database.records(Offer).create({ productId: 2 })
    await database.records(Order).create({ productId: 2 })
  })

  afterAll(async () => {
    await app.close()
    await database.close()
  })

  const get = async (url: string, token?: string) => {
    const { status, body } = await app.inject({ url, token })
    return { status, body: JSON.parse(body) as unknown }
  }

  const graphql = (query: string, token?: string) => sendGraphql(app, query, token)

  async function statementsOf(work: () => Promise<unknown>): Promise<string[]> {
    const statements: string[] = []
    const onStatement = (message: unknown): void => {
      statements.push((message as { sql: string }).sql)
    }
    subscribe('filigree:statement', onStatement)
    await work()
    unsubscribe('filigree:statement', onStatement)
    return statements
  }

  it('are returned with rows of a repository, in one statement', async () => {
    const products = database.records(Product)
    const counted = await products.list({ counts: ['reviews', 'tags'], limit: 2 })
    const [lamp] = counted
    const numbers: number[] = [lamp?.reviewsCount ?? 0, lamp?.tagsCount ?? 0]
    expect(numbers).toEqual([2, 2])
    expect(counted).toMatchObject([
      { name: 'Lamp', reviewsCount: 2, tagsCount: 2 },
      { name: 'Oak', reviewsCount: 1, tagsCount: 0 },
    ])
    const statements = await statementsOf(() =>
      products.list({
        counts: ['reviews', 'tags'],
        where: { name: { ne: 'x' } },
        orderBy: { shop: { name: 'desc' } },
        limit: 2,
        offset: 1,
      }),
    )
    expect(statements).toHaveLength(1)
    const distinct = await products.list({ distinct: ['shopId'], counts: ['reviews'] })
    expect(distinct).toMatchObject([{ name: 'Lamp', reviewsCount: 2 }])
  })

  it.each([
    [['review'], 'unknown'],
    [['shop'], 'type'],
    [['orders'], 'type'],
    ['reviews', 'type'],
  ])('reject %j', async (counts, code) => {
    const listed = database.records(Product).list({ counts } as never)
    await expect(listed).rejects.toMatchObject({
      status: 400,
      errors: [{ path: 'counts', code }],
    })
  })

  it('are returned with rows of a REST list, counting only rows the caller may see', async () => {
    const counts = 'counts=reviews,tags&fields=name'
    expect((await get(`/products?${counts}`)).body).toEqual([
      { name: 'Lamp', reviewsCount: 1, tagsCount: 2 },
      { name: 'Oak', reviewsCount: 1, tagsCount: 0 },
      { name: 'Desk', reviewsCount: 0, tagsCount: 1 },
    ])
    expect((await get(`/products?${counts}&orderBy=-shop.name,-id&limit=2`, all)).body).toEqual([
      { name: 'Desk', reviewsCount: 0, tagsCount: 1 },
      { name: 'Oak', reviewsCount: 1, tagsCount: 0 },
    ])
    const related = await get('/products?counts=reviews&with=reviews,shop&id=1', all)
    expect(related.body).toMatchObject([
      { name: 'Lamp', reviewsCount: 2, reviews: [{ stars: 5 }, { stars: 1 }], shop: { name: 'a' } },
    ])
    expect((await get('/products/1?counts=reviews&fields=id', all)).body).toEqual({
      id: 1,
      reviewsCount: 2,
    })
    expect((await get('/shops/2?counts=products')).body).toEqual({
      ...{ id: 2, name: 'b', productsCount: 0 },
    })
    const statements = await statementsOf(() => get(`/products?${counts}&count=none`))
    expect(statements).toHaveLength(1)
  })

  it('reject relations the caller may not read', async () => {
    expect((await get('/products?counts=offers')).status).toBe(401)
    expect((await get('/products?counts=offers', all)).status).toBe(403)
    const { body } = await get('/products?counts=offers&fields=id', admin)
    expect(body).toEqual([
      { id: 1, offersCount: 0 },
      { id: 2, offersCount: 1 },
      { id: 3, offersCount: 0 },
    ])
    for (const wrong of ['orders', 'shop', 'nothing', ''])
      expect((await get(`/products?counts=${wrong}`, admin)).status).toBe(400)
    const query = '{ products { name offersCount } }'
    expect((await graphql(query)).errors?.[0]?.extensions.code).toBe('UNAUTHENTICATED')
    const refused = await graphql(query, all)
    expect(refused.errors?.[0]?.extensions.code).toBe('FORBIDDEN')
    expect(refused.data.products[1]).toEqual({ name: 'Oak', offersCount: null })
    expect((await graphql(query, admin)).data.products[1]).toEqual({ name: 'Oak', offersCount: 1 })
  })

  it('are GraphQL fields', async () => {
    const query = `{
      products { name reviewsCount tagsCount ordersCount }
      shop(id: 1) { productsCount products(limit: 1) { reviewsCount shop { productsCount } } }
      productsPage(first: 1) { edges { node { reviewsCount } } }
    }`
    const expected = {
      products: [
        { name: 'Lamp', reviewsCount: 1, tagsCount: 2, ordersCount: 7 },
        { name: 'Oak', reviewsCount: 1, tagsCount: 0, ordersCount: 7 },
        { name: 'Desk', reviewsCount: 0, tagsCount: 1, ordersCount: 7 },
      ],
      shop: { productsCount: 3, products: [{ reviewsCount: 1, shop: { productsCount: 3 } }] },
      productsPage: { edges: [{ node: { reviewsCount: 1 } }] },
    }
    const response = await graphql(query)
    expect(response.errors).toBeUndefined()
    expect(response.data).toEqual(expected)
    const statements = await statementsOf(() => graphql('{ products { name reviewsCount } }', all))
    expect(statements).toHaveLength(1)
  })

  it('are read in batches when resolvers run', async () => {
    const query = '{ products { name reviewsCount tagsCount offersCount } }'
    const { data } = await graphql(query, all)
    expect(data.products).toEqual([
      { name: 'Lamp', reviewsCount: 2, tagsCount: 2, offersCount: null },
      { name: 'Oak', reviewsCount: 1, tagsCount: 0, offersCount: null },
      { name: 'Desk', reviewsCount: 0, tagsCount: 1, offersCount: null },
    ])
    // One statement for the products, and one for each count.
    expect(await statementsOf(() => graphql(query, all))).toHaveLength(3)
  })

  it('are returned by mutations', async () => {
    const { data } = await graphql(
      'mutation { updateProduct(id: 1, input: { name: "Lamp" }) { name reviewsCount tagsCount } }',
      all,
    )
    expect(data.updateProduct).toEqual({ name: 'Lamp', reviewsCount: 2, tagsCount: 2 })
  })

  it('are described in the OpenAPI document', async () => {
    const { paths, components } = (await get('/swagger/openapi.json')).body as {
      paths: { [path: string]: { get: { parameters: { name: string; schema: object }[] } } }
      components: { schemas: { Product: { properties: { [name: string]: object } } } }
    }
    for (const path of ['/products', '/products/{id}'])
      expect(paths[path]?.get.parameters).toContainEqual(
        expect.objectContaining({
          name: 'counts',
          schema: { type: 'array', items: { type: 'string', enum: ['reviews', 'tags', 'offers'] } },
        }),
      )
    const { properties } = components.schemas.Product
    expect(properties.reviewsCount).toMatchObject({ type: 'integer', readOnly: true })
    expect(properties.ordersCount).not.toMatchObject({ readOnly: true })
  })
})
