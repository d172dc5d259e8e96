/** Reads the first row of an imported file: the columns, and what the caller may do with each of them. */
import { clip } from '../core/text.js'
import { didYouMean, suggestion } from '../errors/did-you-mean.js'
import type {
  FieldDescription,
  RecordDescription,
  RecordRights,
} from '../records/rest/record-rights.js'
import type { Cell } from './cell-text.js'
import type { RowError } from './csv-error.js'
import { linkColumnsOf, type LinkColumn } from './link-columns.js'

export interface FieldColumn extends FieldDescription {
  /** `fixed`: no client may write the field. `forbidden`: other callers may write it. */
  readonly use: 'key' | 'version' | 'value' | 'fixed' | 'forbidden'
}

export type ImportColumn = FieldColumn | LinkColumn

/** The headings that a file may have. */
export interface Headings {
  /** The names of the columns. Undefined: all that the caller may read or write. */
  readonly columns: readonly string[] | undefined
  /** Other headings of the columns, by their names. */
  readonly labels: Readonly<Record<string, string>>
}

export function readColumns(
  described: RecordDescription,
  rights: RecordRights,
  { columns: allowed, labels }: Headings,
  headings: readonly Cell[],
): { readonly columns: readonly ImportColumn[]; readonly errors: readonly RowError[] } {
  const writableNames = new Set(
    described.fields.filter(({ writable }) => writable).map(({ name }) => name),
  )
  const columnsByName = new Map(
    [...rights.fields, ...linkColumnsOf(rights)]
      .filter(({ name }) => allowed?.includes(name) !== false)
      .map((column): [string, FieldDescription | LinkColumn] => [column.name, column]),
  )
  const namesByLabel = toNamesByLabel(labels, columnsByName)
  const columns = new Map<string, ImportColumn>()
  const errors: RowError[] = []
  for (const { text } of headings) {
    const heading = text.trim()
    const name = columnsByName.has(heading)
      ? heading
      : (namesByLabel.get(heading.toLowerCase()) ?? heading)
    const column = columnsByName.get(name)
    if (column === undefined) {
      errors.push(unknownColumn(heading, described.type.name, { columnsByName, labels }))
      continue
    }
    if (columns.has(name)) {
      errors.push(columnTwice(name))
      continue
    }
    const isLinks = 'use' in column
    columns.set(name, isLinks ? column : { ...column, use: useOf(column, rights, writableNames) })
  }
  return { columns: [...columns.values()], errors }
}

function columnTwice(name: string): RowError {
  const message = `The column "${name}" occurs twice.`
  return { row: 1, path: name, code: 'columnTwice', message }
}

/** Longer headings are not compared with the names of the columns. */
const maxComparedLength = 50

function unknownColumn(
  heading: string,
  record: string,
  {
    columnsByName,
    labels,
  }: Pick<Headings, 'labels'> & { readonly columnsByName: ReadonlyMap<string, unknown> },
): RowError {
  const path = clip(heading)
  const names = [...columnsByName.keys()]
  // A file has names or labels.
  const candidates = [...names, ...names.flatMap((name) => labels[name] ?? [])]
  const isCompared = heading !== '' && heading.length <= maxComparedLength
  const nearest = isCompared ? suggestion(heading, candidates) : undefined
  const hint =
    nearest === undefined ? `Fields: ${names.join(', ')}.` : didYouMean(heading, candidates)
  const message = `There is no field "${path}" in ${record}. ${hint}`
  const error: RowError = { row: 1, path, code: 'unknownColumn', message }
  return nearest === undefined ? error : { ...error, suggestion: nearest }
}

/** @param writableNames the fields that some callers may write */
function useOf(
  { name, writable }: FieldDescription,
  { key, version }: RecordRights,
  writableNames: ReadonlySet<string>,
): FieldColumn['use'] {
  // A key that people give has values like other fields.
  if (key.parts === undefined && name === key.name) return 'key'
  if (name === version) return 'version'
  if (writable) return 'value'
  return writableNames.has(name) ? 'forbidden' : 'fixed'
}

/** A label of several columns names none. */
function toNamesByLabel(
  labels: Readonly<Record<string, string>>,
  columnsByName: ReadonlyMap<string, unknown>,
): Map<string, string> {
  const names = new Map<string, string>()
  const ambiguous = new Set<string>()
  for (const [name, label] of Object.entries(labels)) {
    if (!columnsByName.has(name)) continue
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
export function withWritableFields(
  rights: RecordRights,
  described: RecordDescription,
): RecordRights {
  if (rights.may.read) return rights
  const { key, version, secured } = described
  const fields = described.fields.filter(
    ({ name, writable }) =>
      (writable || name === key.name || name === version) && !secured.includes(name),
  )
  return { ...rights, fields }
}
