/** The approximate sizes of PostgreSQL's tables, from the planner's statistics. Source: PostgreSQL, pg_class. */
import type { Runner } from '../contract/engine.js'
import { ownQuestion } from '../contract/statement.js'

/** The assumed size of a row in bytes, for tables that were never analysed. */
const usualRow = 100

const statement = ownQuestion(`select relname, case when reltuples >= 0 and relpages > 0
      then reltuples / relpages * (pg_relation_size(oid) / current_setting('block_size')::int)
      else pg_relation_size(oid) / ${usualRow} end
    from pg_class where relkind in ('r', 'm') and oid = any(
      select to_regclass(quote_ident(name)) from unnest($1::text[]) as name)`)

export async function readPostgresSizes(
  runner: Runner,
  tables: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await runner.query(statement, [tables])
  return new Map(rows.map(([name, size]) => [String(name), Math.round(Number(size))]))
}
