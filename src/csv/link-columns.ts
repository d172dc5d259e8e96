/** The columns of a file for many-to-many relations. A cell holds the keys of the linked rows: `3;17`. */
import { describeRecord, type RecordRights } from '../records/rest/record-rights.js'
import { readCell, type Cell } from './cell-text.js'
import type { CsvValues } from './csv-records.js'

export interface LinkColumn {
  readonly use: 'links'
  /** The name in the body of a write: `tagIds`. */
  readonly name: string
  readonly relation: string
  readonly key: string
  readonly isUuid: boolean
  /** False if the caller may not change the links. */
  readonly linkable: boolean
}

/** The columns for the relations whose keys the caller may read. */
export function linkColumnsOf({ relations }: Pick<RecordRights, 'relations'>): LinkColumn[] {
  return relations.flatMap(({ name: relation, ids: name, target, linkable }) => {
    const key = describeRecord(target)?.key
    // A key of several fields does not fit into a cell of keys.
    if (name === undefined || key === undefined || key.parts !== undefined) return []
    const isUuid = key.kind === 'uuid'
    return [{ use: 'links', name, relation, key: key.name, isUuid, linkable }]
  })
}

/** The keys of the rows that are linked to a row. */
export function linkedKeys(row: CsvValues, { relation, key }: LinkColumn): unknown[] {
  return (row[relation] as CsvValues[]).map((linkedRow) => linkedRow[key])
}

/** @returns undefined if the cell is not a list of keys */
export function readKeys({ isUuid }: LinkColumn, { text }: Cell): (string | number)[] | undefined {
  const keys = new Set<string | number>()
  for (const [part] of readCell(text).matchAll(/[^;,\s]+/g)) {
    if (!isUuid && !/^-?\d{1,15}$/.test(part)) return undefined
    keys.add(isUuid ? part.toLowerCase() : Number(part))
  }
  return [...keys]
}
