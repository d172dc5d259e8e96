/** Takes an `XInput` apart: the record's own values, records to be made with it, and ties. Source: decisions, GraphQL, Input. */
import { HttpError } from '../../errors/http-error.js'
import { invalid, isPlainObject } from '../../records/filters/filter.js'
import type { Id } from '../../records/filters/list-options.js'
import type { Caller } from '../caller.js'
import { demand } from './access.js'
import type { FieldModel, RecordModel, RelationModel } from './model.js'

export interface ReadInput {
  /** Where it stands in the arguments: `input.products.0`. */
  readonly path: string
  /** By property, unchecked. */
  readonly values: Record<string, unknown>
  /** Records to be made before it, whose keys it holds. */
  readonly owners: readonly {
    readonly relation: RelationModel
    readonly input: unknown
    readonly path: string
  }[]
  /** Records to be made after it, which hold its key. */
  readonly children: readonly {
    readonly relation: RelationModel
    readonly inputs: readonly unknown[]
    readonly path: string
  }[]
  /** Many-to-many. */
  readonly ties: readonly {
    readonly relation: RelationModel
    readonly ids: readonly Id[]
    readonly path: string
  }[]
}

/** @throws {HttpError} 400 `VALIDATION`; 401 or 403 for fields that the caller may not write */
export function readInput(
  model: RecordModel,
  input: unknown,
  path: string,
  caller: Caller,
): ReadInput {
  const owners: ReadInput['owners'][number][] = []
  const children: ReadInput['children'][number][] = []
  const ties: ReadInput['ties'][number][] = []
  const values: Record<string, unknown> = {}
  const given = isPlainObject(input) ? input : {}
  for (const name of Object.keys(given)) {
    const at = `${path}.${name}`
    const value = given[name]
    const field = model.fields.get(name)
    if (field !== undefined) {
      demand(field.access, caller)
      values[field.column.property] = toProperty(field, value, at)
      continue
    }
    const relation = relationNamed(model, name)
    if (relation === undefined) throw invalid(at, 'unknown', 'is unknown')
    demand(relation.access, caller)
    if (value === null || value === undefined) throw invalid(at, 'type', 'must not be null')
    if (relation.idsName === name) ties.push({ relation, ids: value as Id[], path: at })
    else if (relation.isList) children.push({ relation, inputs: value as unknown[], path: at })
    else owners.push({ relation, input: value, path: at })
  }
  return { path, values, owners, children, ties }
}

function relationNamed(model: RecordModel, name: string): RelationModel | undefined {
  const relation = model.relations.get(name)
  if (relation !== undefined) return relation
  for (const other of model.relations.values()) if (other.idsName === name) return other
  return undefined
}

/** JSON values and nested classes come as their text. */
function toProperty({ form }: FieldModel, value: unknown, path: string): unknown {
  if (form !== 'json' || typeof value !== 'string') return value
  try {
    return JSON.parse(value) as unknown
  } catch {
    throw invalid(path, 'type', 'must be JSON text')
  }
}

/** Faults of a record, told with their places in the arguments and the names that clients know. */
export function atPath(error: unknown, model: RecordModel, path: string): unknown {
  if (!(error instanceof HttpError) || error.errors === undefined) return error
  const errors = error.errors.map((fault) => ({
    ...fault,
    path: toClientPath(fault.path, model, path),
  }))
  return new HttpError(error.status, error.message, {
    code: error.code,
    errors,
    headers: error.headers,
    cause: error,
  })
}

function toClientPath(given: string, model: RecordModel, path: string): string {
  if (given === '') return path
  const [first = '', ...rest] = given.split('.')
  const field = [...model.fields.values()].find(({ column }) => column.property === first)
  return [path, field?.name ?? first, ...rest].join('.')
}
