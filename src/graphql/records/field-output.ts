/** Converts the properties of records to the values of GraphQL fields. */
import { compileOutput } from '../../fields/compile-output.js'
import { toSafeNumber } from '../../fields/kinds/numbers.js'
import { readShape } from '../../fields/shape.js'
import { keyOf } from '../../records/model/record-key.js'
import { IntOverflow } from '../errors.js'
import type { FieldModel } from './model.js'

/**
 * @param suffix appended to the error message if an `Int` cannot hold the value
 *
 * @returns the resolver of a column; it returns null for a missing value
 */
export function outputOf(field: FieldModel, suffix = ''): (record: unknown) => unknown {
  const { column, form, itemForm } = field
  const { property } = column
  const write =
    form === 'int' || itemForm === 'int'
      ? (value: unknown) => asInts(field, value, suffix)
      : writerOf(field)
  if (column.parts !== undefined)
    return (record) => field.ids?.write(keyOf(column, record as object))
  if (write === undefined) return (record) => (record as RecordValues)[property] ?? null
  return (record) => {
    const value = (record as RecordValues)[property]
    return value === undefined || value === null ? null : write(value)
  }
}

type RecordValues = Readonly<Record<string, unknown>>

function asInts(field: FieldModel, input: unknown, suffix: string): unknown {
  const value: unknown = Array.isArray(input) ? input.map(toSafeNumber) : toSafeNumber(input)
  for (const one of Array.isArray(value) ? (value as unknown[]) : [value])
    if (typeof one === 'bigint' || (one !== null && one !== (one as number) >> 0))
      throw new IntOverflow(field, one, suffix)
  return value
}

function writerOf({
  form,
  itemForm,
  column,
  ids,
}: FieldModel): ((value: unknown) => unknown) | undefined {
  if (ids?.type !== undefined) return (value) => ids.write(value)
  const { field } = column
  const write = field.entry.toOutput ?? field.entry.write
  if (form === 'list' && itemForm !== 'json')
    return write && ((value) => (Array.isArray(value) ? value.map(write) : value))
  if (form !== 'json') return write
  if (field.nested === undefined) return (value) => JSON.stringify(value)
  // A class without visible fields has no type.
  const map = compileOutput(readShape(field.nested()))
  return (value) => JSON.stringify(map(value))
}
