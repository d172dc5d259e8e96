/** Search that ignores case and accents: on a hidden column with each name in plain letters. */
import { Database } from 'filigree'
import { City } from './records.js'

/** `Reykjavík` → `reykjavik`. */
export function toSearchable(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
}

/** The pattern for texts that contain this one. */
export function containing(text: string): string {
  return `%${escapePattern(text)}%`
}

/** A pattern that matches only the text itself. */
export function escapePattern(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}

/** Fills the column for cities that are not written by the REST routes, but for instance over GraphQL. */
export class CitySearch {
  static inject = [Database]
  readonly #database: Database
  #stop: (() => void) | undefined

  constructor(database: Database) {
    this.#database = database
  }

  onStart(): void {
    this.#stop = this.#database.onChange(({ event, record, id }) => {
      if (record !== City || event === 'deleted') return
      this.#fill(id).catch((error: unknown) => {
        this.#database.log.error({ err: error }, `city ${id} cannot be found by its name`)
      })
    })
  }

  onStop(): void {
    this.#stop?.()
  }

  async #fill(id: number | string): Promise<void> {
    const cities = this.#database.records(City)
    const city = await cities.find(id)
    if (city === null) return
    const searchable = toSearchable(city.name)
    if (city.searchable !== searchable) await cities.update(id, { searchable })
  }
}
