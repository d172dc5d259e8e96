/** Takes an `XInput` apart: the record's own values, records to be made with it, and ties. Source: decisions, GraphQL, Input. */
import { HttpError } from '../../errors/http-error.js'
import { isPlainObject } from '../../records/filters/filter.js'
import { invalid } from '../../records/filters/invalid.js'
import type { Id } from '../../records/filters/list-options.js'
import type { Tie, WriteTree } from '../../records/policy/write-tree.js'
import type { FieldModel, RecordModel, RelationModel } from './model.js'
import { toKeyValue } from './question.js'

/**
 * Reads a whole input, nested ones included. Whether the caller may write it is not asked here.
 *
 * @throws {HttpError} 400 `VALIDATION`
 */
export function readInput(model: RecordModel, input: unknown, path: string): WriteTree {
  const owners: WriteTree['owners'][number][] = []
  const children: WriteTree['children'][number][] = []
  const ties: Tie[] = []
  const values: Record<string, unknown> = {}
  const given = isPlainObject(input) ? input : {}
  for (const name of Object.keys(given)) {
    const at = `${path}.${name}`
    const value = given[name]
    const field = model.fields.get(name)
    if (field !== undefined) {
      values[field.column.property] = toProperty(field, value, at)
      continue
    }
    const found = relationNamed(model, name)
    if (found === undefined) throw invalid(at, 'unknown', 'is unknown')
    const { relation, target } = found
    if (value === null || value === undefined) throw invalid(at, 'type', 'must not be null')
    if (found.idsName === name) {
      const told = (error: unknown): unknown => renamed(error, relation.name, at)
      const ids = (value as Id[]).map((id, index) => toTied(target, id, `${at}.${index}`))
      ties.push({ relation, ids, told })
    } else if (found.isList) {
      const inputs = value as unknown[]
      const trees = inputs.map((one, index) => readInput(target, one, `${at}.${index}`))
      children.push({ relation, trees, path: at })
    } else owners.push({ relation, tree: readInput(target, value, at) })
  }
  const told = (error: unknown): unknown => atPath(error, model, path)
  return { table: model.table, path, values, given: new Set(), owners, children, ties, told }
}

function relationNamed(model: RecordModel, name: string): RelationModel | undefined {
  const relation = model.relations.get(name)
  if (relation !== undefined) return relation
  for (const other of model.relations.values()) if (other.idsName === name) return other
  return undefined
}

/** A key of the other side. One that is no key at all is told where it is looked for. */
function toTied({ ids, table }: RecordModel, id: Id, path: string): Id {
  return ids.type === undefined ? id : (toKeyValue(table.key, ids, String(id), path) as Id)
}

/** JSON values and nested classes come as their text, keys of other records as their ids. */
function toProperty({ form, ids, column }: FieldModel, value: unknown, path: string): unknown {
  if (ids?.type !== undefined && typeof value === 'string')
    return toKeyValue(column, ids, value, path)
  if (form !== 'json' || typeof value !== 'string') return value
  try {
    return JSON.parse(value) as unknown
  } catch {
    throw invalid(path, 'type', 'must be JSON text')
  }
}

/** Faults of a record, told with their places in the arguments and the names that clients know. */
function atPath(error: unknown, model: RecordModel, path: string): unknown {
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

/** Faults of ties name the relation; clients wrote its ids. */
function renamed(error: unknown, relation: string, path: string): unknown {
  if (!(error instanceof HttpError) || error.errors === undefined) return error
  const errors = error.errors.map((fault) => ({
    ...fault,
    path: fault.path.startsWith(relation) ? path + fault.path.slice(relation.length) : path,
  }))
  return new HttpError(error.status, error.message, { code: error.code, errors, cause: error })
}
