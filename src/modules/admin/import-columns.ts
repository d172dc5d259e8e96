/** Reads the first row of an imported file: the columns, and what the caller may do with each of them. */
import { clip, type FieldDescription, type RecordRights } from '../../index.js'
import type { Cell } from './csv-format.js'
import { linkColumnsOf, type LinkColumn } from './export-csv.js'
import type { PageRecord } from './page-records.js'
import { labelsByName } from './schema.js'

export interface FieldColumn extends FieldDescription {
  /** `fixed`: no client may write the field. `forbidden`: other callers may write it. */
  readonly use: 'key' | 'version' | 'value' | 'fixed' | 'forbidden'
}

export type ImportColumn = FieldColumn | LinkColumn

interface HeadingError {
  readonly path: string
  readonly message: string
}

export function readColumns(
  { described }: PageRecord,
  rights: RecordRights,
  headings: readonly Cell[],
): { readonly columns: readonly ImportColumn[]; readonly errors: readonly HeadingError[] } {
  const writableNames = new Set(
    described.fields.filter(({ writable }) => writable).map(({ name }) => name),
  )
  const columnsByName = new Map(
    [...rights.fields, ...linkColumnsOf(rights)].map(
      (column): [string, FieldDescription | LinkColumn] => [column.name, column],
    ),
  )
  const namesByLabel = toNamesByLabel(rights)
  const columns = new Map<string, ImportColumn>()
  const errors: HeadingError[] = []
  for (const { text } of headings) {
    const heading = text.trim()
    const name = columnsByName.has(heading)
      ? heading
      : (namesByLabel.get(heading.toLowerCase()) ?? heading)
    const column = columnsByName.get(name)
    if (column === undefined || columns.has(name)) {
      const message = columns.has(name)
        ? `The column "${clip(name)}" occurs twice.`
        : `There is no field "${clip(name)}". Fields: ${[...columnsByName.keys()].join(', ')}.`
      errors.push({ path: clip(name), message })
      continue
    }
    const isLinks = 'use' in column
    columns.set(name, isLinks ? column : { ...column, use: useOf(column, rights, writableNames) })
  }
  return { columns: [...columns.values()], errors }
}

/** @param writableNames the fields that some callers may write */
function useOf(
  { name, writable }: FieldDescription,
  { key, version }: RecordRights,
  writableNames: ReadonlySet<string>,
): FieldColumn['use'] {
  if (name === key.name) return 'key'
  if (name === version) return 'version'
  if (writable) return 'value'
  return writableNames.has(name) ? 'forbidden' : 'fixed'
}

/** Columns may be headed by the labels of the page. A label of several fields names none. */
function toNamesByLabel(rights: RecordRights): Map<string, string> {
  const names = new Map<string, string>()
  const ambiguous = new Set<string>()
  for (const [name, label] of labelsByName(rights)) {
    const key = label.toLowerCase()
    if (names.has(key)) ambiguous.add(key)
    names.set(key, name)
  }
  for (const key of ambiguous) names.delete(key)
  return names
}

/**
 * A caller who may not read the record may write its fields. Secured fields are left out, because their names are not
 * shown either.
 */
export function withWritableFields(rights: RecordRights, { described }: PageRecord): RecordRights {
  if (rights.may.read) return rights
  const { key, version, secured } = described
  const fields = described.fields.filter(
    ({ name, writable }) =>
      (writable || name === key.name || name === version) && !secured.includes(name),
  )
  return { ...rights, fields }
}
