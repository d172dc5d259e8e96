/** The shop as Filigree's records: categories, their items, and their reviews. */
import { BelongsTo, Field, HasMany, Record, type Rel } from '../../dist/server/index.js'

@Record
export class Category {
  @Field('id') id!: number
  @Field('string', { unique: true }) name!: string
  @HasMany(() => Item) items!: Rel<Item[]>
}

@Record
export class Item {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('numeric') price!: number
  @Field('integer') categoryId!: number
  @BelongsTo(() => Category) category!: Rel<Category>
  @HasMany(() => Review) reviews!: Rel<Review[]>
}

@Record
export class Review {
  @Field('id') id!: number
  @Field('integer') stars!: number
  @Field('string') text!: string
  @Field('integer') itemId!: number
  @BelongsTo(() => Item) item!: Rel<Item>
}
