/** Source: issue "The house opens", 9: what is forgotten is a fault at the start. */
import { describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Field,
  GraphQL,
  Module,
  Record,
  type BootstrapOptions,
} from '../../src/index.js'

const quiet: BootstrapOptions = {
  listen: false,
  logger: false,
  env: {},
  database: 'sqlite::memory:',
}

@Record
class Product {
  @Field('id') id!: number
  @Field('string') name!: string
}

@Controller('/products', { crud: Product })
class ProductController {}

describe('the start', () => {
  it('refuses crud of a record that no module lists', async () => {
    @Module({ controllers: [ProductController] })
    class Unlisted {}
    await expect(bootstrap(Unlisted, quiet)).rejects.toThrow(
      'ProductController: crud names Product, which no module lists among its records.  Add Product to Unlisted.records.',
    )
  })

  it('refuses a GraphQL without a route', async () => {
    const graphql = new GraphQL()
    graphql.schema.addQuery('one', { type: 'Int', resolve: () => 1 })
    @Module({ graphql: [graphql] })
    class Unrouted {}
    await expect(bootstrap(Unrouted, quiet)).rejects.toThrow("Call registerRoute('/graphql') of it")
  })

  it('names fromOrm where a type is a record that was not taken', async () => {
    const graphql = new GraphQL()
    graphql.schema.addQuery('one', { type: 'Product', resolve: () => null })
    graphql.registerRoute('/graphql')
    @Module({ graphql: [graphql] })
    class Untaken {}
    await expect(bootstrap(Untaken, quiet)).rejects.toThrow(
      /unknown type "Product".*schema\.fromOrm\(Product\)/,
    )
  })
})
