/** Records the statements that the drivers of both databases receive, from any caller. */
import { createRequire } from 'node:module'
import { findDrivers } from '../../records/sqlite-drivers.js'

export interface Sent {
  readonly sql: string
  readonly values: readonly unknown[]
}

/** The prototypes by which the chosen driver runs statements, and how to read a statement's text. */
interface SqliteDriver {
  readonly statement: object
  readonly database: object
  readonly textOf: (statement: unknown) => string
  readonly valuesOf: (args: readonly unknown[]) => readonly unknown[]
}
interface PackageDatabase {
  prepare(sql: string): object
}
interface NodeModule {
  readonly StatementSync: { readonly prototype: object }
  readonly DatabaseSync: { readonly prototype: object }
}
interface PgQuery {
  readonly text: string
  readonly values?: readonly unknown[]
}

// Neither driver has type declarations. The framework loads the same packages.
const load = createRequire(import.meta.url)
const sqlite = (await findDrivers())[0] === 'node:sqlite' ? nodeDriver() : packageDriver()
const { Client } = load('pg') as { Client: { prototype: object } }

/** @returns the result of the work, and every statement that a driver ran during it, in order */
export async function logStatements<T>(
  work: () => Promise<T>,
): Promise<{ result: T; sent: Sent[] }> {
  const sent: Sent[] = []
  const note = (sql: string, values: readonly unknown[]): void => {
    sent.push({ sql, values })
  }
  const undo = [
    ...['all', 'get', 'run', 'iterate'].map((name) =>
      watch(sqlite.statement, name, (self, args) => {
        note(sqlite.textOf(self), sqlite.valuesOf(args))
      }),
    ),
    watch(sqlite.database, 'exec', (_self, [sql]) => {
      note(String(sql), [])
    }),
    watch(Client.prototype, 'query', (_self, [query]) => {
      const { text, values = [] } = typeof query === 'string' ? { text: query } : (query as PgQuery)
      // Ignores the periodic queries for listeners and waiting statements.
      if (!text.includes('from pg_locks') && text !== 'select 1') note(text, values)
    }),
  ]
  try {
    return { result: await work(), sent }
  } finally {
    for (const one of undo) one()
  }
}

function nodeDriver(): SqliteDriver {
  const { StatementSync, DatabaseSync } = process.getBuiltinModule('node:sqlite') as NodeModule
  return {
    statement: StatementSync.prototype,
    database: DatabaseSync.prototype,
    textOf: (statement) => (statement as { sourceSQL: string }).sourceSQL,
    valuesOf: (args) => args,
  }
}

function packageDriver(): SqliteDriver {
  const Sqlite = load('better-sqlite3') as new (file: string) => PackageDatabase
  return {
    statement: Object.getPrototypeOf(new Sqlite(':memory:').prepare('select 1')) as object,
    database: Sqlite.prototype as object,
    textOf: (statement) => (statement as { source: string }).source,
    valuesOf: ([values]) => values as readonly unknown[],
  }
}

type Method = (this: unknown, ...args: unknown[]) => unknown

/** @returns a function that restores the method */
function watch(
  prototype: object,
  name: string,
  note: (self: unknown, args: readonly unknown[]) => void,
): () => void {
  const methods = prototype as Record<string, Method>
  const method = methods[name] as Method
  methods[name] = function (...args) {
    note(this, args)
    return method.apply(this, args)
  }
  return () => {
    methods[name] = method
  }
}
