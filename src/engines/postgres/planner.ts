/** Reads PostgreSQL's query plans. Source: PostgreSQL, EXPLAIN; PREPARE. */

import type { Runner, Row, TableSize } from '../contract/engine.js'
import { quoteTable } from '../contract/quote.js'
import { frameworkQuery, frameworkScript } from '../contract/statement.js'
import type { ScanSql } from '../contract/dialect.js'

/** The values of columns are counted in tables of this size, because reading all rows of smaller ones takes little time. */
const minCountedRows = 250_000

/**
 * Reads the approximate sizes of tables from statistics: the rows counted by ANALYZE without the rows deleted since, or
 * the rows written since, whichever is larger. A partitioned table has the rows of its partitions. The bytes of a row come from the pages that VACUUM has counted. Reading
 * the size of a table's file would wait for locks. A column whose values ANALYZE expects to grow with the table has no
 * positive number of values. Source: PostgreSQL, pg_class; pg_stats; TOAST; The Cumulative Statistics System.
 */
const statement = frameworkQuery(
  `select named.name,
      stored.live, current_setting('block_size')::float8 * stored.pages / nullif(stored.tuples, 0),
      (select json_object_agg(s.attname, s.n_distinct) from pg_stats s
        where c.reltuples >= ${minCountedRows} and s.schemaname = n.nspname
        and s.tablename = c.relname and s.n_distinct > 0 and not s.inherited)
    from unnest(cast($1 as text[]), cast($2 as text[])) as named (name, quoted)
    join pg_class c on c.oid = to_regclass(named.quoted)
    join pg_namespace n on n.oid = c.relnamespace
    cross join lateral (
      select sum(greatest(p.reltuples - pg_stat_get_dead_tuples(p.oid), pg_stat_get_live_tuples(p.oid), 0)) as live,
        sum(p.relpages + coalesce(large.relpages, 0)) as pages, sum(greatest(p.reltuples, 0)) as tuples
      from (select c.oid where c.relkind <> 'p'
        union all select inhrelid from pg_inherits where inhparent = c.oid and c.relkind = 'p') part
      join pg_class p on p.oid = part.oid left join pg_class large on large.oid = p.reltoastrelid
    ) as stored
    where c.relkind in ('r', 'm', 'p')`,
  { together: 'calls' },
)

/** The number of rows from which their pages tell their size. */
const minMeasuredRows = 16

export async function readPostgresSizes(
  runner: Runner,
  tables: readonly string[],
): Promise<ReadonlyMap<string, TableSize>> {
  const rows = await runner.run(statement, [tables, tables.map(quoteTable)], 'rows')
  return new Map(
    rows.map(([name, count, bytes, values]) => {
      // A page is never empty, so few rows seem large.
      const isFew = Number(count) < minMeasuredRows
      const rowBytes = isFew ? 0 : Math.round(Number(bytes ?? 0))
      const size = { rows: Math.round(Number(count)), rowBytes }
      return [String(name), values === null ? size : { ...size, values: readValues(values) }]
    }),
  )
}

/** @param values JSON: `{ status: 3 }` */
function readValues(values: unknown): ReadonlyMap<string, number> {
  const read = typeof values === 'string' ? (JSON.parse(values) as object) : (values as object)
  return new Map(Object.entries(read))
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
