/** Sorts SQLite's errors. Source: SQLite, Result and Error Codes. */
import { EngineFault, type FaultKind } from '../engine.js'

/** @returns an `EngineFault`; an error that is not SQLite's as it is */
export function toSqliteFault(error: unknown): unknown {
  // By their looks, not by their class: the driver keeps the error class of whoever loaded it first.
  const { name, code, message } = (error ?? {}) as Partial<Record<string, unknown>>
  if (typeof message !== 'string') return error
  if (name === 'RangeError') return new EngineFault('value', message, error)
  if (typeof code !== 'string' || !code.startsWith('SQLITE_')) return error
  // What `on delete restrict` refuses comes under the code of triggers.
  const kind = message === 'FOREIGN KEY constraint failed' ? 'reference' : kindOf(code)
  return new EngineFault(kind, message, error, kind === 'unique' ? readUnique(message) : {})
}

/** Another connection has the lock: the statement has done nothing and may be tried again. */
export function isBusy(fault: unknown): boolean {
  if (!(fault instanceof EngineFault) || fault.kind !== 'unavailable') return false
  return String((fault.cause as { code?: unknown }).code).startsWith('SQLITE_BUSY')
}

function kindOf(code: string): FaultKind {
  return exact[code] ?? families[code.split('_')[1] ?? ''] ?? 'other'
}

const exact: Readonly<Record<string, FaultKind>> = {
  SQLITE_CONSTRAINT_UNIQUE: 'unique',
  SQLITE_CONSTRAINT_PRIMARYKEY: 'unique',
  SQLITE_CONSTRAINT_ROWID: 'unique',
  SQLITE_CONSTRAINT_FOREIGNKEY: 'reference',
}

const families: Readonly<Record<string, FaultKind>> = {
  CONSTRAINT: 'value',
  TOOBIG: 'value',
  MISMATCH: 'value',
  BUSY: 'unavailable',
  LOCKED: 'unavailable',
  READONLY: 'unavailable',
  FULL: 'unavailable',
  IOERR: 'unavailable',
  CANTOPEN: 'unavailable',
  NOMEM: 'unavailable',
}

/** `UNIQUE constraint failed: product.name, product.shop` or `… index 'product_name_key'`. */
function readUnique(message: string): { columns?: string[]; constraint?: string } {
  const told = message.slice(message.indexOf(': ') + 2)
  const index = /^index '(.+)'$/.exec(told)?.[1]
  if (index !== undefined) return { constraint: index }
  return { columns: told.split(', ').map((name) => name.slice(name.indexOf('.') + 1)) }
}
