/** A measure is one value of a group: a count or a function of a field, with its SQL, decoder and operand encoder. */
import { toDecimal } from '../../fields/kinds/numbers.js'
import { toFunction } from '../../fields/kinds/table.js'
import type { TimeUnit, Total } from '../../engines/contract/dialect.js'
import type { FilterContext } from '../filters/filter.js'
import { invalid } from '../filters/query-errors.js'
import type { Column } from '../../engines/contract/table.js'
import type { Table } from '../model/table.js'
import { isDerived } from '../../sql/derived.js'
import type { AggregateValue } from '../../sql/tree.js'
import type { AggregateFunction } from './aggregate-types.js'
import { writeOffset } from './zone-offsets.js'

export interface Measure extends AggregateValue {
  /** `count`, `sumPrice`, or the name of a grouping field. */
  readonly name: string
  /** Identifies the measure: equal measures have the same key. */
  readonly key: string
  /** Converts the statement's value, which is never null, to a property's value. */
  decode(value: unknown): unknown
  /** @throws {HttpError} 400 for operands that cannot be compared with the measure */
  encode(operand: unknown, path: string): unknown
}

export const countMeasure: Measure = Object.freeze({
  name: 'count',
  column: undefined,
  key: '#',
  decode: Number,
  encode: (operand: unknown, path: string) => {
    if (Number.isSafeInteger(operand)) return operand
    throw invalid(path, 'type', 'must be an integer')
  },
})

/** The values of a field that rows are grouped by. */
export function groupMeasure(table: Table, column: Column, context: FilterContext): Measure {
  return fieldMeasure('', table, column, context)
}

/** The local time of a field, as text. */
export function timeMeasure(
  table: Table,
  column: Column,
  { unit, zone }: { readonly unit: TimeUnit; readonly zone: string },
  { dialect }: FilterContext,
): Measure {
  const isDate = column.storage === 'date'
  // The offset of a zone names the column often, so a column that is converted is converted once.
  const isRelated = isDerived(column)
  const instant = dialect.time.instant?.(column)
  const isConverted =
    isRelated || instant !== undefined || dialect.values.comparable?.(column) !== undefined
  const name = isConverted ? 'filigree_at' : '{c}'
  const offset = writeOffset(zone, (timestamp) => `${name} < '${timestamp}'`)
  const group = dialect.time.group({ unit, column: name, isDate, offset })
  const template = isConverted
    ? `(select ${group} from (select ${instant ?? '{c}'} as filigree_at) as filigree_times)`
    : group
  return {
    name: column.property,
    column,
    key: `${unit}/${zone}/${keyOf(table, column)}`,
    template,
    isText: false,
    // In autumn an hour occurs twice with the same text, so the timestamp orders the groups.
    ...(unit === 'hour' && {
      // An expression of another record cannot be written twice in the same way, so it has to be an aggregate.
      order: isRelated ? 'min({c})' : dialect.time.timestampOfHour.join(template),
    }),
    decode: String,
    encode: (_, path) => {
      throw invalid(path, 'type', 'cannot be compared')
    },
  }
}

export function functionMeasure(
  operation: AggregateFunction,
  table: Table,
  column: Column,
  context: FilterContext,
  isLarge: boolean,
): Measure {
  if (operation === 'min' || operation === 'max')
    return fieldMeasure(operation, table, column, context)
  const total = context.dialect.values.total(operation, column, isLarge)
  const { decode } = column.field.entry
  const decodeField = decode ?? ((value: unknown): unknown => value)
  return {
    name: nameOf(operation, column),
    column,
    key: `${operation}${isLarge ? '!' : ''}${table.columns.indexOf(column)}`,
    template: total.sql,
    isText: total.isText,
    decode: (value) => decodeField(total.decode(value)),
    encode: (operand, path) => total.encode(readNumber(operand, column, total, path)),
  }
}

/** The values of a field itself, for groups, minima and maxima. */
function fieldMeasure(
  operation: '' | 'min' | 'max',
  table: Table,
  column: Column,
  context: FilterContext,
): Measure {
  const { dialect } = context
  const index = table.columns.indexOf(column)
  const read = toFunction<unknown>(dialect.values.decoder(column) ?? 'v')
  const { decode, label } = column.field.entry
  return {
    name: operation === '' ? column.property : nameOf(operation, column),
    column,
    key: `${operation}${keyOf(table, column)}`,
    ...(operation !== '' && {
      template: `${operation}(${dialect.values.extremes?.(column)?.join('{c}') ?? '{c}'})`,
    }),
    decode: (value) => (decode === undefined ? read(value) : decode(read(value))),
    encode: (operand, path) => {
      const codec = context.codecOf(table).columns[index]
      if (codec?.accepts(operand) !== true) throw invalid(path, 'type', `must be ${label}`)
      return codec.encode(operand)
    },
  }
}

/** Identifies a column among those of the table and of the records that its rows belong to. */
function keyOf(table: Table, column: Column): string {
  return isDerived(column) ? `@${column.property}@` : String(table.columns.indexOf(column))
}

/** `sumPrice` */
export function nameOf(operation: AggregateFunction, { property }: Column): string {
  return `${operation}${property.charAt(0).toUpperCase()}${property.slice(1)}`
}

const plainNumber = /^-?\d{1,60}(\.\d{1,60})?$/

function readNumber(operand: unknown, { field }: Column, total: Total, path: string): unknown {
  if (!total.isExact) {
    if (typeof operand === 'number' && Number.isFinite(operand)) return operand
    throw invalid(path, 'type', 'must be a number')
  }
  const scale = field.entry.digits?.scale ?? 0
  const text = typeof operand === 'number' ? String(operand) : operand
  if (typeof text !== 'string' || !plainNumber.test(text))
    throw invalid(path, 'type', 'must be the text of a number')
  if ((text.split('.')[1]?.length ?? 0) > scale)
    throw invalid(path, 'scale', `must have at most ${scale} digits after the point`)
  return toDecimal(text, scale)
}
