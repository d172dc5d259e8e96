/** Records, their relations, rights and computed fields, behind REST and GraphQL. */
import {
  BelongsTo,
  Controller,
  Field,
  HasMany,
  NoAuth,
  Record,
  Resolve,
  Secured,
  type Rel,
} from 'filigree'

@Record
@NoAuth
export class Shelf {
  @Field('id') id!: number
  @Field('string', { maxLength: 20, unique: true }) name!: string
  @HasMany(() => Lamp) lamps!: Rel<Lamp[]>
}

@Record({ timestamps: true })
export class Lamp {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('integer', { min: 0 }) price!: number
  @Field('string', { hidden: true, optional: true }) supplier?: string
  @Field('integer') shelfId!: number
  @BelongsTo(() => Shelf) shelf!: Rel<Shelf>

  @Resolve('Int', { needs: ['price'] })
  twice(): number {
    return this.price * 2
  }
}

@Controller('/lamps', { crud: Lamp })
export class LampController {}

@Secured
@Controller('/shelves', { crud: Shelf, only: ['list'] })
export class ShelfController {}
