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

/** A worker, as the coordinator knows it. */
export interface Worker {
  readonly id: number
  readonly host: string
  readonly port: number
}

/** The worker with the rows of a tenant. */
export async function workerOf(table: string, tenant: string): Promise<Worker> {
  const [row] = await runOnCitus(`select n.nodeid as id, n.nodename as host, n.nodeport as port
    from pg_dist_placement p join pg_dist_node n using (groupid)
    where p.shardid = get_shard_id_for_distribution_column('${table}', '${tenant}')`)
  return row as unknown as Worker
}

/** A tenant of each worker, and the worker. */
export async function tenantOfEachWorker(
  table: string,
): Promise<readonly (readonly [tenant: string, worker: Worker])[]> {
  const tenants = new Map<number, readonly [string, Worker]>()
  for (let index = 0; index < 40; index++) {
    const tenant = `t${index}`
    const worker = await workerOf(table, tenant)
    if (!tenants.has(worker.id)) tenants.set(worker.id, [tenant, worker])
  }
  return [...tenants.values()]
}

/** Lets the coordinator look for a worker at an address, of this database only. */
export async function moveWorker({ id }: Worker, host: string, port: number): Promise<void> {
  // Without it, citus_update_node ends the whole server.
  const running = await runOnCitus(`select from pg_stat_activity
    where backend_type like 'Citus Maintenance%' and datname = current_database()`)
  if (running.length === 0)
    throw new Error(
      'Citus has no maintenance process for this database: increase max_worker_processes.',
    )
  await runOnCitus(`select citus_update_node(${id}, '${host}', ${port})`)
}

/** A port at which nothing listens on any machine. */
export const deadPort = 1
