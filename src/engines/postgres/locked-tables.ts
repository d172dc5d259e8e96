/** The error for a table that another process has locked while the schema is read. Source: PostgreSQL, pg_locks. */
import { DeclarationError } from '../../errors/declaration-error.js'
import type { Row, Runner } from '../contract/engine.js'
import { ownQuestion } from '../contract/statement.js'

/** The tables that are locked so that nobody may read them, and the processes that hold the locks. */
const holdersSql = `select c.relname, l.pid, coalesce(a.application_name, '') from pg_locks l
  join pg_class c on c.oid = l.relation left join pg_stat_activity a on a.pid = l.pid
  where l.mode = 'AccessExclusiveLock' and l.granted and c.relkind in ('r', 'p')
    and c.relnamespace = (select oid from pg_namespace where nspname = current_schema())
    and l.database = (select oid from pg_database where datname = current_database())
  order by c.relname`

/**
 * @param runner what asks for the holders: not the transaction that has failed
 * @param names the tables that were read; default: all
 */
export async function toLocked(
  runner: Runner,
  cause: unknown,
  names?: readonly string[],
): Promise<DeclarationError> {
  const error = new DeclarationError([
    {
      code: 'SCHEMA_LOCKED',
      message: `The tables could not be read, because ${await describeHolders(runner, names)}.`,
      remedy:
        'Wait for the other process, or end it by pg_terminate_backend. lock_timeout in the address sets the wait.',
    },
  ])
  error.cause = cause
  return error
}

async function describeHolders(runner: Runner, names?: readonly string[]): Promise<string> {
  const rows = await readHolders(runner)
  const holders = rows.filter(([table]) => names?.includes(String(table)) ?? true)
  if (holders.length === 0) return 'a table was locked for too long'
  return holders
    .map(([table, pid, application]) => {
      const name = application === '' ? '' : ` (${String(application)})`
      return `the table ${String(table)} is locked by process ${String(pid)} of the server${name}`
    })
    .join(', and ')
}

/** Without them the message says less. */
async function readHolders(runner: Runner): Promise<readonly Row[]> {
  try {
    return await runner.run(ownQuestion(holdersSql, { isFresh: true }), [], 'rows')
  } catch {
    return []
  }
}
