/**
 * Distributes tables on Citus, an extension of PostgreSQL. Each statement asks whether the extension exists, so that the same
 * migrations run on plain PostgreSQL. Source: Citus, Utility Functions; Metadata Tables.
 */
import type { JointCommitSql } from '../contract/dialect.js'
import type { DistributionSql, TableMove } from '../contract/distribution.js'
import { quote, quoteTable } from '../contract/quote.js'
import type { Distribution } from '../contract/table-schema.js'

/**
 * ```sql
 * do $filigree$ begin
 *   if exists (select from pg_extension where extname = 'citus') then
 *     perform create_distributed_table('task', 'tenant_id', colocate_with => 'project');
 *   end if;
 * end $filigree$
 * ```
 */
function onlyDistributed(statements: readonly string[]): string {
  // Citus changes shards in parallel, and then refuses other changes in the same transaction.
  const inSequence =
    statements.length > 1 ? [`set local citus.multi_shard_modify_mode to 'sequential'`] : []
  return [
    'do $filigree$ begin',
    `  if ${isCitus} then`,
    ...[...inSequence, ...statements].map((one) => `    ${one.replaceAll('\n', '\n    ')};`),
    '  end if;',
    'end $filigree$',
  ].join('\n')
}

/** One statement that runs these in order, and that does nothing on servers that distribute tables. */
export function unlessDistributed(statements: readonly string[]): string {
  return [
    'do $filigree$ begin',
    `  if not ${isCitus} then`,
    ...statements.map((one) => `    ${one.replaceAll('\n', '\n    ')}`),
    '  end if;',
    'end $filigree$;',
  ].join('\n')
}

const isCitus = `exists (select from pg_extension where extname = 'citus')`

function move({ table, from, to, besides, counter, isOnline }: TableMove): string[] {
  const name = toRegclass(table)
  const leave = from.kind === 'local' ? [] : [makeLocal(table, counter)]
  if (to.kind === 'local') return leave
  if (to.kind === 'reference') return [...leave, makeReference(name)]
  const group = besides === undefined ? `'none'` : toRegclass(besides)
  const values = `(${name}, ${quoteText(to.column)}, colocate_with => ${group})`
  const distribute = `perform create_distributed_table${values}`
  if (!isOnline) return [...leave, distribute]
  // Logical replication copies the rows while writes continue. Newer servers must allow the plugin of Citus for it.
  const online = [
    `if current_setting('wal_level') = 'logical'`,
    `  and coalesce(current_setting('output_plugin_libraries', true), 'citus') like '%citus%' then`,
    `  perform create_distributed_table_concurrently${values};`,
    // The counter of the new table begins at 1.
    ...(counter === undefined
      ? []
      : [
          `  perform setval(pg_get_serial_sequence(${quoteText(quoteTable(table))}, ${quoteText(counter)}),`,
          `    (select coalesce(max(${quote(counter)}), 0) + 1 from ${quoteTable(table)}), false);`,
        ]),
    'else',
    `  ${distribute};`,
    'end if',
  ].join('\n')
  return [...leave, online]
}

function makeLocal(table: string, counter: string | undefined): string {
  if (counter === undefined) return `perform undistribute_table(${toRegclass(table)})`
  const reason = `Citus cannot move ${table} from its shards, because the database counts ${table}.${counter}. Create another table, and copy the rows`
  return `raise exception ${quoteText(reason.replaceAll('%', '%%'))}`
}

/** A migration that is undone leaves reference tables, so the table may be one already. */
function makeReference(name: string): string {
  return [
    `if not exists (select from pg_dist_partition where logicalrelid = ${name}::regclass and repmodel = 't') then`,
    `  perform create_reference_table(${name});`,
    'end if',
  ].join('\n')
}

/** Citus cannot rename constraints of distributed tables, so they are added again. Checks may be missing. */
function renameConstraint(table: string, from: string, to: string): string {
  const alter = `alter table ${quoteTable(table)}`
  return [
    'do $filigree$ declare definition text; begin',
    '  select pg_get_constraintdef(oid) into definition from pg_constraint',
    `    where conrelid = ${quoteText(quoteTable(table))}::regclass and conname = ${quoteText(from)};`,
    '  if definition is null then return; end if;',
    `  if ${isCitus} then`,
    `    ${alter} drop constraint ${quote(from)};`,
    `    execute ${quoteText(`${alter} add constraint ${quote(to)} `)} || definition;`,
    '  else',
    `    ${alter} rename constraint ${quote(from)} to ${quote(to)};`,
    '  end if;',
    'end $filigree$',
  ].join('\n')
}

function command(tableMove: TableMove): string {
  return move({ ...tableMove, isOnline: false })
    .map((statement) => `select ${/perform ([^;]+)/.exec(statement)?.[1] ?? ''};`)
    .join(' ')
}

export const citusSql: DistributionSql = { onlyDistributed, move, command, renameConstraint }

/**
 * A worker that has moved or was away gets the metadata within a minute: `object_not_in_prerequisite_state`. Most other
 * errors of Citus have the code of an internal error. Source: Citus, worker_transaction.c.
 */
const temporaryCodes: ReadonlySet<unknown> = new Set(['55000', 'XX000'])

/** Fails with a code of its own, because Citus has none for a coordinator that is missing. Source: Citus, metadata_utility.c. */
const checkCoordinator = `do $filigree$ begin
  if not exists (select from pg_dist_node where groupid = 0) then
    raise feature_not_supported using message = 'the coordinator is not in its own metadata: run select citus_set_coordinator_host(...)';
  end if;
end $filigree$`

/**
 * Citus commits in two phases if it knows of writes on several servers. It does not know of writes to tables of the
 * coordinator that it does not manage, so a transaction also writes to one that it does. Source: Citus, local_executor.c.
 */
export const citusJointCommit: JointCommitSql = {
  isCreated: `select exists (select from pg_dist_partition where logicalrelid = to_regclass('filigree_commit'))`,
  create: [
    checkCoordinator,
    'create table if not exists filigree_commit (id bigint primary key)',
    `select citus_add_local_table_to_metadata('filigree_commit')`,
  ],
  isTemporary: ({ cause }) => temporaryCodes.has((cause as { code?: unknown } | undefined)?.code),
  request: 'delete from filigree_commit where id = 0',
}

/** The name of a table as a text, which the server reads as it reads names in statements. */
function toRegclass(table: string): string {
  return quoteText(/^[a-z_][a-z0-9_]*$/.test(table) ? table : quoteTable(table))
}

function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/**
 * The tables of Citus with their distribution: name, column, group, whether every machine has all rows. Tables that are
 * missing here are local.
 *
 * @param nameOf SQL of the name of a table in a schema @param isInside the condition on a table `c` of a schema `n`
 */
export function distributionsSql(
  nameOf: (table: string, schema: string) => string,
  isInside: string,
): string {
  return `select ${nameOf('c', 'n')}, column_to_column_name(p.logicalrelid, p.partkey), p.colocationid::text,
    p.repmodel = 't' from pg_dist_partition p join pg_class c on c.oid = p.logicalrelid
  join pg_namespace n on n.oid = c.relnamespace
  where ${isInside} and (p.repmodel = 't' or p.colocationid > 0)`
}

/** @param row as `distributionsSql` returns it */
export function toDistribution([, column, group, isReference]: readonly unknown[]): Distribution {
  if (isReference === true) return { kind: 'reference' }
  return { kind: 'sharded', column: (column ?? '') as string, group: String(group) }
}
