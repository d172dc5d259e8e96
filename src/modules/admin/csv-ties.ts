/**
 * Columns of CSV for many-to-many relations: one cell has the keys of all tied rows, `3;17`. Source: specification, Admin page 9.
 */
import { describeRecord, type RecordRights } from '../../index.js'
import { readCell, type Cell } from './csv-text.js'
import type { Row } from './shown-records.js'

/** The keys of a many-to-many relation, in one cell: `3;17`. */
export interface TieColumn {
  readonly use: 'ties'
  /** As in the body of a write: `tagIds`. */
  readonly name: string
  readonly relation: string
  readonly key: string
  readonly isUuid: boolean
}

/** The relations of a record whose keys the caller may see, as columns. */
export function tiesOf({ relations }: RecordRights): TieColumn[] {
  return relations.flatMap(({ name: relation, ids: name, target }) => {
    const key = describeRecord(target)?.key
    if (name === undefined || key === undefined) return []
    return [{ use: 'ties', name, relation, key: key.name, isUuid: key.kind === 'uuid' }]
  })
}

/** Puts the keys of the tied rows into their columns: `3;17`. Changes the row. */
export function withKeys(row: Row, ties: readonly TieColumn[]): Row {
  for (const tie of ties) row[tie.name] = keysIn(row, tie).join(';') || null
  return row
}

/** The keys of the rows that are tied to a row. */
export function keysIn(row: Row, { relation, key }: TieColumn): unknown[] {
  return (row[relation] as Row[]).map((other) => other[key])
}

/** @returns undefined for what is no list of keys */
export function readKeys({ isUuid }: TieColumn, { text }: Cell): (string | number)[] | undefined {
  const keys = new Set<string | number>()
  for (const [part] of readCell(text).matchAll(/[^;,\s]+/g)) {
    if (!isUuid && !/^-?\d{1,15}$/.test(part)) return undefined
    keys.add(isUuid ? part.toLowerCase() : Number(part))
  }
  return [...keys]
}
