/**
 * Converts an error of the database to an error for clients, with the field's name and without SQL. Source:
 * decisions, Records: writes.
 */
import { HttpError } from '../../errors/http-error.js'
import { sentenceOf, withMarks, type FieldError } from '../../errors/field-error.js'
import { unmarked } from '../../errors/field-errors.js'
import {
  findByConstraint,
  isCheckOf,
  toConstraintName,
  toKeyName,
} from '../model/generated-names.js'
import { EngineError } from '../../engines/contract/engine-error.js'
import { storedColumnsOf, type Column } from '../../engines/contract/table.js'
import type { ConstraintError, Relation, Table } from '../model/table.js'

/** The purpose of a statement, which decides the meaning of its failure. */
export type StatementPurpose = 'read' | 'write' | 'delete'

/** Details about a broken reference. */
export interface Hint {
  /** The relation whose key refers to no row. */
  readonly broken?: Relation | undefined
  /** The key that was written for a relation. */
  readonly keyOf?: ((relation: Relation) => unknown) | undefined
  /** The record whose rows still refer to the key. */
  readonly referrer?: Referrer | undefined
  /** The fields whose values the database has refused. */
  readonly refused?: ((error: EngineError) => readonly FieldError[]) | undefined
}

export interface Referrer {
  readonly table: Table
  /** One column of the record. */
  readonly column: Column
}

/**
 * @returns the error to throw: an `HttpError` if the client, or a later attempt, can succeed; otherwise the error
 * itself
 */
export function toClientError(
  error: unknown,
  table: Table,
  purpose: StatementPurpose,
  { broken, keyOf, referrer, refused }: Hint = {},
): unknown {
  if (!(error instanceof EngineError)) return error
  const declared = declaredConstraintOf(table, error)
  if (declared !== undefined) return toDeclaredError(error, declared)
  switch (error.kind) {
    case 'unique':
      return toUniqueError(table, error)
    case 'exclusion':
      return conflict(conflictMessage, error)
    case 'reference':
      return purpose === 'delete'
        ? toReferrerError(table, error, referrer)
        : toReferenceError(table, error, { broken, keyOf })
    case 'value':
      return toValueError(table, error, refused?.(error))
    case 'keysExhausted':
      return noKeysLeft(table, error)
    case 'noPartition':
      return noPartition(table, error)
    default:
      return toUnavailable(error)
  }
}

/** The application's declaration of the violated constraint. */
export function declaredConstraintOf(
  { constraints }: Table,
  { constraint }: EngineError,
): ConstraintError | undefined {
  return findByConstraint(constraints, ([name]) => name, constraint)?.[1]
}

/** The application has declared the error for clients. It is a client error even if the program wrote the values. */
function toDeclaredError(engineError: EngineError, declared: ConstraintError): HttpError {
  const isCheck = engineError.kind === 'value'
  const { column, status = isCheck ? 400 : 409 } = declared
  const isVisible = column?.field.hidden !== true
  const message =
    (isVisible ? declared.message : undefined) ?? (isCheck ? invalidValueMessage : conflictMessage)
  const path = isVisible ? (column?.property ?? '') : ''
  const errors = [{ path, code: isCheck ? 'check' : engineError.kind, message }]
  const error = new HttpError(status, message, {
    ...(status === 400 && { code: 'VALIDATION' }),
    ...((path !== '' || isCheck) && { errors }),
    reason: reasonOf(engineError),
    cause: engineError,
  })
  return unmarked(error, () => true) as HttpError
}

const invalidValueMessage = 'A value does not fit the record.'
const conflictMessage = 'Another record is in its way.'

/** The reason for the log. */
function reasonOf({ constraint }: EngineError): string {
  return `the constraint ${constraint ?? ''} of the database is violated`
}

/** The error of a read that names no field: the client requested a value that a column cannot have. */
export function toReadError(error: unknown, refused?: Hint['refused']): unknown {
  if (!(error instanceof EngineError) || error.kind !== 'value') return toUnavailable(error)
  const fields = refused?.(error) ?? []
  if (fields.length > 0) return refusedError(fields, error)
  return valueError([], error)
}

/** The error of a broken rule: another program changed the table, or two changes of a number were concurrent. */
function toValueError(
  table: Table,
  engineError: EngineError,
  refused: readonly FieldError[] = [],
): HttpError {
  if (refused.length > 0) return refusedError(refused, engineError)
  const { columns, constraint = '' } = engineError
  const paths = table.columns
    .filter(({ name }) => columns?.includes(name) ?? isCheckOf(constraint, table.name, name))
    .filter(({ field }) => !field.hidden)
    .map(({ property }) => property)
  return valueError(paths, engineError)
}

function noKeysLeft({ name, type }: Table, cause: EngineError): HttpError {
  const message = `${type.name}: no keys are left, because generated keys end at ${Number.MAX_SAFE_INTEGER}. Set the key counter of the table ${name} to a free number, or use UUID keys.`
  return new HttpError(507, message, { code: 'KEYS_EXHAUSTED', cause })
}

/** For the log: the client cannot do anything about it. */
function noPartition({ name, type, partitions }: Table, cause: EngineError): Error {
  const remedy =
    partitions === undefined
      ? 'Create it in the database: the record has no partitionBy.'
      : 'Create it: npx filigree partitions. For times far away, add partitions in a migration.'
  const message = `${type.name}: the table ${name} has no partition for the row. ${remedy}`
  return new Error(message, { cause })
}

function valueError(paths: readonly string[], engineError: EngineError): HttpError {
  const errors = paths.map((path) => ({ path, code: 'check', message: `${path} is not allowed` }))
  return new HttpError(400, errors[0]?.message ?? invalidValueMessage, {
    code: 'VALIDATION',
    ...(errors.length > 0 && { errors }),
    cause: engineError,
  })
}

function refusedError(errors: readonly FieldError[], cause: EngineError): HttpError {
  return new HttpError(400, sentenceOf(errors), { code: 'VALIDATION', errors, cause })
}

/** @throws the result of `toUnavailable` */
export function throwUnavailable(error: unknown): never {
  throw toUnavailable(error)
}

/** The error of a conflict with other transactions. */
export function conflictRetry(cause?: EngineError): HttpError {
  const message = 'Other requests changed the same records at the same time. Try again.'
  const headers = { 'retry-after': '1' }
  return new HttpError(409, message, { code: 'CONFLICT_RETRY', headers, cause })
}

/** 503 if a later attempt may succeed, 409 after a conflict. */
export function toUnavailable(error: unknown): unknown {
  if (!(error instanceof EngineError)) return error
  if (error.kind === 'conflict') return conflictRetry(error)
  if (error.kind === 'tooLarge') return tooLargeToRead(error)
  if (error.kind !== 'unavailable') return error
  const message = error.isReadOnly
    ? 'The database does not accept writes at the moment: it is read-only.'
    : 'The database is not available at the moment.'
  return new HttpError(503, message, {
    code: 'DATABASE_UNAVAILABLE',
    headers: { 'retry-after': '1' },
    cause: error,
  })
}

function tooLargeToRead(cause: EngineError): HttpError {
  const message =
    'The rows of this query are larger than one response may have. Request fewer rows, or select fewer fields.'
  const errors = [{ path: '', code: 'TOO_COSTLY', message }]
  return new HttpError(400, message, { code: 'TOO_COSTLY', errors, cause })
}

function toUniqueError(table: Table, engineError: EngineError): HttpError {
  const columns = uniqueColumns(table, engineError).filter(
    (column) => !column.field.hidden && column !== table.shard,
  )
  const fields = columns.map(({ property }) => property)
  const [first] = fields
  if (first === undefined) return conflict('Such a record already exists.', engineError)
  const message =
    columns.find(({ field }) => field.messages.unique !== undefined)?.field.messages.unique ??
    (fields.length === 1
      ? `${first} is already taken`
      : `${fields.join(' and ')} together are already taken`)
  const errors = fields.map((path) => ({ path, code: 'unique', message }))
  return conflict(message, engineError, errors)
}

/** The columns of the violated index; those in the error if the record does not declare the index. */
function uniqueColumns(table: Table, { columns, constraint }: EngineError): readonly Column[] {
  return (
    uniqueIndexOf(table, constraint) ??
    table.columns.filter(({ name }) => columns?.includes(name) === true)
  )
}

/** The columns of the record's unique index or key with this name. */
export function uniqueIndexOf(
  table: Table,
  constraint: string | undefined,
): readonly Column[] | undefined {
  const key = { name: toKeyName(table.name), columns: storedColumnsOf(table.key) }
  return findByConstraint([...table.indexes, key], ({ name }) => name, constraint)?.columns
}

function toReferenceError(
  table: Table,
  engineError: EngineError,
  { broken, keyOf }: Hint,
): HttpError {
  const relation = broken ?? relationOf(table, engineError)
  if (relation === undefined) return conflict('A record it refers to does not exist.', engineError)
  return noSuchKey(relation, keyOf?.(relation), engineError)
}

/**
 * The error for a key whose row does not exist, or is invisible to the client. `nameMissingKeys` adds the key for a client
 * that sent it.
 */
export function noSuchKey(
  relation: Relation,
  missingKey: unknown,
  engineError?: EngineError,
): HttpError {
  const paths =
    relation.kind === 'belongsTo'
      ? storedColumnsOf(relation.local).map(({ property }) => property)
      : [relation.name]
  if (relation.local.field.hidden)
    return conflict('A record it refers to does not exist.', engineError)
  const verb = paths.length === 1 ? 'names' : 'together name'
  const message = `${paths.join(' and ')} ${verb} no ${relation.target.type.name}`
  const errors = paths.map((path) =>
    withMarks({ path, code: 'reference', message }, { missingKey }),
  )
  return conflict(message, engineError, errors)
}

/** Finds the relation by the constraint's name, which contains the column, or by the columns. */
export function relationOf(
  table: Table,
  { constraint, columns }: EngineError,
): Relation | undefined {
  const relations = [...table.relations.values()].filter(({ kind }) => kind === 'belongsTo')
  const nameOf = ({ local }: Relation): string => toConstraintName(table.name, local.name)
  const named = findByConstraint(relations, nameOf, constraint)
  if (named !== undefined || columns === undefined) return named
  return relations.find(({ local, shards }) => {
    const names = storedColumnsOf(local).map(({ name }) => name)
    if (shards !== undefined) names.push(shards.local.name)
    return names.length === columns.length && names.every((name) => columns.includes(name))
  })
}

function toReferrerError(
  table: Table,
  engineError: EngineError,
  referrer: Referrer | undefined,
): HttpError {
  const path = referrer === undefined ? undefined : toPath(referrer)
  const message = `This ${table.type.name} is still referred to by ${path ?? 'other records'}.`
  if (path === undefined) return conflict(message, engineError)
  return conflict(message, engineError, [{ path, code: 'reference', message }])
}

/** `Product.categoryId`, or `Product` if the field is hidden. */
function toPath({ table, column }: Referrer): string {
  if (column.field.hidden) return table.type.name
  const names = storedColumnsOf(column).map(({ property }) => property)
  return `${table.type.name}.${names.join('+')}`
}

function conflict(message: string, cause?: EngineError, errors?: HttpError['errors']): HttpError {
  const reason = cause?.constraint === undefined ? {} : { reason: reasonOf(cause) }
  return new HttpError(409, message, { code: 'CONFLICT', errors, cause, ...reason })
}

/** The error of a row that does not exist, or that the caller may not see. */
export function noSuchRow(name: string, id: unknown): HttpError {
  const text = String(id)
  const shortened = text.length <= 50 ? text : `${text.slice(0, 50)}…`
  return new HttpError(404, `There is no ${name} ${shortened}.`, { code: 'NOT_FOUND' })
}
