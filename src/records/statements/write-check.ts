/** The rules of a record's fields on what a program writes, checked by the same compiled code as a request's body. */
import {
  compileInput,
  compileRowRules,
  type Check,
  type InputOptions,
} from '../../fields/compile-input.js'
import type { Shape, ShapeField } from '../../fields/shape.js'
import { hideFaultsOfValues } from '../model/hidden-names.js'
import type { Table } from '../model/table.js'

export interface WriteChecks {
  /** A whole record; a key may be given. Answers an instance with defaults filled in. */
  readonly create: Check<Record<string, unknown>>
  /** Only what is named, by the rules of each field alone: what looks at the whole row is asked by `row`. */
  readonly update: Check<Record<string, unknown>>
  /** The rules that look at the whole row, of the row as it will be; `undefined` where there are none. */
  readonly row: Check<object> | undefined
  /** As `create` before the record's own hooks have run: nothing need be there yet. Absent without hooks. */
  readonly draft: Check<Record<string, unknown>> | undefined
}

/** What a client may not name (the key, read-only and hidden fields), a program may, except the key of an update. */
export function compileWriteChecks(table: Table): WriteChecks {
  const columns = table.shape.fields.filter(({ rules }) => rules.relation !== true)
  const others = columns.filter(({ kind }) => kind !== 'id')
  // The database or the repository gives a key where none is given.
  const withKey = columns.map((field) =>
    field.kind === 'id' ? { ...field, optional: true } : field,
  )
  const loose = columns.map((field) => ({ ...field, optional: true }))
  const hasHooks = table.hooks !== undefined
  const row = compileRowRules(shapeOf(table, columns), { from: 'program', whole })
  return Object.freeze({
    // Hooks may put more on the instance than is kept.
    create: compile(table, withKey, hasHooks ? { unknownKeys: 'drop' } : {}),
    update: compile(table, others, { partial: true, part: 'own' }),
    row: row && hidingFaults(table, row),
    draft: hasHooks ? compile(table, loose, { part: 'own' }) : undefined,
  })
}

const whole = 'the record'

function compile(
  table: Table,
  fields: readonly ShapeField[],
  options: InputOptions,
): Check<Record<string, unknown>> {
  const all: InputOptions = { ...options, from: 'program', whole }
  const check = compileInput(shapeOf(table, fields), all) as Check<Record<string, unknown>>
  return hidingFaults(table, check)
}

/** The same check, whose faults of hidden fields are marked as none for clients. */
function hidingFaults<T>(table: Table, check: Check<T>): Check<T> {
  if (!table.columns.some(({ field }) => field.hidden)) return check
  const fail = (error: unknown): never => {
    throw hideFaultsOfValues(table, error)
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

function shapeOf({ shape }: Table, fields: readonly ShapeField[]): Shape {
  return { ...shape, fields, byName: new Map(fields.map((field) => [field.name, field])) }
}
