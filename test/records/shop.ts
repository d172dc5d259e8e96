/** A small shop, the records that many tests share. */
import {
  BelongsTo,
  Field,
  type Generated,
  HasMany,
  ManyToMany,
  Record,
  type Rel,
} from '../../src/index.js'

@Record
export class Category {
  @Field('id') id!: number
  @Field('string', { maxLength: 80, unique: true }) name!: string
  @HasMany(() => Product) products!: Rel<Product[]>
}

export class Size {
  @Field('string') unit!: string
  @Field('numeric', { min: 0 }) value!: number
  @Field('datetime', { optional: true }) measuredAt?: string
  @Field('blob', { optional: true }) drawing?: Buffer
}

@Record({ table: 'product', plural: 'products' })
export class Product {
  @Field('id') id!: number
  @Field('string', { index: true, maxLength: 200 }) name!: string
  @Field('numeric', { min: 0 }) price!: number
  @Field('integer') categoryId!: number
  @BelongsTo(() => Category) category!: Rel<Category>
  @HasMany(() => Review) reviews!: Rel<Review[]>
  @ManyToMany(() => Tag) tags!: Rel<Tag[]>
  @Field('integer', { optional: true, nullable: true }) stock?: number | null
  @Field('text', { optional: true }) description?: string
  @Field('boolean', { default: true }) active!: Generated<boolean>
  @Field('datetime', { default: 'now', readOnly: true }) createdAt!: Generated<string>
  @Field('datetime', { optional: true, nullable: true }) soldAt?: string | null
  @Field('blob', { optional: true }) picture?: Buffer
  @Field('json', { optional: true }) extra?: unknown
  @Field('string', { list: true, default: [] }) colors!: Generated<string[]>
  @Field(() => Size, { list: true, optional: true }) sizes?: Size[]
  @Field('string', { hidden: true, optional: true }) secret?: string
}

@Record
export class Review {
  @Field('id') id!: number
  @Field('integer', { min: 1, max: 5 }) stars!: number
  @Field('integer') productId!: number
  @BelongsTo(() => Product, { onDelete: 'cascade' }) product!: Rel<Product>
  @Field('string', { optional: true, nullable: true }) authorKey?: string | null
  @BelongsTo(() => Author, { by: 'authorKey', onDelete: 'setNull' }) author!: Rel<Author | null>
}

@Record({ timestamps: true })
export class Author {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string') name!: string
  @HasMany(() => Review) reviews!: Rel<Review[]>
}

@Record({ softDelete: true })
export class Tag {
  @Field('id') id!: number
  @Field('string', { unique: true }) word!: string
  @ManyToMany(() => Product) products!: Rel<Product[]>
}

@Record
export class Person {
  @Field('id') id!: number
  @Field('string', { unique: 'place' }) city!: string
  @Field('string', { unique: 'place' }) street!: string
  @ManyToMany(() => Person, { through: 'following', from: 'follower_id', to: 'followed_id' })
  follows!: Rel<Person[]>
  @ManyToMany(() => Person, { through: 'following', from: 'followed_id', to: 'follower_id' })
  followers!: Rel<Person[]>
}

export const shop = [Category, Product, Review, Author, Tag, Person]
