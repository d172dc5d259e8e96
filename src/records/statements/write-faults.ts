/** What a database refuses, told to a client: by the field's name, never by SQL. Source: decisions, Small print: records. */
import { HttpError } from '../../errors/http-error.js'
import { isCheckOf } from '../model/column-names.js'
import { EngineFault } from '../engines/engine.js'
import type { Column, Relation, Table } from '../model/table.js'

/** What a statement was doing, to say what its failure means. */
export type Doing = 'read' | 'write' | 'delete'

/** What could be found out about a reference that does not hold. */
export interface Hint {
  /** The relation whose key no row has. */
  readonly broken?: Relation | undefined
  /** Whose rows still hold the key. */
  readonly referrer?: Referrer | undefined
}

export interface Referrer {
  readonly table: Table
  /** One of its columns. */
  readonly column: Column
}

/**
 * @returns what to throw: an `HttpError` where the client or time can help, else the error itself
 */
export function toClientError(
  error: unknown,
  table: Table,
  doing: Doing,
  { broken, referrer }: Hint = {},
): unknown {
  if (!(error instanceof EngineFault)) return error
  switch (error.kind) {
    case 'unique':
      return taken(table, error)
    case 'reference':
      return doing === 'delete' ? stillUsed(table, error, referrer) : noSuch(table, error, broken)
    case 'value':
      return unfit(table, error)
    default:
      return toUnavailable(error)
  }
}

/** What a rule would have told: another program changed the table, or two changes of one number met. */
function unfit(table: Table, fault: EngineFault): HttpError {
  const { columns, constraint = '' } = fault
  const paths = table.columns
    .filter(({ name }) => columns?.includes(name) ?? isCheckOf(constraint, table.name, name))
    .filter(({ field }) => !field.hidden)
    .map(({ property }) => property)
  const errors = paths.map((path) => ({ path, code: 'check', message: `${path} is not allowed` }))
  return new HttpError(400, errors[0]?.message ?? 'A value does not fit the record.', {
    code: 'VALIDATION',
    ...(errors.length > 0 && { errors }),
    cause: fault,
  })
}

/** 503 where the same may work later, 409 where others were in the way. */
export function toUnavailable(error: unknown): unknown {
  if (!(error instanceof EngineFault)) return error
  if (error.kind === 'conflict') {
    const message = 'Others have changed the same records at the same time. Try again.'
    return new HttpError(409, message, { code: 'CONFLICT_RETRY', cause: error })
  }
  if (error.kind !== 'unavailable') return error
  const message = error.isReadOnly
    ? 'The database takes no writes at the moment: it is read-only.'
    : 'The database is not available at the moment.'
  return new HttpError(503, message, {
    code: 'DATABASE_UNAVAILABLE',
    headers: { 'retry-after': '1' },
    cause: error,
  })
}

function taken(table: Table, fault: EngineFault): HttpError {
  const fields = uniqueColumns(table, fault)
    .filter((column) => !column.field.hidden && column !== table.shard)
    .map(({ property }) => property)
  const [first] = fields
  if (first === undefined) return conflict('There is such a record already.', fault)
  const message =
    fields.length === 1 ? `${first} is already taken` : `${fields.join(' and ')} are taken together`
  const errors = fields.map((path) => ({ path, code: 'unique', message }))
  return conflict(message, fault, errors)
}

function uniqueColumns(table: Table, { columns, constraint }: EngineFault): readonly Column[] {
  if (columns !== undefined) return table.columns.filter(({ name }) => columns.includes(name))
  const index = table.indexes.find(({ name }) => name === constraint)
  if (index !== undefined) return index.columns
  return constraint === `${table.name}_pkey` ? [table.key] : []
}

function noSuch(table: Table, fault: EngineFault, broken: Relation | undefined): HttpError {
  const relation = broken ?? relationOf(table, fault.constraint)
  if (relation === undefined) return conflict('A record it refers to does not exist.', fault)
  return noSuchKey(relation, fault)
}

/** What a client is told whose key no record has, or none that it sees. */
export function noSuchKey(relation: Relation, fault?: EngineFault): HttpError {
  const path = relation.kind === 'belongsTo' ? relation.local.property : relation.name
  if (relation.local.field.hidden) return conflict('A record it refers to does not exist.', fault)
  const message = `${path} names no ${relation.target.type.name}`
  return conflict(message, fault, [{ path, code: 'reference', message }])
}

/** Constraints of ours are named for their column. */
function relationOf(table: Table, constraint: string | undefined): Relation | undefined {
  for (const relation of table.relations.values()) {
    if (relation.kind !== 'belongsTo') continue
    if (constraint === toConstraintName(table.name, relation.local.name)) return relation
  }
  return undefined
}

/** `product_category_id_fkey`, as PostgreSQL would call it, cut as it would be cut. */
export function toConstraintName(table: string, column: string): string {
  return `${table.slice(0, 28)}_${column.slice(0, 28)}_fkey`
}

function stillUsed(table: Table, fault: EngineFault, referrer: Referrer | undefined): HttpError {
  const path = referrer === undefined ? undefined : toPath(referrer)
  const message = `This ${table.type.name} is still referred to by ${path ?? 'other records'}.`
  if (path === undefined) return conflict(message, fault)
  return conflict(message, fault, [{ path, code: 'reference', message }])
}

/** `Product.categoryId`, without the field where it is hidden. */
function toPath({ table, column }: Referrer): string {
  return column.field.hidden ? table.type.name : `${table.type.name}.${column.property}`
}

function conflict(message: string, cause?: EngineFault, errors?: HttpError['errors']): HttpError {
  return new HttpError(409, message, { code: 'CONFLICT', errors, cause })
}
