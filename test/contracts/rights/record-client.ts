/** The operations of the rights suite and their results, in a form that all interfaces share. */
import type { Application } from '../../../src/index.js'
import type { RecordName } from './fixture.js'

/** The result of an operation through any interface. */
export interface Result {
  /** `none`: this interface has no such operation. */
  readonly outcome:
    'done' | 'unauthenticated' | 'forbidden' | 'missing' | 'conflict' | 'invalid' | 'none'
  /** Rows, a row or a number. Undefined unless the outcome is `done`. */
  readonly value: unknown
  /** The complete response as text, to compare two responses. */
  readonly text: string
}

export interface Filter {
  /** `account.iban` */
  readonly path: string
  readonly operator: 'eq' | 'gte' | 'like'
  readonly value: string | number
}

export interface ListOptions {
  readonly filter?: Filter
  readonly orderBy?: string
}

/** Runs operations through one interface (REST, GraphQL, …) as one caller. */
export interface RecordClient {
  /** Rows with the selected fields. */
  list(record: RecordName, fields: readonly string[], options?: ListOptions): Promise<Result>
  /** The number of rows. */
  count(record: RecordName, options?: ListOptions): Promise<Result>
  /** The keys of groups by a field of a related record, such as `account.iban`. Absent without aggregates. */
  groups?(record: RecordName, path: string): Promise<Result>
  find(record: RecordName, id: number, fields: readonly string[]): Promise<Result>
  create(record: RecordName, values: object): Promise<Result>
  update(record: RecordName, id: number, values: object): Promise<Result>
  delete(record: RecordName, id: number): Promise<Result>
}

/** The values of a column of a result's rows. */
export function keysOf(result: Result, path: string): Result {
  if (result.outcome !== 'done') return result
  const rows = result.value as readonly Readonly<Record<string, unknown>>[]
  return { ...result, value: rows.map((row) => row[path]) }
}

/** @param token the token of the caller, if any */
export type OpenClient = (app: Application, token: string | undefined) => RecordClient

/** Reduces rows to the fields, and sets missing ones to null: REST leaves out secured fields, GraphQL returns null. */
export function pickFields(value: unknown, fields: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => pickFields(item, fields))
  if (typeof value !== 'object' || value === null) return value
  const row = value as Readonly<Record<string, unknown>>
  return Object.fromEntries(fields.map((name) => [name, row[name] ?? null]))
}

/** The fields of a key of several fields; undefined for records with one key field, `id`. */
export function keyFieldsOf(record: RecordName, id: number): Record<string, number> | undefined {
  return record === 'Chapter' ? { book: 1, place: id } : undefined
}

/** The key in the path of a row: `7`, or `1,7`. */
export function pathKeyOf(record: RecordName, id: number): string {
  return Object.values(keyFieldsOf(record, id) ?? { id }).join()
}

/** The key as one value: `7`, or the JSON list of the fields. */
export function keyValueOf(record: RecordName, id: number): string | number {
  const fields = keyFieldsOf(record, id)
  return fields === undefined ? id : JSON.stringify(Object.values(fields))
}

const plurals: Partial<Record<RecordName, string>> = {
  Staff: 'staffList',
  Entry: 'entries',
  Wish: 'wishes',
}

/** The plural in routes of the admin API and in GraphQL names: `accounts`. */
export function pluralOf(record: RecordName): string {
  return plurals[record] ?? `${record.toLowerCase()}s`
}
