/** Groups the changes of many rows by field and value, for a preview. */
import { isDeepStrictEqual } from 'node:util'
import { clip, toClientRow, type Database, type RecordRights } from '../../index.js'
import type { JsonRow } from './page-records.js'

/** How many rows change a field from one value to another. Without `from` and `to`: how many rows change it at all. */
interface FieldSummary {
  readonly field: string
  readonly from?: unknown
  readonly to?: unknown
  readonly count: number
}

/** Of a field with more groups than this, the preview has the number of rows only. */
const maxGroups = 8

/** Rows that change a field from one value to another. */
interface ValueGroup {
  readonly from: unknown
  readonly to: unknown
  count: number
}

export class ChangeSummary {
  /** The fields that the caller may read, except the key, the version and the timestamps of writes and deletions. */
  readonly #fields: RecordRights['fields']
  /** For each field, the groups by their values as JSON. */
  readonly #groups = new Map<string, Map<string, ValueGroup>>()
  #deleted = 0

  constructor({ type, fields }: RecordRights, database: Database) {
    const { key, version, updatedAt, deletedAt } = database.records(type).table
    const omitted = new Set([key, version, updatedAt, deletedAt].map((field) => field?.property))
    this.#fields = fields.filter(({ name }) => !omitted.has(name))
  }

  /** @param after null if the row was deleted */
  add(before: object, after: object | null): void {
    if (after === null) {
      this.#deleted++
      return
    }
    const output = { fields: this.#fields, relations: [] }
    const [from, to] = [toClientRow(before, output), toClientRow(after, output)]
    for (const { name } of this.#fields) this.#addField(name, from[name], to[name])
  }

  #addField(field: string, before: unknown, after: unknown): void {
    if (isDeepStrictEqual(before ?? null, after ?? null)) return
    const [from, to] = [clipText(before), clipText(after)]
    const groups = this.#groups.get(field) ?? new Map<string, ValueGroup>()
    this.#groups.set(field, groups)
    const key = JSON.stringify([from, to])
    const group = groups.get(key)
    if (group !== undefined) group.count++
    else groups.set(key, { from, to, count: 1 })
  }

  /** `deleted` is the number of rows that the change deletes. */
  toPreview(): JsonRow {
    const changes = [...this.#groups].flatMap(([field, byValues]): FieldSummary[] => {
      const groups = [...byValues.values()]
      return groups.length > maxGroups
        ? [{ field, count: groups.reduce((sum, { count }) => sum + count, 0) }]
        : groups.map((group) => ({ field, ...group }))
    })
    return { changes, deleted: this.#deleted }
  }
}

function clipText(value: unknown): unknown {
  return typeof value === 'string' ? clip(value) : (value ?? null)
}
