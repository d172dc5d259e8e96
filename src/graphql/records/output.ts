/** From a record's property to what GraphQL sends. Source: specification, Field type mapping; decisions, Small print: GraphQL. */
import { compileOutput } from '../../fields/compile-output.js'
import { readShape } from '../../fields/shape.js'
import type { FieldModel } from './model.js'

/** @returns what a resolver gives for a column; null where the record has nothing */
export function outputOf(field: FieldModel): (record: unknown) => unknown {
  const { property } = field.column
  const write = writerOf(field)
  if (write === undefined) return (record) => (record as Values)[property] ?? null
  return (record) => {
    const value = (record as Values)[property]
    return value === undefined || value === null ? null : write(value)
  }
}

type Values = Readonly<Record<string, unknown>>

function writerOf({
  form,
  itemForm,
  column,
  ids,
}: FieldModel): ((value: unknown) => unknown) | undefined {
  if (ids?.type !== undefined) return (value) => ids.write(value)
  const { field } = column
  const { write } = field.entry
  if (form === 'list' && itemForm !== 'json')
    return write && ((value) => (Array.isArray(value) ? value.map(write) : value))
  if (form !== 'json') return write
  if (field.nested === undefined) return (value) => JSON.stringify(value)
  const map = compileOutput(readShape(field.nested()))
  return (value) => JSON.stringify(map(value))
}
