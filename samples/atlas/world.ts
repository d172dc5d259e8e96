/** The atlas's database queries. */
import { Database, HttpError, skip, type Repository, type Row } from 'filigree'
import { containing, escapePattern, toSearchable } from './city-search.js'
import type { KnownCity } from './gazetteer.js'
import { boxAround, distance, toTenths, type Place } from './geography.js'
import { toPage, type Paged, type PageQuery } from './paging.js'
import { City, Country } from './records.js'

/** A city as the REST routes show it. */
export interface CityAnswer extends KnownCity {
  readonly id: number
}

export interface Distant {
  readonly id: number
  /** Kilometres. */
  readonly distance: number
}

export class World {
  static inject = [Database]
  readonly #database: Database
  readonly #countries: Repository<Country>
  readonly #cities: Repository<City>

  constructor(database: Database) {
    this.#database = database
    this.#countries = database.records(Country)
    this.#cities = database.records(City)
  }

  async statistics(): Promise<{ countries: number; cities: number }> {
    return { countries: await this.#countries.count(), cities: await this.#cities.count() }
  }

  /** @param code in upper or lower case */
  async country(code: string): Promise<Row<Country> | undefined> {
    const [country] = await this.#countries.list({ where: { code: code.toUpperCase() }, limit: 1 })
    return country
  }

  async searchCountries(
    { region, text }: { region: string | undefined; text: string | undefined },
    page: PageQuery,
  ): Promise<Paged<Row<Country>>> {
    const where = {
      region: region === undefined ? skip : { ilike: escapePattern(region) },
      name: text === undefined ? skip : { ilike: containing(text) },
    }
    return toPage(
      page,
      (part) => this.#countries.list({ where, ...part }),
      () => this.#countries.count(where),
    )
  }

  async city(id: number): Promise<CityAnswer | null> {
    const city = await this.#cities.find(id, { with: ['country'] })
    return city === null ? null : toAnswer(city, city.country)
  }

  citiesOf({ id }: Row<Country>, page: PageQuery): Promise<Paged<CityAnswer>> {
    return this.#listCities({ countryId: id }, page)
  }

  /** Cities whose name contains the text; case and accents do not count. */
  async searchCities(
    { text, country }: { text: string; country: string | undefined },
    page: PageQuery,
  ): Promise<Paged<CityAnswer>> {
    const searchable = { like: containing(toSearchable(text)) }
    if (country === undefined) return this.#listCities({ searchable }, page)
    const within = await this.country(country)
    if (within === undefined) return { items: [], total: 0, limit: page.limit, offset: page.offset }
    return this.#listCities({ searchable, countryId: within.id }, page)
  }

  /** Cities around a place, the nearest first. */
  async citiesAround(
    here: Place,
    kilometres: number,
    page: PageQuery,
  ): Promise<Paged<CityAnswer & Distant>> {
    const near = (await this.#placesAround(here, kilometres))
      .map(({ id, lat, lng }) => ({
        id: Number(id),
        distance: toTenths(distance(here, { lat, lng })),
      }))
      .filter((place) => place.distance <= kilometres)
      .sort((a, b) => a.distance - b.distance || a.id - b.id)
    return toPage(
      page,
      ({ limit, offset }) => this.#describe(near.slice(offset, offset + limit)),
      () => near.length,
    )
  }

  /** @throws {HttpError} 400 for an unknown country */
  async addCity({ country: code, ...values }: KnownCity): Promise<CityAnswer> {
    const country = await this.#existing(code)
    const searchable = toSearchable(values.name)
    const city = await this.#cities.create({ ...values, searchable, countryId: country.id })
    return toAnswer(city, country)
  }

  /**
   * Changes the given fields.
   *
   * @returns null if there is no such city
   * @throws {HttpError} 400 for an unknown country
   */
  async changeCity(
    id: number,
    { country: code, ...values }: Partial<KnownCity>,
  ): Promise<CityAnswer | null> {
    const changes: Partial<City> = { ...values }
    if (values.name !== undefined) changes.searchable = toSearchable(values.name)
    if (code !== undefined) changes.countryId = (await this.#existing(code)).id
    const city = await this.#cities.update(id, changes)
    return city === null ? null : this.city(id)
  }

  /** Only the columns for distances, because there may be many rows: the index `place` contains them all. */
  #placesAround(here: Place, kilometres: number) {
    // Distances are rounded: 30.04 counts as within 30.
    const { lat, lngs } = boxAround(here, kilometres + 0.05)
    return this.#database.kysely
      .withTables<{ city: { id: number | string; lat: number; lng: number } }>()
      .selectFrom('city')
      .select(['id', 'lat', 'lng'])
      .where('lat', '>=', lat.from)
      .where('lat', '<=', lat.to)
      .where((eb) =>
        eb.or(lngs.map(({ from, to }) => eb.and([eb('lng', '>=', from), eb('lng', '<=', to)]))),
      )
      .execute()
  }

  async #describe(places: readonly Distant[]): Promise<(CityAnswer & Distant)[]> {
    const where = { id: { in: places.map(({ id }) => id) } }
    const cities = await this.#cities.list({ where, with: ['country'] })
    const byId = new Map(cities.map((city) => [city.id, city]))
    return places.flatMap((place) => {
      const city = byId.get(place.id)
      return city === undefined ? [] : [{ ...toAnswer(city, city.country), ...place }]
    })
  }

  #listCities(
    where: { countryId?: number; searchable?: { like: string } },
    page: PageQuery,
  ): Promise<Paged<CityAnswer>> {
    const list = async (part: { limit: number; offset: number }): Promise<CityAnswer[]> => {
      const cities = await this.#cities.list({ where, with: ['country'], ...part })
      return cities.map((city) => toAnswer(city, city.country))
    }
    return toPage(page, list, () => this.#cities.count(where))
  }

  async #existing(code: string): Promise<Row<Country>> {
    const country = await this.country(code)
    if (country === undefined) throw new HttpError(400, `There is no country ${code}.`)
    return country
  }
}

function toAnswer({ id, name, lat, lng }: Row<City>, { code }: Row<Country>): CityAnswer {
  return { id, name, lat, lng, country: code }
}
