/** An order with lines, whose key has two fields, and records that refer to the lines. */
import {
  BelongsTo,
  Field,
  HasMany,
  ManyToMany,
  Record,
  type Generated,
  type Rel,
} from '../../src/index.js'

@Record({ table: 'sale' })
export class Sale {
  @Field('id') id!: Generated<number>
  @Field('string') customer!: string
  @HasMany(() => SaleLine) lines!: Rel<SaleLine[]>
}

@Record({ key: ['saleId', 'line'] })
export class SaleLine {
  @Field('integer') saleId!: number
  @Field('integer') line!: number
  @Field('string') product!: string
  @Field('integer', { default: 1 }) amount!: Generated<number>
  @BelongsTo(() => Sale, { onDelete: 'cascade' }) sale!: Rel<Sale>
  @HasMany(() => Parcel) parcels!: Rel<Parcel[]>
  @ManyToMany(() => Tag) tags!: Rel<Tag[]>
}

@Record
export class Parcel {
  @Field('id') id!: Generated<number>
  @Field('string') weight!: string
  @Field('integer', { nullable: true, optional: true }) saleId!: Generated<number> | null
  @Field('integer', { nullable: true, optional: true }) line!: Generated<number> | null
  @BelongsTo(() => SaleLine, { onDelete: 'setNull' }) saleLine!: Rel<SaleLine | null>
}

@Record({ table: 'sale_tag', key: ['country', 'code'] })
export class Tag {
  @Field('string') country!: string
  @Field('bigint') code!: string
  @Field('string') name!: string
  @ManyToMany(() => SaleLine) saleLines!: Rel<SaleLine[]>
}

export const composites = [Sale, SaleLine, Parcel, Tag]
