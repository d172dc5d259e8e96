/**
 * The rules of a record's fields for values that a program writes, checked by the same compiled code as request bodies.
 */
import {
  compileInput,
  compileObjectRules,
  type InputCheck,
  type InputOptions,
} from '../../fields/compile-input.js'
import { attempt, type MaybePromise } from '../../core/maybe-promise.js'
import { markWritten, type Written } from '../../errors/field-errors.js'
import type { Shape, ShapeField } from '../../fields/shape.js'
import { hideErrorsOfValues } from '../filters/query-errors.js'
import type { Table } from '../model/table.js'

export interface WriteChecks {
  /** A complete record, optionally with a key. Returns an instance with defaults. */
  readonly create: InputCheck<Record<string, unknown>>
  /** Checks only the fields that are present, each by its own rules. `row` checks rules for the complete row. */
  readonly update: InputCheck<Record<string, unknown>>
  /** The rules for the complete row, applied to the row as it will be stored; `undefined` if there are none. */
  readonly row: InputCheck<object> | undefined
  /** As `create`, but before the record's hooks have run: fields may be missing. Absent without hooks. */
  readonly draft: InputCheck<Record<string, unknown>> | undefined
}

/**
 * Programs may set what clients may not (the key, read-only and hidden fields), except the key in an update.
 *
 * @param now the time that `default: 'now'` takes
 */
export function compileWriteChecks(table: Table, now: () => number): WriteChecks {
  const columns = table.shape.fields.filter(({ rules }) => rules.relation !== true)
  const fieldsWithoutKey = columns.filter(({ kind }) => kind !== 'id')
  // Without a key, the database or the repository makes one.
  const withKey = columns.map((field) =>
    field.kind === 'id' ? { ...field, optional: true } : field,
  )
  const loose = columns.map((field) => ({ ...field, optional: true }))
  const hasHooks = table.hasWriteHooks
  const row = compileObjectRules(shapeOf(table, columns), {
    from: 'program',
    inputName: recordLabel,
  })
  return Object.freeze({
    // Hooks may set other properties on the instance, which are not stored.
    create: compile(table, withKey, hasHooks ? { unknownKeys: 'drop', now } : { now }),
    update: compile(table, fieldsWithoutKey, { partial: true, scope: 'field' }),
    row: row && markingErrors(table, row),
    draft: hasHooks ? compile(table, loose, { scope: 'field', now }) : undefined,
  })
}

const recordLabel = 'the record'

function compile(
  table: Table,
  fields: readonly ShapeField[],
  options: InputOptions,
): InputCheck<Record<string, unknown>> {
  const all: InputOptions = { ...options, from: 'program', inputName: recordLabel }
  const check = compileInput(shapeOf(table, fields), all) as InputCheck<Record<string, unknown>>
  return markingErrors(table, check)
}

/**
 * The same check. Its violations are marked as errors of a write, and violations of hidden fields as hidden from clients.
 */
function markingErrors<T>(table: Table, check: InputCheck<T>): InputCheck<T> {
  const written = describeWritten(table)
  const fail = (error: unknown): never => {
    throw markWritten(hideErrorsOfValues(table, error), written)
  }
  return (value) => {
    try {
      const checked = check(value)
      return checked instanceof Promise ? checked.catch(fail) : checked
    } catch (error) {
      return fail(error)
    }
  }
}

/**
 * Runs a write whose other validation errors also concern the written values: missing keys, invalid lists, nested
 * rows.
 */
export function markingWrite<R>(table: Table, work: () => MaybePromise<R>): MaybePromise<R> {
  return attempt(work, (error) => {
    throw markWritten(error, describeWritten(table))
  })
}

function describeWritten({ type, byProperty, relations }: Table): Written {
  return {
    record: type.name,
    knows: (property) => byProperty.has(property) || relations.has(property),
  }
}

function shapeOf({ shape }: Table, fields: readonly ShapeField[]): Shape {
  return { ...shape, fields, byName: new Map(fields.map((field) => [field.name, field])) }
}
