/** Reads PostgreSQL's query plans. Source: PostgreSQL, EXPLAIN; PREPARE. */

import type { Runner, Row } from '../contract/engine.js'
import { frameworkQuery, frameworkScript } from '../contract/statement.js'
import type { ScanSql } from '../contract/dialect.js'

/**
 * Reads the approximate sizes of tables from statistics: the rows counted by ANALYZE without the rows deleted since, or
 * the rows written since, whichever is larger. Reading the size of a table's file would wait for locks. Source:
 * PostgreSQL, pg_class; The Cumulative Statistics System.
 */
const statement = frameworkQuery(
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

interface PlanNode {
  readonly 'Node Type'?: string
  readonly 'Relation Name'?: string
  readonly Filter?: string
  readonly Plans?: readonly PlanNode[]
}

/** Milliseconds that a plan waits for a locked table. Then it is read another time. */
const lockTimeout = 200

/** Makes names of statements unique within a session. */
let count = 0

export const postgresScans: ScanSql = {
  // A generic plan: with values, the plan would be the one for those values.
  explain: async (engine, sql) => {
    const placeholderCount = Math.max(
      0,
      ...[...sql.matchAll(/\$(\d+)/g)].map(([, position]) => Number(position)),
    )
    const values =
      placeholderCount === 0
        ? ''
        : `(${Array.from({ length: placeholderCount }, () => 'null').join()})`
    const name = `filigree_scan_${++count}`
    const runner = await engine.begin()
    try {
      await runner.run(
        frameworkScript(
          `set local lock_timeout = ${lockTimeout}; set local plan_cache_mode = force_generic_plan; prepare ${name} as ${sql}`,
        ),
        [],
        'nothing',
      )
      const statement = frameworkQuery(`explain (format json) execute ${name}${values}`)
      const { rows } = await runner.run(statement, [], 'all')
      await runner.run(frameworkScript(`deallocate ${name}`), [], 'nothing')
      return rows
    } finally {
      await runner.rollback()
    }
  },
  read: ([row]: readonly Row[]) => {
    const plan = row?.[0]
    const plans = (typeof plan === 'string' ? JSON.parse(plan) : plan) as { Plan: PlanNode }[]
    const found: string[] = []
    for (const { Plan } of plans) findScans(Plan, false, found)
    return found
  },
  statistics: `select query from pg_stat_statements
    where dbid = (select oid from pg_database where datname = current_database()) and query ~* '^\\s*select'
    order by total_exec_time desc limit 200`,
}

function findScans(node: PlanNode, isSorted: boolean, found: string[]): void {
  const kind = node['Node Type'] ?? ''
  const name = node['Relation Name']
  if (kind === 'Seq Scan' && name !== undefined && (isSorted || node.Filter !== undefined))
    found.push(name)
  for (const child of node.Plans ?? []) findScans(child, isSorted || kind.endsWith('Sort'), found)
}
