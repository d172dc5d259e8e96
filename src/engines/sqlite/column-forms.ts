/**
 * Chooses the kinds for columns of files that other programs made. SQLite stores any value in any column, so a declared type
 * only suggests a kind, and the first rows decide. Source: SQLite, Datatypes.
 */
import { isDate, time as timeKind, toTimestamp } from '../../fields/kinds/dates.js'
import { isUuid, toFunction, type KindName } from '../../fields/kinds/table.js'
import type { ColumnForm } from '../contract/described-table.js'
import type { Row } from '../contract/engine.js'
import { quote } from '../contract/quote.js'
import type { ActualTable } from '../contract/table-schema.js'

/** Values of the first rows, without nulls. */
export type ColumnSample = readonly unknown[]

/** The number of rows that decide. */
const sampleSize = 200

/** @returns by column. Empty for a table that cannot be read, such as a virtual table of a missing extension */
export async function readSamples(
  { name, columns }: ActualTable,
  read: (sql: string) => Promise<readonly Row[]>,
): Promise<ReadonlyMap<string, ColumnSample>> {
  const names = [...columns.keys()]
  try {
    const list = names.map((column) => quote(column)).join(', ')
    const rows = await read(`select ${list} from ${quote(name)} limit ${sampleSize}`)
    return new Map(
      names.map((column, index) => [
        column,
        rows.map((row) => row[index]).filter((value) => value !== null),
      ]),
    )
  } catch {
    return new Map()
  }
}

/** @param type in lower case: `nvarchar(160)`, empty for a column of a view that is an expression */
export function toColumnForm(type: string, sample: ColumnSample = []): ColumnForm {
  const [, size] = /\((\d+)/.exec(type) ?? []
  const suggested = suggestKinds(type)
  const kind =
    suggested.find((one) => sample.every((value) => fits[one]?.(value) ?? true)) ?? anyKind(sample)
  if (kind === 'integer' && sample.some(isLarge)) return { kind, isLarge: true }
  return kind === 'string' && size !== undefined ? { kind, maxLength: Number(size) } : { kind }
}

/** The kinds that a type suggests, the best one first. */
function suggestKinds(type: string): readonly SuggestedKind[] {
  return suggestions.find(([pattern]) => pattern.test(type))?.[1] ?? []
}

type SuggestedKind = Exclude<KindName, 'id' | 'text' | 'enum' | 'decimal'>

const suggestions: readonly (readonly [RegExp, readonly SuggestedKind[]])[] = [
  [/bool|^tinyint\(1\)/, ['boolean', 'integer']],
  [/bigint|int8/, ['bigint']],
  [/int/, ['integer', 'bigint']],
  [/datetime|timestamp/, ['datetime', 'date']],
  [/^date/, ['date', 'datetime']],
  [/^time/, ['time']],
  [/uuid|guid|uniqueidentifier/, ['uuid']],
  [/json/, ['json']],
  [/char|clob|text|string/, ['string']],
  [/blob|binary/, ['blob']],
  [/real|floa|doub|num|dec/, ['numeric']],
]

const isWhole = (value: unknown): boolean => typeof value === 'bigint' || Number.isInteger(value)

const isLarge = (value: unknown): boolean => Math.abs(Number(value)) > 2 ** 31 - 1

const fits: Readonly<Partial<Record<KindName, (value: unknown) => boolean>>> = {
  boolean: (value) => isWhole(value) && (Number(value) === 0 || Number(value) === 1),
  integer: (value) => isWhole(value) && Number.isSafeInteger(Number(value)),
  bigint: isWhole,
  numeric: (value) => ['number', 'bigint'].includes(typeof value),
  datetime: (value) => typeof value === 'string' && toTimestamp(value) !== undefined,
  date: isDate,
  time: toFunction(timeKind.test),
  uuid: isUuid,
  json: (value) => typeof value === 'string',
  string: (value) => typeof value === 'string',
  blob: (value) => value instanceof Uint8Array,
}

/** The kind of values of an undeclared type. */
function anyKind(sample: ColumnSample): KindName {
  const order = ['integer', 'bigint', 'numeric', 'blob'] as const
  if (sample.length === 0) return 'string'
  return order.find((one) => sample.every((value) => fits[one]?.(value))) ?? 'string'
}
