/** The rules of a record's fields on what a program writes, checked by the same compiled code as a request's body. */
import { compileInput, type Check } from '../../fields/compile-input.js'
import type { Shape, ShapeField } from '../../fields/shape.js'
import type { Table } from '../model/table.js'

export interface WriteChecks {
  /** A whole record; a key may be given. Answers an instance with defaults filled in. */
  readonly create: Check<Record<string, unknown>>
  /** Only what is named. */
  readonly update: Check<Record<string, unknown>>
}

/** @param from what a client may not name (the key, read-only and hidden fields), a program may, except the key of an update */
export function compileWriteChecks(table: Table, from: 'client' | 'program'): WriteChecks {
  const columns = table.shape.fields.filter(({ rules }) => rules.relation !== true)
  const others = columns.filter(({ kind }) => kind !== 'id')
  // The database or the repository gives a key where none is given.
  const withKey = columns.map((field) =>
    field.kind === 'id' ? { ...field, optional: true } : field,
  )
  return Object.freeze({
    create: compile(table, from === 'program' ? withKey : others, { from }),
    update: compile(table, others, { from, partial: true }),
  })
}

function compile(
  table: Table,
  fields: readonly ShapeField[],
  options: { from: 'client' | 'program'; partial?: boolean },
): Check<Record<string, unknown>> {
  const shape: Shape = {
    ...table.shape,
    fields,
    byName: new Map(fields.map((field) => [field.name, field])),
  }
  return compileInput(shape, { ...options, whole: 'the record' }) as Check<Record<string, unknown>>
}
