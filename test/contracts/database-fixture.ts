/** The shop's tables on one engine, shared by the parts of the database contract. */
import {
  type EngineSource,
  type HttpError,
  type ListOptions,
  type Repository,
  connect,
  type Database,
  type Row,
} from '../../src/index.js'
import { Category, Product, shop } from '../records/shop.js'
import { uuidRecords } from './database-uuids.contract.js'

/** Its properties are set by `open`. `light` is the only row of the tables when a test begins. */
export class Fixture {
  database!: Database
  categories!: Repository<Category>
  products!: Repository<Product>
  light!: Row<Category>
  /** Whether the database has one connection, so that nothing can read from outside an open transaction. */
  isSingle = false

  async open(where: string | EngineSource): Promise<void> {
    this.isSingle = typeof where !== 'string' || where.startsWith('sqlite::memory:')
    const chosen = typeof where === 'string' ? { url: where } : { engine: where }
    this.database = await connect({ ...chosen, records: [...shop, ...uuidRecords] })
    await this.database.sync()
    this.categories = this.database.records(Category)
    this.products = this.database.records(Product)
  }

  async clear(): Promise<void> {
    await empty(this.database)
    this.light = await this.categories.create({ name: 'Light' })
  }

  create(values: Partial<Product> = {}): Promise<Row<Product>> {
    return this.products.create({ name: 'Lamp', price: 9.5, categoryId: this.light.id, ...values })
  }

  async names(options: ListOptions<Product>): Promise<string[]> {
    return (await this.products.list(options)).map((product) => product.name)
  }
}

async function empty(database: Database): Promise<void> {
  const tables = [
    'product_tag',
    'following',
    'review',
    'product',
    'category',
    'author',
    'tag',
    'person',
  ]
  for (const table of tables) await database.kysely.deleteFrom(table).execute()
}

/** @returns the error that the work rejects with */
export async function failure(work: Promise<unknown>): Promise<HttpError> {
  try {
    await work
  } catch (error) {
    return error as HttpError
  }
  throw new Error('The work did not fail.')
}
