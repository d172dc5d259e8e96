/** The countries over REST. */
import { Controller, Doc, Field, Get, HttpError, Page } from 'filigree'
import { CityView, reykjavik } from './cities.js'
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

const iceland = {
  code: 'IS',
  name: 'Iceland',
  officialName: 'Iceland',
  capital: 'Reykjavik',
  region: 'Europe',
  subregion: 'Northern Europe',
  area: 103000,
  lat: 65,
  lng: -18,
  flag: '🇮🇸',
}

@Controller('/countries')
@Doc({ tags: ['countries'] })
export class CountryController {
  static inject = [World]
  readonly #world: World

  constructor(world: World) {
    this.#world = world
  }

  @Get('/', { query: CountryQuery, returns: Page.of(CountryView) })
  @Doc({
    description: 'Countries by region and part of their name.',
    exampleResponse: { items: [iceland], total: 1, limit: 20, offset: 0 },
  })
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
  @Doc({ description: 'One country by its code, in either case.', exampleResponse: iceland })
  show(code: string): Country | undefined {
    return this.#world.country(code)
  }

  @Get('/<code:slug>/cities', { query: PageQuery, returns: Page.of(CityView) })
  @Doc({
    description: 'The cities of a country.',
    exampleResponse: { items: [reykjavik], total: 66, limit: 20, offset: 0 },
  })
  cities(code: string, query: PageQuery) {
    const country = this.#world.country(code)
    if (country === undefined) throw new HttpError(404, `There is no country ${code}.`)
    return toPage(this.#world.searchCities('', country.code), query)
  }
}
