/**
 * `skip`, which omits a condition on purpose, and the errors for `undefined` in filters: a missing claim must never
 * select all rows.
 */
import type { ErrorCode } from '../../errors/error-codes.js'
import { DeclarationError } from '../../errors/declaration-error.js'

/**
 * Omits a condition on purpose: `{ where: { orgId, status: query.status ?? skip } }`. Allowed as the value of a field
 * or relation, or as an operand, also in `having` and `orderBy`. Not allowed within `or`, `not`, lists and the result
 * of `rows`.
 */
export const skip = Symbol.for('filigree.skip') as unknown as Skip

/** The type of `skip`. Not a symbol type, which would be widened in `const where = { status: status ?? skip }`. */
export interface Skip {
  readonly [brand]: never
}

declare const brand: unique symbol

/** The error for `undefined` in a filter. @param path `where.org.id` */
export function undefinedAt(path: string): DeclarationError {
  return declarationError(
    'UNDEFINED_IN_FILTER',
    `${path} is undefined, which is not a condition.`,
    "Write skip (import { skip } from 'filigree') for no condition, null for rows without a value, or leave the key out.",
  )
}

/** The error for a filter or search that is `undefined`. @param path `where` */
export function undefinedOption(path: string, replacement: string): DeclarationError {
  return declarationError(
    'UNDEFINED_IN_FILTER',
    `${path} is undefined, which is not a condition.`,
    `Write ${replacement} or leave the key out. A single condition can be skip (import { skip } from 'filigree').`,
  )
}

/**
 * Rejects `undefined` and `skip` in a list of fields, also holes.
 *
 * @param path the path of the list: `distinct`
 * @throws {DeclarationError}
 */
export function checkNamed(path: string, list: readonly unknown[]): void {
  const index = list.findIndex((name) => name === undefined || name === skip)
  if (index < 0) return
  if (list[index] === skip) throw skipAt(`${path}.${index}`)
  throw declarationError(
    'UNDEFINED_IN_FILTER',
    `${path}.${index} is undefined, which names no field.`,
    'Leave it out of the list. skip replaces a condition, not the name of a field.',
  )
}

/** The error for `skip` in a position where it would match more rows than intended. */
export function skipAt(path: string): DeclarationError {
  return declarationError(
    'SKIP_IN_FILTER',
    `${path} is skip, which is allowed only as the value of a field or as an operand, not as a complete filter or within "or", "not" or a list.`,
    'Build the filter without this part.',
  )
}

function declarationError(code: ErrorCode, message: string, fix: string): DeclarationError {
  return new DeclarationError([{ code, message, remedy: fix }], { isCall: true })
}
