/** The keys that statements return, in the driver's form and as keys of records. */
import type { Row } from '../../engines/contract/engine.js'
import type { Column } from '../../engines/contract/table.js'
import type { Id } from '../filters/list-options.js'
import type { Table } from '../model/table.js'
import type { RecordsContext } from './source.js'

/** Rows that begin with a key. A key of several columns is the JSON of the database, and becomes the driver's form. */
export function withReadKeys(
  table: Table,
  { context }: { readonly context: Pick<RecordsContext, 'codecOf'> },
  rows: readonly Row[],
): readonly Row[] {
  if (table.key.parts === undefined) return rows
  const { key } = context.codecOf(table)
  return rows.map(([id, ...others]) => [key.decode(id), ...others])
}

/** The keys at the beginning of rows, in the form of records. */
export function toIds(table: Table, rows: readonly Row[]): Id[] {
  return rows.map(([key]) => toId(table.key, key))
}

/** Converts a key from the driver's form. */
export function toId({ isUuid, parts }: Column, key: unknown): Id {
  return isUuid || parts !== undefined ? String(key) : Number(key)
}
