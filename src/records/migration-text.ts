/** Writes differences as a migration's text, with what needs an eye on it said beside it. */
import type { Difference } from './difference.js'
import { onceRebuilt } from './sync.js'

/**
 * ```sql
 * -- Table product is missing.
 * create table "product" (…);
 *
 * -- down
 * drop table "product";
 * ```
 *
 * @returns `undefined` where nothing is to be done
 */
export function writeMigration(differences: readonly Difference[]): string | undefined {
  const wanted = onceRebuilt(differences)
  if (!wanted.some(isDone)) return undefined
  const up = wanted.map(writeUp)
  const down = [...wanted].reverse().filter(isDone).map(writeDown)
  return `${up.join('\n')}\n-- down\n${down.join('\n')}`
}

/** A column that no field has is never dropped unasked: its data would be gone. */
function isDone({ kind }: Difference): boolean {
  return kind !== 'unknown column'
}

function writeUp(difference: Difference): string {
  const { message, remedy, rebuilds, sql } = difference
  const lines = [`-- ${message}`]
  if (!isDone(difference)) {
    lines.push('-- Its data would be lost. Take the comment away to drop it:')
    return [...lines, ...sql.map((one) => `-- ${one};`), ''].join('\n')
  }
  if (rebuilds === true) lines.push('-- The table is made anew and its rows are copied.')
  if (remedy === 'may fail') lines.push('-- REVIEW: rows that are there may not allow it.')
  if (remedy === 'by hand') lines.push('-- REVIEW: values may be changed or refused.')
  return [...lines, ...sql.map((one) => `${one};`), ''].join('\n')
}

function writeDown({ message, undo }: Difference): string {
  if (undo !== undefined) return undo.map((one) => `${one};\n`).join('')
  return `-- REVIEW: cannot be taken back by itself: ${message}\n`
}
