/** The operations of the rights suite and their results, in a form that all interfaces share. */
import type { Application } from '../../../src/index.js'
import type { RecordName } from './world.js'

/** The result of an operation through any interface. */
export interface Answer {
  /** `none`: this interface has no such operation. */
  readonly verdict:
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

export interface Question {
  readonly filter?: Filter
  readonly orderBy?: string
}

/** Runs operations through one interface (REST, GraphQL, …) as one caller. */
export interface Door {
  /** Rows with the selected fields. */
  list(record: RecordName, fields: readonly string[], question?: Question): Promise<Answer>
  /** The number of rows. */
  count(record: RecordName, question?: Question): Promise<Answer>
  find(record: RecordName, id: number, fields: readonly string[]): Promise<Answer>
  create(record: RecordName, values: object): Promise<Answer>
  update(record: RecordName, id: number, values: object): Promise<Answer>
  delete(record: RecordName, id: number): Promise<Answer>
}

/** @param token the token of the caller, if any */
export type OpenDoor = (app: Application, token: string | undefined) => Door

/** Reduces rows to the fields, and sets missing ones to null: REST leaves out secured fields, GraphQL returns null. */
export function shown(value: unknown, fields: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((one) => shown(one, fields))
  if (typeof value !== 'object' || value === null) return value
  const row = value as Readonly<Record<string, unknown>>
  return Object.fromEntries(fields.map((name) => [name, row[name] ?? null]))
}
