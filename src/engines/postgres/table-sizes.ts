/**
 * The approximate sizes of PostgreSQL's tables by its statistics alone: what was counted when a table was analysed, without
 * the rows that were deleted since, or the rows that were written since, whichever are more. To look at a table's file would wait for whoever locks the table.
 * Source: PostgreSQL, pg_class; The Cumulative Statistics System.
 */
import type { Runner } from '../contract/engine.js'
import { ownQuestion } from '../contract/statement.js'

const statement = ownQuestion(
  `select relname, greatest(reltuples - pg_stat_get_dead_tuples(oid), pg_stat_get_live_tuples(oid), 0)
    from pg_class where relkind in ('r', 'm') and oid = any(
      select to_regclass(quote_ident(name)) from unnest(cast($1 as text[])) as name)`,
  { together: 'calls' },
)

export async function readPostgresSizes(
  runner: Runner,
  tables: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await runner.run(statement, [tables], 'rows')
  return new Map(rows.map(([name, size]) => [String(name), Math.round(Number(size))]))
}
