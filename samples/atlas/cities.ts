/** The cities over REST: search, neighbours, and writes that need a token. */
import {
  Controller,
  Doc,
  Field,
  Get,
  HttpError,
  Live,
  Page,
  partial,
  Patch,
  pick,
  Post,
  reply,
} from 'filigree'
import { PageQuery } from './paging.js'
import { City } from './records.js'
import { World } from './world.js'

export class CityView extends pick(City, 'id', 'name', 'lat', 'lng') {
  @Field('string', {
    maxLength: 2,
    pattern: /^[A-Z]{2}$/,
    description: 'ISO 3166-1 alpha-2',
    example: 'IS',
  })
  country!: string
}

class NewCity extends pick(CityView, 'name', 'lat', 'lng', 'country') {}

class CityChanges extends partial(NewCity) {}

class CityQuery extends PageQuery {
  @Field('string', {
    minLength: 2,
    maxLength: 120,
    pattern: /^\P{Cc}*$/u,
    description: 'Part of the name; case and accents do not count.',
  })
  q!: string

  @Field('string', { optional: true, maxLength: 2, pattern: /^[A-Za-z]{2}$/ })
  country?: string
}

class NearQuery extends PageQuery {
  @Field('numeric', { min: 1, max: 500, default: 50, description: 'Kilometres.' })
  radius!: number
}

class NearbyCity extends CityView {
  @Field('numeric', { description: 'Kilometres from the point asked for.' }) distance!: number
}

/** The example in the documentation. */
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

  /** Live: the page's list shows what others add and change. */
  @Get('/', { query: CityQuery, returns: Page.of(CityView) })
  @Live
  @Doc({
    description: 'Cities whose name contains a text; case and accents do not count.',
    exampleResponse: { items: [reykjavik], total: 1, limit: 20, offset: 0 },
  })
  search(query: CityQuery) {
    return this.#world.searchCities({ text: query.q, country: query.country }, query)
  }

  @Get('/<id:int>', { returns: CityView })
  @Doc({ description: 'One city.', exampleResponse: reykjavik })
  show(id: number) {
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
    return this.#world.citiesAround({ lat, lng }, query.radius, query)
  }

  /** Protected: a POST needs a token by default. */
  @Post('/', { body: NewCity, returns: CityView, status: 201 })
  @Doc({
    description: 'Adds a city.',
    example: { name: 'Nýborg', lat: 64.2, lng: -21.7, country: 'IS' },
    exampleResponse: { id: 171076, name: 'Nýborg', lat: 64.2, lng: -21.7, country: 'IS' },
  })
  async add(body: NewCity) {
    const city = await this.#world.addCity(body)
    return reply(city, 201).header('Location', `/cities/${city.id}`)
  }

  @Patch('/<id:int>', { body: CityChanges, returns: CityView })
  @Doc({
    description: 'Changes the given fields of a city.',
    example: { name: 'Reykjavíkurborg' },
    exampleResponse: { ...reykjavik, name: 'Reykjavíkurborg' },
  })
  change(id: number, body: CityChanges) {
    return this.#world.changeCity(id, body)
  }
}
