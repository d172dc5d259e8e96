/** Writes differences as a migration's text, with what needs an eye on it said beside it. */
import { quote } from '../schema/ddl.js'
import type { Difference } from '../schema/difference-kinds.js'
import { onceRebuilt } from '../schema/sync.js'

/** Whether there is anything to do; what belongs to no record may stay. */
export function isNeeded(differences: readonly Difference[]): boolean {
  return differences.some(isDone)
}

/**
 * ```sql
 * -- Table product is missing.
 * create table "product" (…);
 *
 * -- down
 * drop table "product";
 * ```
 *
 * @param forgotten tables that no record has any more
 */
export function writeMigration(
  differences: readonly Difference[],
  forgotten: readonly string[] = [],
): string {
  const wanted = [...onceRebuilt(differences), ...forgotten.map(toForgotten)]
  if (!isNeeded(wanted)) wanted.unshift(nothing)
  const up = wanted.map(writeUp)
  const down = [...wanted].reverse().filter(isDone).map(writeDown)
  if (down.length === 0) down.push(`-- ${nothing.message}\n`)
  return `${up.join('\n')}\n-- down\n${down.join('\n')}`
}

/** For an engine that has it all, while another has not. */
const nothing: Difference = {
  kind: 'unknown column',
  table: '',
  message: 'Nothing is to be done here.',
  blocks: false,
  remedy: 'safe',
  sql: [],
}

function toForgotten(table: string): Difference {
  const message = `Table ${table} belongs to no record.`
  return { ...nothing, table, message, remedy: 'by hand', sql: [`drop table ${quote(table)}`] }
}

/** A column or table that no field or record has is never dropped unasked: its data would be gone. */
function isDone({ kind }: Difference): boolean {
  return kind !== 'unknown column'
}

function writeUp(difference: Difference): string {
  const { message, remedy, rebuilds, sql, later = [] } = difference
  const lines = [`-- ${message}`]
  if (!isDone(difference)) {
    if (sql.length === 0) return `${lines.join('\n')}\n`
    lines.push('-- Its data would be lost. Take the comment away to drop it:')
    return [...lines, ...sql.map((one) => `-- ${one};`), ''].join('\n')
  }
  if (rebuilds === true) lines.push('-- The table is made anew and its rows are copied.')
  if (remedy === 'may fail') lines.push('-- REVIEW: rows that are there may not allow it.')
  if (remedy === 'by hand') lines.push('-- REVIEW: values may be changed or refused.')
  return [...lines, ...[...sql, ...later].map((one) => `${one};`), ''].join('\n')
}

function writeDown({ message, undo }: Difference): string {
  if (undo !== undefined) return undo.map((one) => `${one};\n`).join('')
  return `-- REVIEW: cannot be taken back by itself: ${message}\n`
}
