/**
 * The columns of a file for many-to-many relations. A cell holds the keys of the linked rows: `3;17`. Keys of several fields have
 * a column for each field, whose lists have the same order.
 */
import { tryParseJson } from '../core/json.js'
import {
  describeRecord,
  type DescribedKey,
  type FieldDescription,
  type RecordRights,
} from '../records/rest/record-rights.js'
import { readCell, type Cell } from './cell-text.js'
import type { CsvValues } from './csv-records.js'

export interface LinkColumn {
  readonly use: 'links'
  /** `tagIds`, or `tagIds.country` for a field of the key. */
  readonly name: string
  /** The name in the body of a write: `tagIds`. */
  readonly ids: string
  readonly relation: string
  /** The key of the linked rows. */
  readonly key: DescribedKey
  /** The field of a key of several fields. */
  readonly part: FieldDescription | undefined
  /** False if the caller may not change the links. */
  readonly linkable: boolean
}

/** The links of a row, as a file has them. */
export interface ParsedLinks {
  /** The first column of the links. */
  readonly column: LinkColumn
  /** Keys of several fields are the JSON list of their values. */
  readonly keys: readonly (string | number)[]
}

/** The columns for the relations whose keys the caller may read. */
export function linkColumnsOf({ relations }: Pick<RecordRights, 'relations'>): LinkColumn[] {
  return relations.flatMap(({ name: relation, ids, target, linkable }): LinkColumn[] => {
    const described = describeRecord(target)
    if (ids === undefined || described === undefined) return []
    const { key, fields } = described
    const common = { use: 'links', ids, relation, key, linkable } as const
    if (key.parts === undefined) return [{ ...common, name: ids, part: undefined }]
    return key.parts.flatMap((name) => {
      const part = fields.find((field) => field.name === name)
      return part === undefined ? [] : [{ ...common, name: `${ids}.${name}`, part }]
    })
  })
}

/** The keys of the rows that are linked to a row. */
export function linkedKeys(row: CsvValues, { relation, key }: LinkColumn): unknown[] {
  return (row[relation] as CsvValues[]).map((linkedRow) => key.of(linkedRow))
}

/** The cell of a column. @returns null without linked rows */
export function toLinksCell(row: CsvValues, column: LinkColumn): string | null {
  const { part, relation } = column
  const values =
    part === undefined
      ? linkedKeys(row, column)
      : (row[relation] as CsvValues[]).map((linkedRow) => linkedRow[part.name])
  if (values.length === 0) return null
  const isPlain = values.every((value) => plainPart.test(String(value)))
  return isPlain ? values.join(';') : JSON.stringify(values)
}

/** Other texts are written as JSON. */
const plainPart = /^[^\s;,"'[\]]+$/

/** @returns undefined if the cell is not a list of keys */
export function readKeys({ key }: LinkColumn, { text }: Cell): (string | number)[] | undefined {
  const isUuid = key.kind === 'uuid'
  const keys = new Set<string | number>()
  for (const [part] of readCell(text).matchAll(/[^;,\s]+/g)) {
    if (!isUuid && !/^-?\d{1,15}$/.test(part)) return undefined
    keys.add(isUuid ? part.toLowerCase() : Number(part))
  }
  return [...keys]
}

/**
 * The keys of several fields, from the cells of their columns.
 *
 * @returns undefined if a column is missing, the lists have different lengths, or a value is not of its field
 */
export function readKeysOfParts(
  cells: readonly (readonly [column: LinkColumn, cell: Cell])[],
): string[] | undefined {
  const [first] = cells
  const { parts = [], read } = (first as readonly [LinkColumn, Cell])[0].key
  const lists = parts.map((name) => {
    const found = cells.find(([{ part }]) => part?.name === name)
    return found && readParts(found[0], found[1])
  })
  const length = lists[0]?.length
  if (lists.some((list) => list === undefined || list.length !== length)) return undefined
  const texts = Array.from({ length: length ?? 0 }, (_, index) =>
    read(JSON.stringify(lists.map((list) => list?.[index]))),
  )
  return texts.includes(undefined) ? undefined : [...new Set(texts as string[])]
}

function readParts({ part }: LinkColumn, { text }: Cell): unknown[] | undefined {
  const list = readCell(text).trim()
  if (list.startsWith('[')) {
    const values = tryParseJson(list)
    return Array.isArray(values) ? (values as unknown[]) : undefined
  }
  const texts = list.split(';').map((one) => one.trim())
  return list === '' ? [] : texts.map((one) => part?.fromText(one))
}

/** The keys in the form of a write. */
export function toLinkInput({ key: { parts } }: LinkColumn, keys: ParsedLinks['keys']): unknown[] {
  if (parts === undefined) return [...keys]
  return keys.map((text) => {
    const values = JSON.parse(String(text)) as unknown[]
    return Object.fromEntries(parts.map((name, index) => [name, values[index]]))
  })
}
