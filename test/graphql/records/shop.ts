/** The records of these tests, and a schema of them on an engine. */
import {
  BelongsTo,
  Field,
  type Generated,
  GraphQL,
  HasMany,
  ManyToMany,
  Record,
  type Rel,
  Resolve,
  connect,
  type Database,
} from '../../../src/index.js'
import type { Class } from '../../public-types.js'

@Record
export class Category {
  @Field('id') id!: number
  @Field('string', { maxLength: 80, unique: true }) name!: string
  @Field('text', { optional: true, nullable: true }) note?: string | null
  @HasMany(() => Product) products!: Rel<Product[]>
}

@Record
export class Product {
  @Field('id') id!: number
  @Field('string', { index: true, maxLength: 80 }) name!: string
  @Field('numeric', { min: 0 }) price!: number
  @Field('integer', { optional: true, nullable: true }) stock?: number | null
  @Field('boolean', { default: true }) active!: Generated<boolean>
  @Field('integer') categoryId!: number
  @BelongsTo(() => Category) category!: Rel<Category>
  @HasMany(() => Review) reviews!: Rel<Review[]>
  @ManyToMany(() => Tag) tags!: Rel<Tag[]>
  @Field('datetime', { default: '2026-01-01T00:00:00.000Z', readOnly: true })
  createdAt!: Generated<string>
  @Field('string', { hidden: true, optional: true }) secret?: string
  @Field('blob', { optional: true, nullable: true }) photo?: Buffer | null
  @Field('json', { optional: true, nullable: true }) meta?: unknown
  @Field('string', { oneOf: ['red', 'light-blue'], enum: 'Color', optional: true, nullable: true })
  color?: string | null
  @Field('string', { list: true, default: [] }) labels!: Generated<string[]>
  @Resolve('Float', { needs: ['price'], args: { rate: 'Float!' } })
  withTax({ rate }: { rate: number }): number {
    return this.price * (1 + rate)
  }
}

@Record
export class Review {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('integer', { min: 1, max: 5 }) stars!: number
  @Field('string', { column: 'review_text' }) review_text!: string
  @Field('integer') productId!: number
  @BelongsTo(() => Product) product!: Rel<Product>
}

@Record({ softDelete: true })
export class Tag {
  @Field('id') id!: number
  @Field('string') name!: string
  @ManyToMany(() => Product) products!: Rel<Product[]>
}

export const shopRecords: readonly Class[] = [Category, Product, Review, Tag]

export async function openShop(
  url = 'sqlite::memory:',
  classes: readonly Class[] = shopRecords,
): Promise<Database> {
  const database = await connect(url, { records: classes })
  await database.sync()
  return database
}

/** GraphQL of the shop's records. */
export function shopGraphql(database: Database, classes: readonly Class[] = shopRecords): GraphQL {
  const graphql = new GraphQL({ database, maskErrors: false, limits: { cost: 10_000_000 } })
  for (const type of classes) graphql.schema.fromOrm(type)
  return graphql
}
