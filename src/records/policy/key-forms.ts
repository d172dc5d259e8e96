/** Keys in the forms that clients give them. */
import type { Id } from '../filters/list-options.js'
import type { Table } from '../model/table.js'

export function isNothing(value: unknown): boolean {
  return value === undefined || value === null
}

/** Keys come as numbers, or as texts in any case. */
export function textOf(id: unknown): string {
  return String(id).toLowerCase()
}

/** GraphQL's keys are texts. */
export function keyOf({ key }: Table, id: Id): Id {
  return key.isUuid || typeof id !== 'string' ? id : Number(id)
}
