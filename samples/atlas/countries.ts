/** The countries over REST. */
import { Controller, Field, Get, HttpError, Page } from 'filigree'
import { CityView } from './cities.js'
import { PageQuery, toPage } from './paging.js'
import { World, type Country } from './world.js'

class CountryQuery extends PageQuery {
  @Field('string', { optional: true, description: 'Part of a name, in whatever case.' })
  q?: string

  @Field('string', { optional: true, example: 'Europe' })
  region?: string
}

class CountryView {
  @Field('string', { minLength: 2, maxLength: 2, description: 'ISO 3166-1 alpha-2', example: 'IS' })
  code!: string
  @Field('string') name!: string
  @Field('string') officialName!: string
  @Field('string', { nullable: true }) capital!: string | null
  @Field('string') region!: string
  @Field('string') subregion!: string
  @Field('numeric', { min: 0, description: 'Square kilometres.' }) area!: number
  @Field('numeric') lat!: number
  @Field('numeric') lng!: number
  @Field('string') flag!: string
}

@Controller('/countries')
export class CountryController {
  static inject = [World]
  readonly #world: World

  constructor(world: World) {
    this.#world = world
  }

  @Get('/', { query: CountryQuery, returns: Page.of(CountryView) })
  list(query: CountryQuery) {
    const region = query.region?.toLowerCase()
    const text = query.q?.toLowerCase()
    const found = this.#world.countries.filter(
      (country) =>
        (region === undefined || country.region.toLowerCase() === region) &&
        (text === undefined || country.name.toLowerCase().includes(text)),
    )
    return toPage(found, query)
  }

  @Get('/<code:slug>', { returns: CountryView })
  show(code: string): Country | undefined {
    return this.#world.country(code)
  }

  @Get('/<code:slug>/cities', { query: PageQuery, returns: Page.of(CityView) })
  cities(code: string, query: PageQuery) {
    const country = this.#world.country(code)
    if (country === undefined) throw new HttpError(404, `There is no country ${code}.`)
    return toPage(this.#world.searchCities('', country.code), query)
  }
}
