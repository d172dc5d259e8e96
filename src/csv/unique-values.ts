/** Finds rows of an imported file that have the same value of a unique field. */
import { HttpError } from '../errors/http-error.js'
import type { DescribedKey, RecordRights } from '../records/rest/record-rights.js'
import type { CsvValues } from './csv-records.js'
import type { WrittenRow } from './import-row.js'

/** A check stores nothing, so the database cannot find equal values in one file. */
export class UniqueValues {
  readonly #groups: readonly (readonly string[])[]
  readonly #messages: ReadonlyMap<string, string | undefined>
  readonly #key: DescribedKey
  /** The keys of new rows, if people give them. */
  readonly #newKeys = new Set<unknown>()
  /** The key of the row that has the values. */
  readonly #seen = new Map<string, unknown>()

  constructor({ fields, key }: RecordRights) {
    const groups = new Map<string, string[]>()
    for (const { name, rules } of fields) {
      const { unique } = rules
      if (unique === undefined || unique === false) continue
      const group = unique === true ? `field ${name}` : `group ${unique}`
      groups.set(group, [...(groups.get(group) ?? []), name])
    }
    this.#groups = [...groups.values()]
    this.#messages = new Map(fields.map(({ name, messages }) => [name, messages.unique]))
    this.#key = key
  }

  /** @throws {HttpError} 409 if another row of the file has the same value, or is new and has the same key */
  add({ row, isNew }: WrittenRow): void {
    const stored = row as CsvValues
    const { parts, of } = this.#key
    const id = of(row)
    if (this.#newKeys.has(id)) throw this.#duplicateError(parts ?? [])
    if (isNew && parts !== undefined && id !== null) this.#newKeys.add(id)
    for (const names of this.#groups) {
      const values = names.map((name) => stored[name])
      // Rows without a value are not duplicates.
      if (values.some((value) => value === null || value === undefined)) continue
      const valuesKey = JSON.stringify([names, values])
      const first = this.#seen.get(valuesKey)
      if (first !== undefined && first !== id) throw this.#duplicateError(names)
      this.#seen.set(valuesKey, id)
    }
  }

  #duplicateError(names: readonly string[]): HttpError {
    const verb = names.length === 1 ? 'is' : 'together are'
    const ownMessage = names.map((name) => this.#messages.get(name)).find(Boolean)
    const message =
      ownMessage ?? `${names.join(' and ')} ${verb} already taken by another row of the file`
    const errors = names.map((path) => ({ path, code: 'unique', message }))
    return new HttpError(409, message, { code: 'CONFLICT', errors })
  }
}
