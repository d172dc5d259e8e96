/** Common omissions in declarations stop the start with a message that names the fix. */
import { describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  createDecorator,
  createModule,
  Field,
  Get,
  GraphQL,
  Module,
  Record,
  Use,
  type BootstrapOptions,
  type Interceptor,
  type ModuleOptions,
  type Next,
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
    await expect(bootstrap(Unrouted, quiet)).rejects.toThrow("Call its registerRoute('/graphql')")
  })

  it('names fromOrm if an unknown type is a record', async () => {
    const graphql = new GraphQL()
    graphql.schema.addQuery('one', { type: 'Product', resolve: () => null })
    graphql.registerRoute('/graphql')
    @Module({ graphql: [graphql] })
    class Untaken {}
    await expect(bootstrap(Untaken, quiet)).rejects.toThrow(
      /unknown type "Product".*schema\.fromOrm/,
    )
  })

  it('refuses a value where a list is expected, all in one report', async () => {
    const forgotten: unknown = {
      controllers: ProductController,
      records: Product,
      providers: Product,
      imports: 5,
      use: Product,
      graphql: new GraphQL(),
    }
    @Module(forgotten as ModuleOptions)
    class Listless {}
    const options = { ...quiet, use: Product } as unknown as BootstrapOptions
    const started = bootstrap(Listless, options)
    await expect(started).rejects.toThrow('Filigree cannot start: 7 problems')
    await expect(started).rejects.toThrow(
      'Listless.controllers is not a list.  Write controllers: [ProductController].',
    )
    await expect(started).rejects.toThrow('bootstrap.use is not a list.  Write use: [Product].')
  })

  it('refuses a package function that was not called', async () => {
    const audit = createModule(({ keep }: { keep: string }) => ({
      providers: [{ provide: 'keep', use: keep }],
    }))
    @Module({ imports: [audit as unknown as () => typeof Product] })
    class Uncalled {}
    await expect(bootstrap(Uncalled, quiet)).rejects.toThrow(
      /Uncalled\.imports\[0\] is a function that throws: TypeError.*Call a package with its options, audit\(/,
    )
  })

  it('refuses a check that returns no list, and an applies that returns no boolean', async () => {
    const Odd = createDecorator('Odd', () => ({ check: () => 'no' as never }))
    const Nothing = createDecorator('Nothing', () => ({ check: () => undefined as never }))
    class Delayed implements Interceptor {
      applies = (): never => Promise.resolve(false) as never
      intercept = (_request: unknown, next: Next): unknown => next()
    }
    class Throws implements Interceptor {
      applies(): never {
        throw new Error('no such path')
      }
      intercept = (_request: unknown, next: Next): unknown => next()
    }
    @Controller('/odd')
    class OddController {
      @Get('/') @Odd @Nothing list(): number {
        return 1
      }
    }
    @Controller('/delayed')
    class DelayedController {
      @Get('/') @Use(Delayed, Throws) list(): number {
        return 1
      }
    }
    @Module({ controllers: [OddController] })
    class OddModule {}
    @Module({ controllers: [DelayedController] })
    class DelayedModule {}
    await expect(bootstrap(OddModule, quiet)).rejects.toThrow(
      '1 problem\n 1 @Odd on OddController.list: check does not return a list of problems.',
    )
    const started = bootstrap(DelayedModule, quiet)
    await expect(started).rejects.toThrow('2 problems')
    await expect(started).rejects.toThrow(
      'Delayed: applies returns neither true nor false, for DelayedController.list.',
    )
    await expect(started).rejects.toThrow(
      'Throws: applies throws: no such path, for DelayedController.list.',
    )
  })
})
