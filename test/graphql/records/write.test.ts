import { afterAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { Database, GraphQL } from '../../../src/index.js'
import { reusing, startBothEngines } from '../../records/both-engines.js'
import { Category, openShop, Product, shopGraphql, Tag } from './shop.js'

describe.each(await startBothEngines())('mutations of records on %s', (_name, open) => {
  let database: Database
  let graphql: GraphQL
  const openEmpty = reusing(open)
  beforeEach(async () => {
    await (database as Database | undefined)?.close()
    database = await openShop(await openEmpty())
    graphql = shopGraphql(database)
  })
  afterAll(() => database.close())

  const run = async (text: string, variables?: Record<string, unknown>) =>
    JSON.parse(JSON.stringify(await graphql.execute(text, variables))) as {
      data: Record<string, unknown> | null
      errors?: { path: unknown[]; message: string; extensions: Record<string, unknown> }[]
    }

  it('creates, updates and deletes', async () => {
    expect(
      await run('mutation { createCategory(input: { name: "Light" }) { id name note } }'),
    ).toEqual({
      data: { createCategory: { id: '1', name: 'Light', note: null } },
    })
    expect(
      await run('mutation { updateCategory(id: 1, input: { note: "n" }) { name note } }'),
    ).toEqual({
      data: { updateCategory: { name: 'Light', note: 'n' } },
    })
    expect(await run('mutation { deleteCategory(id: "1") again: deleteCategory(id: 1) }')).toEqual({
      data: { deleteCategory: true, again: false },
    })
  })

  it('returns the written record with its relations, with variables', async () => {
    const text = `mutation M($input: CategoryInput) {
      createCategory(input: $input) { id products(orderBy: [{ price: desc }]) { name color category { name } } }
    }`
    const products = [
      { name: 'Lamp', price: 5, color: 'light_blue', meta: '{"a":[1]}', photo: 'aGk=' },
      { name: 'Bulb', price: 7.5 },
    ]
    expect(await run(text, { input: { name: 'Light', products } })).toEqual({
      data: {
        createCategory: {
          id: '1',
          products: [
            { name: 'Bulb', color: null, category: { name: 'Light' } },
            { name: 'Lamp', color: 'light_blue', category: { name: 'Light' } },
          ],
        },
      },
    })
    const lamp = await database.records(Product).find(1)
    expect(lamp).toMatchObject({ color: 'light-blue', meta: { a: [1] }, photo: Buffer.from('hi') })
  })

  it('creates the record that another belongs to, in the same call', async () => {
    const text =
      'mutation { createProduct(input: { name: "Lamp", price: 1, category: { name: "New" } }) { categoryId category { name } } }'
    expect(await run(text)).toEqual({
      data: { createProduct: { categoryId: '1', category: { name: 'New' } } },
    })
  })

  it('creates nothing when a nested record is invalid, and reports where', async () => {
    const { data, errors } = await run(
      'mutation { createCategory(input: { name: "Light", products: [{ name: "Lamp", price: 1 }, { name: "Bulb", price: -1 }] }) { id } }',
    )
    expect(data).toEqual({ createCategory: null })
    expect(errors).toMatchObject([
      {
        path: ['createCategory'],
        extensions: {
          code: 'VALIDATION',
          errors: [{ path: 'input.products.1.price', code: 'min' }],
        },
      },
    ])
    expect(await database.records(Category).count()).toBe(0)
    expect(await database.records(Product).count()).toBe(0)
  })

  it('takes the key of a nested record only from its parent', async () => {
    const { errors } = await run(
      'mutation { createCategory(input: { name: "Light", products: [{ name: "Lamp", price: 1, categoryId: 7 }] }) { id } }',
    )
    expect(errors?.[0]?.extensions).toMatchObject({
      code: 'VALIDATION',
      errors: [{ path: 'input.products.0.categoryId', code: 'readOnly' }],
    })
  })

  it('checks required fields only on create, and the names of a client', async () => {
    const created = await run('mutation { createReview(input: { stars: 9 }) { id } }')
    expect(created.errors?.[0]?.extensions.errors).toMatchObject([
      { path: 'input.stars', code: 'max' },
      { path: 'input.reviewText', code: 'required' },
      { path: 'input.productId', code: 'required' },
    ])
    const updated = await run('mutation { updateCategory(id: 5, input: {}) { id } }')
    expect(updated.errors?.[0]).toMatchObject({
      path: ['updateCategory'],
      message: 'There is no Category 5.',
      extensions: { code: 'NOT_FOUND' },
    })
    expect(updated.data).toEqual({ updateCategory: null })
  })

  it('reports values that are taken and keys that do not exist', async () => {
    await run('mutation { createCategory(input: { name: "Light" }) { id } }')
    const twice = await run('mutation { createCategory(input: { name: "Light" }) { id } }')
    expect(twice.errors?.[0]?.extensions).toMatchObject({
      code: 'CONFLICT',
      errors: [{ path: 'input.name', code: 'unique' }],
    })
    const failed = await run(
      'mutation { createProduct(input: { name: "Lamp", price: 1, categoryId: 9 }) { id } }',
    )
    expect(failed.errors?.[0]?.extensions.code).toBe('CONFLICT')
  })

  it('refuses invalid JSON', async () => {
    const { errors } = await run(
      'mutation { createProduct(input: { name: "Lamp", price: 1, categoryId: 1, meta: "{" }) { id } }',
    )
    expect(errors?.[0]?.extensions.errors).toMatchObject([{ path: 'input.meta', code: 'type' }])
  })

  it('links records by their keys, and an update links exactly the named ones', async () => {
    await database.records(Tag).insertMany([{ name: 'a' }, { name: 'b' }, { name: 'c' }])
    const create =
      'mutation { createProduct(input: { name: "Lamp", price: 1, tagIds: [1, "2"], category: { name: "L" } }) { tags { name } } }'
    expect((await run(create)).data).toEqual({
      createProduct: { tags: [{ name: 'a' }, { name: 'b' }] },
    })
    const update =
      'mutation { updateProduct(id: 1, input: { tagIds: [2, 3] }) { name tags { name } } }'
    expect((await run(update)).data).toEqual({
      updateProduct: { name: 'Lamp', tags: [{ name: 'b' }, { name: 'c' }] },
    })
    const failed = await run(
      'mutation { updateProduct(id: 1, input: { name: "X", tagIds: [99] }) { id } }',
    )
    expect(failed.errors?.[0]?.extensions).toMatchObject({
      code: 'CONFLICT',
      errors: [{ path: 'input.tagIds' }],
    })
    expect((await database.records(Product).find(1))?.name).toBe('Lamp')
  })

  it('refuses nested records in an update', async () => {
    await run('mutation { createCategory(input: { name: "Light" }) { id } }')
    const { errors } = await run(
      'mutation { updateCategory(id: 1, input: { products: [] }) { id } }',
    )
    expect(errors?.[0]?.extensions.errors).toMatchObject([
      { path: 'input.products', code: 'readOnly' },
    ])
  })

  it('runs mutations in order, each seeing the writes of the previous one', async () => {
    const text = `mutation {
      a: createCategory(input: { name: "A" }) { id }
      b: createProduct(input: { name: "P", price: 1, categoryId: 1 }) { category { name } }
      c: deleteProduct(id: 1)
    }`
    expect((await run(text)).data).toEqual({
      a: { id: '1' },
      b: { category: { name: 'A' } },
      c: true,
    })
  })
})
