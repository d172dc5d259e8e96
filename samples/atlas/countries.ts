/** The countries over REST. */
import { Controller, Doc, Field, Get, HttpError, Live, omit, Page } from 'filigree'
import { CityView, reykjavik } from './cities.js'
import { PageQuery } from './paging.js'
import { Country } from './records.js'
import { World } from './world.js'

class CountryQuery extends PageQuery {
  @Field('string', {
    optional: true,
    maxLength: 120,
    pattern: /^\P{Cc}*$/u,
    description: 'Part of a name; case does not count.',
  })
  q?: string

  @Field('string', { optional: true, maxLength: 120, pattern: /^\P{Cc}*$/u, example: 'Europe' })
  region?: string
}

class CountryView extends omit(Country, 'id', 'cities') {}

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
    return this.#world.searchCountries({ region: query.region, text: query.q }, query)
  }

  @Get('/<code:slug>', { returns: CountryView })
  @Doc({
    description: 'One country by its code, in upper or lower case.',
    exampleResponse: iceland,
  })
  show(code: string) {
    return this.#world.country(code)
  }

  /** Live, as the search of cities is. */
  @Get('/<code:slug>/cities', { query: PageQuery, returns: Page.of(CityView) })
  @Live
  @Doc({
    description: 'The cities of a country.',
    exampleResponse: { items: [reykjavik], total: 66, limit: 20, offset: 0 },
  })
  async cities(code: string, query: PageQuery) {
    const country = await this.#world.country(code)
    if (country === undefined) throw new HttpError(404, `There is no country ${code}.`)
    return this.#world.citiesOf(country, query)
  }
}
