/** Writes down what the drivers of both databases are asked, whoever asks them. */
import { createRequire } from 'node:module'

export interface Sent {
  readonly sql: string
  readonly values: readonly unknown[]
}

interface SqliteStatement {
  readonly source: string
  all(...values: unknown[]): unknown
}
interface SqliteDatabase {
  prepare(sql: string): SqliteStatement
}
interface PgQuery {
  readonly text: string
  readonly values?: readonly unknown[]
}

// Neither driver brings types. The framework loads the same packages.
const load = createRequire(import.meta.url)
const Sqlite = load('better-sqlite3') as new (file: string) => SqliteDatabase
const { Client } = load('pg') as { Client: { prototype: object } }

/** @returns what the work answered, and every statement that a driver ran meanwhile, in order */
export async function logStatements<T>(
  work: () => Promise<T>,
): Promise<{ result: T; sent: Sent[] }> {
  const sent: Sent[] = []
  const database = new Sqlite(':memory:')
  const statement = Object.getPrototypeOf(database.prepare('select 1')) as object
  const note = (sql: string, values: readonly unknown[]): void => {
    sent.push({ sql, values })
  }
  const undo = [
    ...['all', 'get', 'run', 'iterate'].map((name) =>
      watch(statement, name, (self, [values]) => {
        note((self as SqliteStatement).source, values as unknown[])
      }),
    ),
    watch(Sqlite.prototype as object, 'exec', (_self, [sql]) => {
      note(String(sql), [])
    }),
    watch(Client.prototype, 'query', (_self, [query]) => {
      const { text, values = [] } = typeof query === 'string' ? { text: query } : (query as PgQuery)
      note(text, values)
    }),
  ]
  try {
    return { result: await work(), sent }
  } finally {
    for (const one of undo) one()
  }
}

type Method = (this: unknown, ...args: unknown[]) => unknown

/** @returns what makes it as it was */
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
