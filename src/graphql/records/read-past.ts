/** Asks a row filter about a row that is gone, by what some of its columns held. */
import { arrange, write } from '../../sql/write.js'
import type { PastRow } from '../../records/changes/changes.js'
import { type Later, after } from '../../core/maybe-promise.js'
import { columnsOfLeaf, leavesOf } from '../../sql/condition.js'
import type { Condition } from '../../records/filters/condition.js'
import type { Table } from '../../records/model/table.js'
import type { Source } from '../../records/statements/source.js'
import type { Column } from '../../engines/contract/table.js'
import type { QuestionReader } from './question.js'

/** The columns of its own table that a condition reads. */
export function columnsOf(condition: Condition | undefined): readonly Column[] {
  const leaves = condition === undefined ? [] : leavesOf(condition)
  return [...new Set(leaves.flatMap(columnsOfLeaf))]
}

/**
 * What a condition says by columns of its own table alone: rows that it finds, the whole condition finds too. What stands
 * in other tables may have changed since, or be gone with the row.
 *
 * @param isDenied below a `not`
 */
export function ownPart(condition: Condition, isDenied = false): Condition {
  switch (condition.kind) {
    case 'all':
    case 'any': {
      const parts = condition.parts.map((part) => ownPart(part, isDenied))
      return { ...condition, parts }
    }
    case 'not':
      return { ...condition, part: ownPart(condition.part, !isDenied) }
    case 'related':
    // A search is over rows that are there.
    case 'search':
      return { kind: isDenied ? 'all' : 'any', parts: [] }
    default:
      return condition
  }
}

/** Of a condition that reads no column. */
function isAlwaysTrue(condition: Condition): boolean {
  if (condition.kind === 'all') return condition.parts.every(isAlwaysTrue)
  if (condition.kind === 'any') return condition.parts.some(isAlwaysTrue)
  return condition.kind === 'not' && !isAlwaysTrue(condition.part)
}

/**
 * @param condition read by the reader, whose values go with it
 * @returns `undefined` where too little is known of the row
 */
export function hadMatched(
  past: PastRow | undefined,
  condition: Condition,
  reader: QuestionReader,
  source: Source,
  table: Table,
): Later<boolean | undefined> {
  const columns = columnsOf(condition)
  if (columns.length === 0) return isAlwaysTrue(condition)
  const isKnown = columns.every(
    ({ name, storage }) => past?.[name] !== undefined && storage !== 'bytes' && storage !== 'json',
  )
  if (past === undefined || !isKnown) return undefined
  const known = new Map(
    columns.map((column) => [column, reader.values.push(past[column.name]) - 1] as const),
  )
  const plan = write({ ask: 'match', table, known, where: condition }, source.context.dialect)
  const found = source.runner().run(plan.statement, arrange(plan, reader.values), 'all')
  return after(found, ({ rows }) => rows.length > 0)
}
