/** What a door of the rights suite is asked, and what it answers, in words that all doors share. */
import type { Application } from '../../../src/index.js'
import type { RecordName } from './world.js'

/** What a door answered, in words that all doors share. */
export interface Answer {
  /** `none`: this door has no such operation. */
  readonly verdict:
    'done' | 'unauthenticated' | 'forbidden' | 'missing' | 'conflict' | 'invalid' | 'none'
  /** Rows, a row or a number; undefined where it was not done. */
  readonly value: unknown
  /** All of the answer as text, to hold one against another. */
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

/** One caller's way in. */
export interface Door {
  /** Rows, each with the fields that are asked for. */
  list(record: RecordName, fields: readonly string[], question?: Question): Promise<Answer>
  /** The number of rows. */
  count(record: RecordName, question?: Question): Promise<Answer>
  find(record: RecordName, id: number, fields: readonly string[]): Promise<Answer>
  create(record: RecordName, values: object): Promise<Answer>
  update(record: RecordName, id: number, values: object): Promise<Answer>
  delete(record: RecordName, id: number): Promise<Answer>
}

/** @param token of who asks, if any */
export type OpenDoor = (app: Application, token: string | undefined) => Door

/** Secured fields are left out of REST answers; GraphQL's are null. */
export function shown(value: unknown, fields: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((one) => shown(one, fields))
  if (typeof value !== 'object' || value === null) return value
  const row = value as Readonly<Record<string, unknown>>
  return Object.fromEntries(fields.map((name) => [name, row[name] ?? null]))
}
