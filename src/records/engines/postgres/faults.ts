/** Sorts PostgreSQL's errors. Source: PostgreSQL, Appendix A, Error Codes. */
import { EngineFault, type FaultKind } from '../engine.js'

/** @returns an `EngineFault`; an error that neither the server nor its connection made as it is */
export function toPostgresFault(error: unknown): unknown {
  if (error instanceof EngineFault) return error
  // By their looks, not by their class: errors of sockets may come from another realm.
  const { code, message, constraint, column } = (error ?? {}) as Partial<Record<string, unknown>>
  if (typeof message !== 'string') return error
  if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !code.startsWith('E')) {
    const details = {
      ...(typeof constraint === 'string' && { constraint }),
      ...(code === '25006' && { isReadOnly: true }),
      ...(code === '23502' && typeof column === 'string' && { columns: [column] }),
    }
    return new EngineFault(kindOf(code), message, error, details)
  }
  return isLost(code, message) ? new EngineFault('unavailable', message, error) : error
}

function kindOf(code: string): FaultKind {
  return exact[code] ?? classes[code.slice(0, 2)] ?? 'other'
}

const exact: Readonly<Record<string, FaultKind>> = {
  '23505': 'unique',
  '23503': 'reference',
  '23001': 'reference',
  // Names of `read_only_sql_transaction`: a replica took over, or the disk is protected.
  '25006': 'unavailable',
  '40001': 'conflict',
  '40P01': 'conflict',
  '55P03': 'unavailable',
}

/** By the first two characters: connection, data, constraints, resources, operators, system. */
const classes: Readonly<Record<string, FaultKind>> = {
  '08': 'unavailable',
  '22': 'value',
  '23': 'value',
  '53': 'unavailable',
  '57': 'unavailable',
  '58': 'unavailable',
}

/** The statement took longer than `statement_timeout` or `lock_timeout` lets it: the same again would do so too. */
export function tookTooLong({ cause }: EngineFault): boolean {
  const { code } = (cause ?? {}) as { readonly code?: unknown }
  return code === '57014' || code === '55P03'
}

/** The connection is of no use behind it: it is gone, or the server ends it. */
export function endsConnection(error: unknown): boolean {
  const { code, message } = (error ?? {}) as Partial<Record<string, unknown>>
  if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !code.startsWith('E'))
    return /^(08|57P|58|XX)/.test(code)
  return isLost(code, String(message))
}

/** A lock was waited for as long as `lock_timeout` lets, whatever was made of the error since. */
export function isLockTimeout(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ((cause as { readonly code?: unknown }).code === '55P03') return true
  }
  return false
}

/** Errors of the socket and of the driver about it; programming errors are none of them. */
function isLost(code: unknown, message: string): boolean {
  if (typeof code === 'string' && /^(E[A-Z]+|CERT_|ERR_TLS)/.test(code)) return code !== 'EINVAL'
  return /connection|timeout (?:exceeded|expired)|terminat|not queryable|after calling end/i.test(
    message,
  )
}
