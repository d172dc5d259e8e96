/** Summarises what a change of many rows changes, for its preview. */
import { isDeepStrictEqual } from 'node:util'
import { clip, type Database, type RecordRights } from '../../index.js'
import { toJson, type JsonRow } from './page-records.js'

/** The same change of a field in several rows. Without `from` and `to`, the values differ from row to row. */
interface FieldSummary {
  readonly field: string
  readonly from?: unknown
  readonly to?: unknown
  readonly count: number
}

/** A field with more groups than this is summarised by its number of rows. */
const maxGroups = 8

interface ValueGroup {
  readonly from: unknown
  readonly to: unknown
  count: number
}

export class ChangeSummary {
  /** The fields that the caller may read, except the ones that every write changes. */
  readonly #fields: RecordRights['fields']
  /** For each field, the groups by their values as JSON. */
  readonly #groups = new Map<string, Map<string, ValueGroup>>()
  #deleted = 0

  constructor({ type, fields }: RecordRights, database: Database) {
    const { key, version, updatedAt, deletedAt } = database.records(type).table
    const automatic = new Set([key, version, updatedAt, deletedAt].map((one) => one?.property))
    this.#fields = fields.filter(({ name }) => !automatic.has(name))
  }

  /** @param after null if the row was deleted */
  add(before: object, after: object | null): void {
    if (after === null) {
      this.#deleted++
      return
    }
    const shown = { fields: this.#fields, relations: [] }
    const [from, to] = [toJson(before, shown), toJson(after, shown)]
    for (const { name } of this.#fields) this.#addValue(name, from[name], to[name])
  }

  #addValue(field: string, before: unknown, after: unknown): void {
    const [from, to] = [toShort(before), toShort(after)]
    if (isDeepStrictEqual(before ?? null, after ?? null)) return
    const groups = this.#groups.get(field) ?? new Map<string, ValueGroup>()
    this.#groups.set(field, groups)
    const key = JSON.stringify([from, to])
    const group = groups.get(key)
    if (group !== undefined) group.count++
    else groups.set(key, { from, to, count: 1 })
  }

  /** `deleted` is the number of rows that the change deletes. */
  toJSON(): JsonRow {
    const changes = [...this.#groups].flatMap(([field, byValues]): FieldSummary[] => {
      const groups = [...byValues.values()]
      return groups.length > maxGroups
        ? [{ field, count: groups.reduce((sum, { count }) => sum + count, 0) }]
        : groups.map((group) => ({ field, ...group }))
    })
    return { changes, deleted: this.#deleted }
  }
}

function toShort(value: unknown): unknown {
  return typeof value === 'string' ? clip(value) : (value ?? null)
}
