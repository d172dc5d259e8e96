/** Converts keys in the forms in which clients send them. */
import type { Id } from './list-options.js'
import type { Table } from '../model/table.js'

export function isNothing(value: unknown): boolean {
  return value === undefined || value === null
}

/** Clients send keys as numbers or as text, in upper or lower case. */
export function textOf(id: unknown): string {
  return String(id).toLowerCase()
}

/** GraphQL's keys are text. */
export function keyOf({ key }: Table, id: Id): Id {
  return key.isUuid || typeof id !== 'string' ? id : Number(id)
}
