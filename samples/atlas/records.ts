/** The records of the atlas: each class is a table, and a type of GraphQL. */
import {
  BelongsTo,
  Field,
  hashPassword,
  type Generated,
  HasMany,
  Record,
  type Rel,
  Resolve,
  Secured,
} from 'filigree'
import { Admin, AdminAction, type ActionContext } from 'filigree/admin'
import { distance, toTenths, type Place } from './geography.js'

/** Everybody can read it; over GraphQL only administrators can write it. `?search=` finds words in its names. */
@Record({ writes: 'admin', search: ['name', 'officialName', 'capital'] })
@Admin({
  title: 'name',
  list: ['name', 'code', 'capital', 'region', 'area'],
  group: 'World',
  history: true,
})
export class Country {
  @Field('id') id!: number
  @Field('string', {
    minLength: 2,
    maxLength: 2,
    unique: true,
    description: 'ISO 3166-1 alpha-2',
    example: 'IS',
  })
  code!: string
  @Field('string', { index: true, example: 'Iceland' }) name!: string
  @Field('string', { example: 'Iceland' }) officialName!: string
  @Field('string', { nullable: true, example: 'Reykjavik' }) capital!: string | null
  @Field('string', { index: true, example: 'Europe' }) region!: string
  @Field('string', { example: 'Northern Europe' }) subregion!: string
  @Field('numeric', { description: 'Square kilometres; -1 if unknown.' }) area!: number
  @Field('numeric') lat!: number
  @Field('numeric') lng!: number
  @Field('string') flag!: string
  @HasMany(() => City) cities!: Rel<City[]>
}

/**
 * Everybody can read it; over GraphQL only administrators can write it, over REST all users can add and change cities.
 */
@Record({ writes: 'admin' })
@Admin({ title: 'name', list: ['name', 'country', 'lat', 'lng'], group: 'World' })
export class City {
  @Field('id') id!: number
  @Field('string', { minLength: 1, maxLength: 120, example: 'Reykjavík' }) name!: string
  // One index on both: it finds the cities between two latitudes and two longitudes without reading the table.
  @Field('numeric', { min: -90, max: 90, index: 'place', example: 64.13548 }) lat!: number
  @Field('numeric', { min: -180, max: 180, index: 'place', example: -21.89541 }) lng!: number
  @Field('integer') countryId!: number
  @BelongsTo(() => Country) country!: Rel<Country>
  /** The name without case and accents. `CitySearch` fills it if it is missing. */
  @Field('string', { hidden: true, optional: true, index: true }) searchable?: string
  /** Computed on request: `{ cities { name distance(lat: 64.14, lng: -21.9) } }`. */
  @Resolve('Float', {
    needs: ['lat', 'lng'],
    args: { lat: 'Float!', lng: 'Float!' },
    description: 'Kilometres from a point.',
  })
  distance(from: Place): number {
    return toTenths(distance(from, this))
  }
}

export class NewPassword {
  @Field('string', { minLength: 8, maxLength: 200 }) password!: string
}

/** Only for administrators, also over GraphQL. */
@Record
@Secured('admin')
@Admin({ title: 'name', group: 'People', history: true })
export class User {
  @Field('id') id!: number
  @Field('string', { minLength: 1, maxLength: 80, unique: true }) name!: string
  @Field('string', { list: true, default: [] }) roles!: Generated<string[]>
  /** Made by `hashPassword`. A user without one cannot log in. */
  @Field('string', { hidden: true, optional: true }) passwordHash?: string

  @AdminAction({ label: 'Set password', body: NewPassword })
  async setPassword({ body }: ActionContext<NewPassword>): Promise<void> {
    this.passwordHash = await hashPassword(body.password)
  }
}

/** The file of each country's picture. Only uploads write it: GraphQL has no mutations for it. */
@Record({ timestamps: true, writes: false })
@Admin({ title: 'file', group: 'World' })
export class Picture {
  @Field('id') id!: number
  @Field('integer', { unique: true }) countryId!: number
  @BelongsTo(() => Country, { onDelete: 'cascade' }) country!: Rel<Country>
  @Field('string', { readOnly: true, description: "The file's name in the folder." }) file!: string
  @Field('string', { readOnly: true, example: 'image/png' }) type!: string
  @Field('integer', { readOnly: true, min: 0, description: 'Bytes.' }) size!: number
}
