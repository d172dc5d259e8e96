/** The cities over REST: search, neighbours, and a write that needs a token. */
import { Controller, Doc, Field, Get, HttpError, Page, pick, Post, reply } from 'filigree'
import { cellsAround, distance } from './geography.js'
import { PageQuery, toPage } from './paging.js'
import { World, type City } from './world.js'

export class CityView {
  @Field('integer') id!: number
  @Field('string', { minLength: 1, maxLength: 120, example: 'Reykjavík' }) name!: string
  @Field('numeric', { min: -90, max: 90, example: 64.13548 }) lat!: number
  @Field('numeric', { min: -180, max: 180, example: -21.89541 }) lng!: number
  @Field('string', { pattern: /^[A-Z]{2}$/, description: 'ISO 3166-1 alpha-2', example: 'IS' })
  country!: string
}

class NewCity extends pick(CityView, 'name', 'lat', 'lng', 'country') {}

class CityQuery extends PageQuery {
  @Field('string', {
    minLength: 2,
    description: 'Part of the name; case and accents do not count.',
  })
  q!: string

  @Field('string', { optional: true, pattern: /^[A-Za-z]{2}$/ })
  country?: string
}

class NearQuery extends PageQuery {
  @Field('numeric', { min: 1, max: 500, default: 50, description: 'Kilometres.' })
  radius!: number
}

class NearbyCity extends CityView {
  @Field('numeric', { description: 'Kilometres from the point asked for.' }) distance!: number
}

/** The example of the documentation. */
export const reykjavik = {
  id: 84549,
  name: 'Reykjavík',
  lat: 64.13548,
  lng: -21.89541,
  country: 'IS',
}

@Controller('/cities')
@Doc({ tags: ['cities'] })
export class CityController {
  static inject = [World]
  readonly #world: World

  constructor(world: World) {
    this.#world = world
  }

  @Get('/', { query: CityQuery, returns: Page.of(CityView) })
  @Doc({
    description: 'Cities whose name holds a text; case and accents do not count.',
    exampleResponse: { items: [reykjavik], total: 1, limit: 20, offset: 0 },
  })
  search(query: CityQuery) {
    return toPage(this.#world.searchCities(query.q, query.country), query)
  }

  @Get('/<id:int>', { returns: CityView })
  @Doc({ description: 'One city.', exampleResponse: reykjavik })
  show(id: number): City | undefined {
    return this.#world.city(id)
  }

  @Get('/near/<lat:float>/<lng:float>', { query: NearQuery, returns: Page.of(NearbyCity) })
  @Doc({
    description: 'Cities around a point, the nearest first.',
    exampleResponse: {
      items: [{ ...reykjavik, distance: 0.5 }],
      total: 9,
      limit: 20,
      offset: 0,
    },
  })
  near(lat: number, lng: number, query: NearQuery) {
    if (Math.abs(lat) > 90 || Math.abs(lng) > 180) {
      throw new HttpError(400, 'lat goes from -90 to 90, lng from -180 to 180.')
    }
    const here = { lat, lng }
    const found = this.#world
      .citiesIn(cellsAround(here, query.radius))
      .map((city) => ({ ...city, distance: Math.round(distance(here, city) * 10) / 10 }))
      .filter((city) => city.distance <= query.radius)
      .sort((a, b) => a.distance - b.distance)
    return toPage(found, query)
  }

  /** Closed: POST needs a token unless it says otherwise. */
  @Post('/', { body: NewCity, returns: CityView, status: 201 })
  @Doc({
    description: 'Adds a city.',
    example: { name: 'Nýborg', lat: 64.2, lng: -21.7, country: 'IS' },
    exampleResponse: { id: 171076, name: 'Nýborg', lat: 64.2, lng: -21.7, country: 'IS' },
  })
  add(body: NewCity) {
    if (this.#world.country(body.country) === undefined) {
      throw new HttpError(400, `There is no country ${body.country}.`)
    }
    const { name, lat, lng, country } = body
    const city = this.#world.addCity({ name, lat, lng, country })
    return reply(city, 201).header('Location', `/cities/${city.id}`)
  }
}
