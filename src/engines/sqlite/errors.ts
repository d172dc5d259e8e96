/** Converts the errors of SQLite drivers to `EngineError`. Source: SQLite, Result and Error Codes. */
import { EngineError, type EngineErrorKind } from '../contract/engine-error.js'

/** @returns an `EngineError`, or the same error if it does not come from SQLite */
export function convertSqliteError(error: unknown): unknown {
  // `instanceof` would fail: the driver keeps the error class of the module instance that loaded it first.
  const { name, code, message } = (error ?? {}) as Partial<Record<string, unknown>>
  if (typeof message !== 'string') return error
  if (name === 'RangeError' || code === 'ERR_INVALID_ARG_VALUE') {
    return new EngineError(isMalformed(message) ? 'malformed' : 'value', message, error)
  }
  const result = resultOf(error as DriverError)
  if (result === undefined) return error
  const kind = message.endsWith(`: ${keyLimitName}`)
    ? 'keysExhausted'
    : (kindsByMessage[message] ?? kindOf(result))
  const messageDetails =
    // SQLite also reports a restricted deletion as a trigger error.
    result === triggerResult && kindsByMessage[message] === undefined
      ? { constraint: message }
      : kind === 'unique' || kind === 'value'
        ? readDetails(message)
        : {}
  const details =
    primary(result) === primaryResults.READONLY ? { isReadOnly: true } : messageDetails
  return new EngineError(kind, message, error, details)
}

/** Whether a function of `functions.ts` could not read a stored value. */
function isMalformed(message: string): boolean {
  return message.startsWith('malformed decimal: ')
}

/** Whether another connection has the lock. The statement has changed nothing and may be retried. */
export function isBusy(error: unknown): boolean {
  if (!(error instanceof EngineError) || error.kind !== 'unavailable') return false
  return primary(resultOf(error.cause as DriverError) ?? 0) === 5
}

interface DriverError {
  readonly message: string
  /** The name of the result code in better-sqlite3 and Bun. In Node, the same text for all errors of SQLite. */
  readonly code?: unknown
  /** The result code, in Node only. */
  readonly errcode?: unknown
}

/** @returns the extended result code, or `undefined` if the error does not come from SQLite */
function resultOf({ code, errcode, message }: DriverError): number | undefined {
  if (code === 'ERR_SQLITE_ERROR') {
    return typeof errcode === 'number' ? errcode : resultByMessage(message)
  }
  if (typeof code !== 'string' || !code.startsWith('SQLITE_')) return undefined
  const family = code.split('_')[1] ?? ''
  return extendedResults[code] ?? primaryResults[family] ?? 1
}

/** Deno sets no result code when it compiles a statement, runs a script or opens a file. */
function resultByMessage(message: string): number {
  const [, family = ''] = messages.find(([start]) => message.startsWith(start)) ?? []
  return primaryResults[family] ?? 1
}

const messages: readonly (readonly [start: string, family: string])[] = [
  ['database is locked', 'BUSY'],
  ['database table is locked', 'LOCKED'],
  ['attempt to write a readonly database', 'READONLY'],
  ['disk I/O error', 'IOERR'],
  ['database or disk is full', 'FULL'],
  ['unable to open database file', 'CANTOPEN'],
  ['out of memory', 'NOMEM'],
  ['string or blob too big', 'TOOBIG'],
  ['datatype mismatch', 'MISMATCH'],
]

const primaryResults: Readonly<Record<string, number>> = {
  BUSY: 5,
  LOCKED: 6,
  NOMEM: 7,
  READONLY: 8,
  IOERR: 10,
  FULL: 13,
  CANTOPEN: 14,
  TOOBIG: 18,
  CONSTRAINT: 19,
  MISMATCH: 20,
}

/** `raise(abort, 'no_overlap')` in a trigger. The message is used as the name of a constraint. */
const triggerResult = 1811

const extendedResults: Readonly<Record<string, number>> = {
  SQLITE_CONSTRAINT_FOREIGNKEY: 787,
  SQLITE_CONSTRAINT_PRIMARYKEY: 1555,
  SQLITE_CONSTRAINT_TRIGGER: triggerResult,
  SQLITE_CONSTRAINT_UNIQUE: 2067,
  SQLITE_CONSTRAINT_ROWID: 2579,
}

/** The lowest byte of an extended result is its primary result. */
function primary(result: number): number {
  return result & 0xff
}

function kindOf(result: number): EngineErrorKind {
  return kinds[result] ?? kinds[primary(result)] ?? 'other'
}

/** The name of the check that generated keys do not exceed the largest safe integer. */
export const keyLimitName = 'filigree_key_limit'

/** Errors whose result code is too general, such as errors of triggers. */
const kindsByMessage: Readonly<Record<string, EngineErrorKind>> = {
  'FOREIGN KEY constraint failed': 'reference',
  'integer overflow': 'overflow',
  // Statements write invalid JSON on purpose where GraphQL cannot express a value.
  'malformed JSON': 'inexpressible',
}

const kinds: Readonly<Record<number, EngineErrorKind>> = {
  787: 'reference',
  1555: 'unique',
  2067: 'unique',
  2579: 'unique',
  // Other constraints, values that are too big, type mismatches.
  18: 'value',
  19: 'value',
  20: 'value',
  5: 'unavailable',
  6: 'unavailable',
  7: 'unavailable',
  8: 'unavailable',
  10: 'unavailable',
  13: 'unavailable',
  14: 'unavailable',
}

/**
 * `UNIQUE constraint failed: product.name, product.shop` or `… index 'product_name_key'`, `NOT NULL …: product.name`,
 * `CHECK …: product_price_check_0a1b2c3d`.
 */
function readDetails(message: string): { columns?: string[]; constraint?: string } {
  if (!/^(?:UNIQUE|CHECK|NOT NULL) constraint failed: /.test(message)) return {}
  const subject = message.slice(message.indexOf(': ') + 2)
  const index = /^index '(.+)'$/.exec(subject)?.[1]
  if (index !== undefined) return { constraint: index }
  if (message.startsWith('CHECK')) return { constraint: subject }
  return { columns: subject.split(', ').map((name) => name.slice(name.indexOf('.') + 1)) }
}
