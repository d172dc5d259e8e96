/** Converts PostgreSQL's errors to `EngineError`s. Source: PostgreSQL, Appendix A, Error Codes. */
import { causesOf } from '../../errors/http-error.js'
import { EngineError, type EngineErrorKind } from '../contract/engine-error.js'
import { readViolation, serverCode, type PostgresError } from './violations.js'

/** @returns an `EngineError`; errors that come neither from the server nor from its connection unchanged */
export function convertPostgresError(error: unknown): unknown {
  if (error instanceof EngineError) return error
  // Not by `instanceof`: errors of sockets may come from another realm.
  const fields = (error ?? {}) as PostgresError
  const { code: ownCode, message, detail } = fields
  if (typeof message !== 'string') return error
  const code = serverCode(fields)
  if (code === undefined)
    return isLost(ownCode, message) ? new EngineError('unavailable', message, error) : error
  const refusesWrites = isReadOnlyServer(code, fields['routine'])
  const details = {
    ...readViolation(code, fields),
    ...(isCollision(code) && typeof detail === 'string' && { collision: detail }),
    ...(code === '23503' && typeof detail === 'string' && { missingKey: keyOf(detail) }),
    ...(code.startsWith('22') && refusedIn(message)),
    ...(code === '23514' && domainIn(fields)),
    ...(refusesWrites && { isReadOnly: true }),
  }
  // A check has a name. The server translates the message.
  const isUnplaced = code === '23514' && details.constraint === undefined
  const readKind = isInexpressible(code, message)
    ? 'inexpressible'
    : isUnplaced
      ? 'noPartition'
      : kindOf(code)
  const kind = refusesWrites || isCommitUnknown(error) ? 'unavailable' : readKind
  return new EngineError(kind, message, error, details)
}

/**
 * Whether the server accepts no writes: it refuses the statement, or a transaction that is `serializable`, which a replica
 * reports as a setting that it does not support.
 */
export function isReadOnlyServer(code: unknown, routine: unknown): boolean {
  return code === '25006' || (code === '0A000' && routine === 'call_enum_check_hook')
}

/**
 * `invalid input syntax for type inet: "x"` → the value `x`; `value too long for type character varying(10)` → the type. The
 * server translates the words, and may write other quotation marks.
 */
function refusedIn(message: string): {
  readonly refusedValue?: string | undefined
  readonly refusedType?: string | undefined
} {
  const [, refusedValue] = /["“„«»](.*)["“”»«]/s.exec(message) ?? []
  if (refusedValue !== undefined) return { refusedValue }
  return { refusedType: /(?:bit|character)(?: varying)?\(\d+\)/.exec(message)?.[0] }
}

/** The server names the domain of a check, and no column. */
function domainIn({ dataType, schema }: PostgresError): { readonly refusedDomain?: string } {
  if (typeof dataType !== 'string') return {}
  const isPublic = typeof schema !== 'string' || schema === 'public'
  return { refusedDomain: isPublic ? dataType : `${schema}.${dataType}` }
}

/**
 * Whether one statement cannot return what GraphQL asks for, so that resolvers must. A statement whose JSON contains a value
 * that GraphQL cannot represent fails by casting `!` and the value to a number.
 */
function isInexpressible(code: string, message: string): boolean {
  return code === '22P02' && message.includes('"!')
}

function isCollision(code: string): boolean {
  return code === '23505' || code === '23P01'
}

/** `Key (project_id)=(99) is not present in table "project".` → `99`. The server translates the words around it. */
function keyOf(detail: string): string | undefined {
  return /\(.*\)=\((.*)\)/.exec(detail)?.[1]
}

function kindOf(code: string): EngineErrorKind {
  return exact[code] ?? classes[code.slice(0, 2)] ?? 'other'
}

const exact: Readonly<Record<string, EngineErrorKind>> = {
  '23505': 'unique',
  '23P01': 'exclusion',
  '23503': 'reference',
  '23001': 'reference',
  '2200H': 'keysExhausted',
  '40001': 'conflict',
  '40P01': 'conflict',
  '55P03': 'unavailable',
}

/** By the first two characters: connection, data, constraints, resources, operators, system. */
const classes: Readonly<Record<string, EngineErrorKind>> = {
  '08': 'unavailable',
  '22': 'value',
  '23': 'value',
  '53': 'unavailable',
  '57': 'unavailable',
  '58': 'unavailable',
}

/** The statement exceeded `statement_timeout` or `lock_timeout`: the same statement would do so again. */
export function tookTooLong({ cause }: EngineError): boolean {
  const { code } = (cause ?? {}) as { readonly code?: unknown }
  return code === '57014' || code === '55P03'
}

/** Whether the server cannot be reached or does not respond, so that the same statement may succeed later. */
export function isOutage(error: unknown): error is EngineError {
  return error instanceof EngineError && error.kind === 'unavailable' && !tookTooLong(error)
}

/** The connection was lost, or the server has ended it: the statement may never have begun. */
export function isLostConnection({ kind, cause }: EngineError): boolean {
  const fields = (cause ?? {}) as PostgresError
  return kind === 'unavailable' && (serverCode(fields) === undefined || endsConnection(fields))
}

/**
 * Whether a server behind this one is unreachable, such as a worker of Citus. This connection still works, and
 * statements that need only other servers succeed.
 */
export function isOtherServerLost(error: unknown): boolean {
  const fields = (error instanceof EngineError ? error.cause : error) as PostgresError | undefined
  const code = serverCode(fields ?? {})
  return code !== undefined && lossCodes.test(code) && !endsConnection(fields)
}

/**
 * Whether the error of a batch would affect each of its calls: a timeout, a cancellation, an outage, a missing table or
 * column. Such calls are not tried again separately.
 */
export function affectsAllCalls(error: unknown): boolean {
  if (!(error instanceof EngineError)) return false
  const { code } = (error.cause ?? {}) as { readonly code?: unknown }
  return error.kind === 'unavailable' || code === '42P01' || code === '42703'
}

/** The error of a statement whose request no longer needs it. */
export function requestEndedError(): EngineError {
  return new EngineError('other', 'The request has ended, or its client has disconnected.')
}

/**
 * Whether a server behind this one may have committed: the connection to it was lost during the commit, or during a
 * statement that commits by itself. Source: Citus, remote_transaction.c.
 */
export function isCommitUnknown(error: unknown): boolean {
  const { code, routine } = (error ?? {}) as PostgresError
  return code === 'XX000' && typeof routine === 'string' && lostCommits.has(routine)
}

const lostCommits: ReadonlySet<string> = new Set([
  'ErrorIfPostCommitFailedShardPlacements',
  'MarkRemoteTransactionFailed',
])

/** `connection_exception`, and the codes of a shutdown. */
const lossCodes = /^(?:08|57P)/

/**
 * Whether the connection is unusable afterwards: it is lost, or the server closes it after an error of severity `FATAL`
 * or `PANIC`. Source: PostgreSQL, Message Severity Levels.
 */
export function endsConnection(error: unknown): boolean {
  const fields = (error ?? {}) as PostgresError
  const { code, message, severity } = fields
  if (serverCode(fields) === undefined) return isLost(code, String(message))
  if (severity === 'ERROR') return false
  if (severity === 'FATAL' || severity === 'PANIC') return true
  // The driver reports only the translated severity. In another language, the code decides.
  return /^(?:08|57P|58|XX)/.test(String(code))
}

/** Whether the server has responded with an error, and keeps the connection. */
export function isRefused(error: unknown): boolean {
  if (!(error instanceof EngineError)) return false
  const fields = (error.cause ?? {}) as PostgresError
  return serverCode(fields) !== undefined && !endsConnection(fields)
}

/** Whether a wait for a lock has reached `lock_timeout`, also for wrapped errors. */
export function isLockTimeout(error: unknown): boolean {
  for (const cause of causesOf(error)) {
    if ((cause as { readonly code?: unknown }).code === '55P03') return true
  }
  return false
}

/** True for errors of the socket and of the driver about it, not for programming errors. */
function isLost(code: unknown, message: string): boolean {
  if (typeof code === 'string' && /^(E[A-Z]+|CERT_|ERR_TLS)/.test(code)) return code !== 'EINVAL'
  return /connection|timeout (?:exceeded|expired)|terminat|not queryable|after calling end/i.test(
    message,
  )
}
