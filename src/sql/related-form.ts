/**
 * Decides how a condition through a relation is written.
 *
 * ```sql
 * -- exists: for each row a look at its related rows. Ends early where many rows match.
 * exists (select 1 from "favorite" as "t1" where "t1"."article_id" = "t0"."id" and …)
 * -- list: the keys of the rows that match, found once. Quick where few rows match, because an index finds them.
 * "t0"."id" in (select "t1"."article_id" from "favorite" as "t1" where "t1"."user_id" in (…))
 * -- one: the same of a unique value, where the database plans better for a single key.
 * "t1"."user_id" = (select "t2"."id" from "user" as "t2" where "t2"."username" = ?)
 * ```
 */
import type { Dialect } from '../engines/contract/dialect.js'
import type { Column } from '../engines/contract/table.js'
import type { Condition } from './condition.js'
import { holdsAll, type SqlTable } from './table.js'

export type RelatedForm = 'exists' | 'list' | 'one'

type RelatedCondition = Extract<Condition, { kind: 'related' }>

/** Lists and single keys are null where the key is null, so `not` takes `exists`. */
export function formOf(
  { relation, part }: RelatedCondition,
  { isLocal }: Pick<Dialect, 'isLocal'>,
): RelatedForm {
  const { kind, target, shards } = relation
  // Of another shard nothing is found.
  if (shards !== undefined || !isFoundByIndex(part, target)) return 'exists'
  return isLocal && kind === 'belongsTo' && isUnique(part, target) ? 'one' : 'list'
}

/** The rows are few, found by their keys: related rows are looked at for each of them. */
export function isByKey(condition: Condition): boolean {
  switch (condition.kind) {
    case 'all':
      return condition.parts.some(isByKey)
    case 'compare':
      return condition.operator === 'eq' && condition.column.isKey
    case 'list':
      return !condition.orNull && condition.column.isKey
    default:
      return false
  }
}

/** An index leads to the rows that match, from a value that few rows share. */
function isFoundByIndex(condition: Condition, table: SqlTable): boolean {
  switch (condition.kind) {
    case 'all':
      return condition.parts.some((part) => isFoundByIndex(part, table))
    case 'any':
      return (
        condition.parts.length > 0 && condition.parts.every((part) => isFoundByIndex(part, table))
      )
    case 'compare': {
      const { operator, at, isText, column } = condition
      return operator === 'eq' && at === undefined && isText !== true && leads(column, table)
    }
    case 'list':
      return !condition.orNull && leads(condition.column, table)
    case 'search':
      return true
    case 'related': {
      const { relation, part } = condition
      const isReached = relation.kind !== 'belongsTo' || leads(relation.local, table)
      return isReached && isFoundByIndex(part, relation.target)
    }
    case 'not':
    case 'null':
      return false
  }
}

/** An index begins with the column, and its values are not a few words that many rows share. */
function leads(column: Column, { key, shard, indexes }: SqlTable): boolean {
  if (column === key) return true
  if (column.isBoolean || column.field.rules.oneOf !== undefined) return false
  return indexes.some((index) => {
    const [first, second] = index.columns
    return holdsAll(index) && (first === column || (first === shard && second === column))
  })
}

/** At most one row matches. */
function isUnique(condition: Condition, table: SqlTable): boolean {
  if (condition.kind === 'all') return condition.parts.some((part) => isUnique(part, table))
  if (condition.kind !== 'compare' || condition.operator !== 'eq') return false
  const { column, at, isText } = condition
  if (at !== undefined || isText === true) return false
  const isOnly = table.indexes.some(
    ({ unique, columns, form }) =>
      unique && form?.where === undefined && columns.length === 1 && columns[0] === column,
  )
  return table.shard === undefined && (column === table.key || isOnly)
}
