/** The Citus coordinator of the suites: an empty database for each test, and SQL on it. */
import { afterEach, beforeEach } from '@jest/globals'
import { connect, type Database } from 'filigree'
import type { Class } from '../../public-types.js'
import { Client } from '../../records/postgres-server.js'

/** The database on the coordinator. `npm run citus` runs the suites only where it is set. */
export const citusUrl = process.env.TEST_CITUS_URL ?? ''

type Rows = readonly globalThis.Record<string, unknown>[]

/** Runs one statement on a connection of its own. */
export async function runOnCitus(sql: string): Promise<Rows> {
  const client = new Client({ connectionString: citusUrl })
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

/** Drops all tables, types and schemas of the database that the suites have created. */
export async function emptyCitus(): Promise<void> {
  for (const list of [tablesSql, typesSql, schemasSql]) {
    const [row] = await runOnCitus(list)
    if (typeof row?.drop === 'string') await runOnCitus(row.drop)
  }
}

const tablesSql = `select 'drop table if exists ' || string_agg(format('%I.%I', schemaname, tablename), ', ') || ' cascade' as drop
  from pg_tables where schemaname = 'public'`

const typesSql = `select 'drop type ' || string_agg(format('%I.%I', n.nspname, t.typname), ', ') || ' cascade' as drop
  from pg_type t join pg_namespace n on n.oid = t.typnamespace where n.nspname = 'public' and t.typtype = 'e'`

const schemasSql = `select 'drop schema ' || string_agg(quote_ident(nspname), ', ') || ' cascade' as drop from pg_namespace
  where nspname not like 'pg\\_%' and nspname not like 'citus%'
    and nspname not in ('public', 'information_schema', 'columnar', 'columnar_internal')`

/** For suites of all engines. @returns the address of the empty database */
export async function openEmptyCitus(): Promise<string> {
  await emptyCitus()
  return citusUrl
}

/** Empties the database before each test of a suite, and closes the databases that it opens. */
export function useCitus() {
  const opened: Database[] = []
  beforeEach(emptyCitus)
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((database) => database.close()))
  })
  return {
    open: async (...records: Class[]): Promise<Database> => {
      const database = await connect(citusUrl, { records })
      opened.push(database)
      return database
    },
  }
}
