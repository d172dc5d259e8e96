/**
 * `skip`, which leaves a condition out on purpose, and the errors for `undefined` in filters: a missing claim must never
 * select every row.
 */
import { DeclarationError } from '../../errors/declaration-error.js'

/**
 * No condition, said on purpose: `{ where: { orgId, status: query.status ?? skip } }`. It is taken as the value of a
 * field or relation, or as an operand, also in `having` and `orderBy`; not inside `or`, `not`, lists and the answer of
 * `rows`.
 */
export const skip = Symbol.for('filigree.skip') as unknown as Skip

/** The type of `skip`. No symbol's type: that would widen in `const where = { status: status ?? skip }`. */
export interface Skip {
  readonly [brand]: never
}

declare const brand: unique symbol

/** The error for `undefined` in a filter. @param path `where.org.id` */
export function undefinedAt(path: string): DeclarationError {
  return declarationError(
    'UNDEFINED_IN_FILTER',
    `${path} is undefined, which says nothing about the rows that are meant.`,
    "Write skip (import { skip } from 'filigree') where no condition is meant, null for rows without a value, or leave the key out.",
  )
}

/** The error for a filter or search that is `undefined`. @param path `where` */
export function undefinedOption(path: string, replacement: string): DeclarationError {
  return declarationError(
    'UNDEFINED_IN_FILTER',
    `${path} is undefined, which says nothing about the rows that are meant.`,
    `Write ${replacement} or leave the key out. A single condition can be skip (import { skip } from 'filigree').`,
  )
}

/**
 * A list names fields.
 *
 * @param path of the list: `distinct`
 * @throws {DeclarationError} for `undefined` and `skip` in it, also for its holes
 */
export function rejectUnnamed(path: string, list: readonly unknown[]): void {
  const index = list.findIndex((name) => name === undefined || name === skip)
  if (index < 0) return
  if (list[index] === skip) throw skipAt(`${path}.${index}`)
  throw declarationError(
    'UNDEFINED_IN_FILTER',
    `${path}.${index} is undefined, which names no field.`,
    'Leave it out of the list. skip stands for a condition that is not meant, and so cannot stand for it.',
  )
}

/** The error for `skip` in a place where it would match more rows than intended. */
export function skipAt(path: string): DeclarationError {
  return declarationError(
    'SKIP_IN_FILTER',
    `${path} is skip, which is the value of a field or an operand: not a whole filter, nor within "or", "not" or a list.`,
    'Build the filter without this part where no condition is meant.',
  )
}

function declarationError(code: string, message: string, remedy: string): DeclarationError {
  return new DeclarationError([{ code, message, remedy }], { isCall: true })
}
