/**
 * Which changes of a field's kind convert the stored values. Every conversion has a reverse one, so that a migration can
 * be undone. Other changes have no obvious result: the bytes of a text, the JSON of a number, the day of a time.
 */
import type { StorageClass } from '../../fields/kinds/kind.js'

/** The values of a column, whatever the database calls its type. Integers have one class for all their sizes. */
export type ValueClass = Exclude<StorageClass, 'wide'> | 'boolean' | 'uuid'

const pairs: readonly (readonly [ValueClass, ValueClass])[] = [
  ['integer', 'boolean'],
  ['integer', 'real'],
  ['integer', 'decimal'],
  ['integer', 'text'],
  ['real', 'decimal'],
  ['real', 'text'],
  ['decimal', 'text'],
  ['boolean', 'text'],
  ['uuid', 'text'],
  ['timestamp', 'text'],
  ['timestamp', 'date'],
  ['date', 'text'],
  ['time', 'text'],
]

/** @param from `undefined` for a type of another program: then the values decide */
export function isConvertible(from: ValueClass | undefined, to: ValueClass | undefined): boolean {
  if (from === undefined || to === undefined || from === to) return true
  return pairs.some(([a, b]) => (a === from && b === to) || (a === to && b === from))
}
