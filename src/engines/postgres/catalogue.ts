/**
 * Reads PostgreSQL's catalogue: the tables of the schema that names without one refer to, and those that are named with
 * their schema. Source: PostgreSQL, System Catalogs.
 */

import { DeclarationError } from '../../errors/declaration-error.js'
import type { Row, Runner } from '../contract/engine.js'
import { schemaOf } from '../contract/quote.js'
import { frameworkQuery } from '../contract/statement.js'
import type {
  ActualColumn,
  ActualForeignKey,
  ActualIndex,
  Catalogue,
  DatabaseTypes,
  Distribution,
} from '../contract/table-schema.js'
import { distributionsSql, toDistribution } from './distribution.js'
import { readTimestamp } from './timestamps.js'

/** The tables with locks that block reads, and the processes that hold these locks. Source: PostgreSQL, pg_locks. */
const holdersSql = `select case when n.nspname = current_schema() then c.relname else n.nspname || '.' || c.relname end, l.pid, coalesce(a.application_name, '') from pg_locks l
  join pg_class c on c.oid = l.relation join pg_namespace n on n.oid = c.relnamespace
  left join pg_stat_activity a on a.pid = l.pid
  where l.mode = 'AccessExclusiveLock' and l.granted and c.relkind in ('r', 'p')
    and l.database = (select oid from pg_database where datname = current_database())
  order by 1`

/** @param runner a runner outside the failed transaction @param names the tables that were read; default: all */
export async function lockedTablesError(
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

/** The message omits them if they cannot be read. */
async function readHolders(runner: Runner): Promise<readonly Row[]> {
  try {
    return await runner.run(frameworkQuery(holdersSql, { isFresh: true }), [], 'rows')
  } catch {
    return []
  }
}

/**
 * @param names the tables whose defaults, indexes and checks are read; default: all without a schema. The server locks a
 * table to write its expressions, so it waits for locks of other processes
 * @param isCitus whether the server distributes tables
 */
export async function readPostgresCatalogue(
  runner: Runner,
  names?: readonly string[],
  isCitus = false,
): Promise<Catalogue> {
  const scope = toScope(names)
  const read = async (sql: (scope: TableScope) => string): Promise<readonly Row[]> =>
    (await runner.run(frameworkQuery(sql(scope), { isFresh: true }), [], 'all')).rows
  const tables = new Map<string, MutableTable>()
  for (const row of await read(columnsSql)) {
    const [table, name, type, notNull, preset, kind, sql, isCounted, hasDefault, labels] = row
    getTable(tables, table, String(kind)).columns.set(String(name), {
      name: String(name),
      type: String(type),
      sql: shortType(String(sql)),
      nullable: notNull === false,
      optional: notNull === false || hasDefault === true || isCounted === true,
      preset: preset === null ? undefined : toUtcDefault(preset as string),
      increment: isCounted === true,
      ...((labels as string[]).length > 0 && { labels: labels as string[] }),
    })
  }
  for (const row of await read(indexesSql)) {
    const [table, name, unique, columns, isPrimary, where, sql, isConstraint, isValid] = row
    if (isPrimary === true) {
      getTable(tables, table).primaryKey = columns as string[]
      continue
    }
    getTable(tables, table).indexes.set(String(name), {
      unique: unique === true,
      columns: columns as string[],
      where: where === null ? undefined : (where as string),
      create: [String(sql)],
      isConstraint: isConstraint === true,
      ...(isValid === false && { isInvalid: true }),
    })
  }
  for (const row of await read(foreignKeysSql)) {
    const [table, target, name, action, columns, foreignColumns, isValid] = row
    getTable(tables, table).foreignKeys.push({
      columns: columns as string[],
      table: String(target),
      name: String(name),
      foreignColumns: foreignColumns as string[],
      onDelete: onDeleteActions[String(action)],
      ...(isValid === false && { isInvalid: true }),
    })
  }
  for (const [table, partitionKey] of await read(partitionKeysSql))
    getTable(tables, table, 'p').partitionKey = String(partitionKey).toLowerCase()
  for (const [table, name, sql, isValid] of await read(checksSql)) {
    const { checks, invalidChecks } = getTable(tables, table)
    checks.set(String(name), String(sql))
    if (isValid === false) invalidChecks.add(String(name))
  }
  if (!isCitus) return tables
  for (const table of tables.values()) table.distribution = { kind: 'local' }
  for (const row of await read(({ isInside, nameOf }) => distributionsSql(nameOf, isInside)))
    getTable(tables, row[0]).distribution = toDistribution(row)
  return tables
}

/** Actions by their codes in the catalogue. */
export const onDeleteActions: Readonly<Record<string, string>> = {
  a: 'no action',
  r: 'restrict',
  c: 'cascade',
  n: 'set null',
  d: 'set default',
}

/** `timestamp(3) with time zone` → `timestamptz(3)`, as the dialect writes types. */
function shortType(type: string): string {
  return type
    .replace(/^timestamp(\(\d\))? with time zone/, 'timestamptz$1')
    .replace(/^time(\(\d\))? without time zone/, 'time$1')
}

/**
 * The server writes a default timestamp in the session's time zone, so different sessions would see different defaults.
 * Timestamps that JavaScript cannot represent stay unchanged: microseconds, `infinity`, years outside 0001 to 9999.
 *
 * @param preset `'0001-01-01 07:40:53.006+04:36:48'::timestamp with time zone`
 * @returns `'0001-01-01T03:04:05.006Z'::timestamp with time zone`
 */
function toUtcDefault(preset: string): string {
  const [, timestamp, cast = ''] =
    /^'([^']+)'(::timestamp(?:\(\d\))? with time zone)$/.exec(preset) ?? []
  if (timestamp === undefined || /\.\d{4}/.test(timestamp)) return preset
  const read = String(readTimestamp(timestamp))
  return /^\d{4}-.*Z$/.test(read) ? `'${read}'${cast}` : preset
}

interface MutableTable {
  readonly name: string
  readonly isForeign: boolean
  readonly isPartitioned: boolean
  partitionKey?: string
  readonly columns: Map<string, ActualColumn>
  readonly indexes: Map<string, ActualIndex>
  readonly foreignKeys: ActualForeignKey[]
  primaryKey?: readonly string[]
  readonly checks: Map<string, string>
  readonly invalidChecks: Set<string>
  distribution?: Distribution
}

/** @param kind the code of the relation's kind: `r` is a table, `p` a partitioned one */
function getTable(tables: Map<string, MutableTable>, name: unknown, kind = 'r'): MutableTable {
  const text = String(name)
  let table = tables.get(text)
  if (table === undefined) {
    table = {
      name: text,
      isForeign: kind !== 'r' && kind !== 'p',
      isPartitioned: kind === 'p',
      columns: new Map(),
      indexes: new Map(),
      foreignKeys: [],
      checks: new Map(),
      invalidChecks: new Set(),
    }
    tables.set(text, table)
  }
  return table
}

/** Conditions on a table `c` of the schema `n`. */
interface TableScope {
  /** It is in the current schema, or named with its schema. */
  readonly isInside: string
  /** It is one of the tables whose expressions are read. */
  readonly isNamed: string
  /** It is not a partition, whose rows are in its table, or it is named. */
  readonly isWhole: string
  /** SQL of the name of a table: with its schema if it is another one, or if it was named with it. */
  readonly nameOf: (table: string, schema: string) => string
}

function toScope(names: readonly string[] | undefined): TableScope {
  const qualified = (names ?? []).filter((name) => schemaOf(name) !== undefined)
  const isInCurrent = (schema: string): string => `${schema}.nspname = current_schema()`
  const isQualified = (table: string, schema: string): string =>
    isOneOf(`${schema}.nspname || '.' || ${table}.relname`, qualified)
  const bare = names?.filter((name) => schemaOf(name) === undefined)
  const isBare = bare === undefined ? 'true' : isOneOf('c.relname', bare)
  const isNamed = `(${isBare} and ${isInCurrent('n')} or ${isQualified('c', 'n')})`
  return {
    isInside: `(${isInCurrent('n')} or ${isQualified('c', 'n')})`,
    isNamed,
    isWhole: names === undefined ? 'not c.relispartition' : `(not c.relispartition or ${isNamed})`,
    nameOf: (table, schema) =>
      `case when ${isInCurrent(schema)} and not ${isQualified(table, schema)} then ${table}.relname else ${schema}.nspname || '.' || ${table}.relname end`,
  }
}

function isOneOf(value: string, names: readonly string[]): string {
  const list = names.map((name) => `'${name.replaceAll("'", "''")}'`)
  return `coalesce(${value} in (${['null', ...list].join(', ')}), false)`
}

/** The values of an enum `t`, of the items of an array, or of what a domain stores. */
function labelsOf(type: string): string {
  return `array(select e.enumlabel::text from pg_enum e
    where e.enumtypid in (${type}.oid, ${type}.typelem, ${type}.typbasetype) order by e.enumsortorder)`
}

/** Reads types by their names, as statements find them. */
export async function readPostgresTypes(
  runner: Runner,
  names: readonly string[],
): Promise<DatabaseTypes> {
  const query = (sql: string): ReturnType<typeof frameworkQuery> =>
    frameworkQuery(sql, { isFresh: true })
  const { rows } = await runner.run(query(typesSql), [names], 'all')
  const found = new Map(
    rows.map(([name, labels]) => {
      const list = labels as string[]
      return [String(name), { labels: list.length === 0 ? undefined : list }]
    }),
  )
  if (names.every((name) => found.has(name))) return { found, names: [] }
  const visible = await runner.run(query(typeNamesSql), [], 'all')
  return { found, names: visible.rows.map(([name]) => String(name)) }
}

const typesSql = `select named.name, ${labelsOf('t')}
  from unnest(cast($1 as text[])) as named (name) join pg_type t on t.oid = to_regtype(named.name)`

const typeNamesSql = `select t.typname from pg_type t
  where pg_type_is_visible(t.oid) and t.typelem = 0 and t.typtype in ('b', 'd', 'e', 'r', 'm')
  order by 1`

const columnsSql = ({
  isInside,
  isNamed,
  isWhole,
  nameOf,
}: TableScope): string => `select ${nameOf('c', 'n')}, a.attname, format_type(a.atttypid, case a.atttypid when 'numeric'::regtype then a.atttypmod end),
    a.attnotnull and not exists (select from pg_constraint k where k.conrelid = c.oid and k.contype = 'n'
      and not k.convalidated and a.attnum = any(k.conkey)),
    case when ${isNamed} then pg_get_expr(d.adbin, d.adrelid) end, c.relkind::text,
    format_type(a.atttypid, a.atttypmod) || case when a.attcollation <> t.typcollation then ' collate ' || quote_ident(l.collname) else '' end,
    a.attidentity <> '', a.atthasdef, ${labelsOf('t')}
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  join pg_type t on t.oid = a.atttypid left join pg_collation l on l.oid = a.attcollation
  left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
  where ${isInside} and ${isWhole} and c.relkind in ('r', 'p', 'f', 'v', 'm') order by n.nspname, c.relname, a.attnum`

const indexesSql = ({
  isNamed,
  isWhole,
  nameOf,
}: TableScope): string => `select ${nameOf('c', 'n')}, i.relname, x.indisunique,
    array(select a.attname::text from unnest(x.indkey) with ordinality k(attnum, place)
      join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum order by k.place),
    x.indisprimary, pg_get_expr(x.indpred, x.indrelid), pg_get_indexdef(x.indexrelid),
    exists (select from pg_constraint k where k.conindid = i.oid and k.conrelid = c.oid and k.contype in ('u', 'x')),
    x.indisvalid
  from pg_index x join pg_class c on c.oid = x.indrelid join pg_class i on i.oid = x.indexrelid
  join pg_namespace n on n.oid = c.relnamespace
  where ${isNamed} and ${isWhole}`

const namesOf = (table: string, numbers: string): string =>
  `array(select a.attname::text from unnest(${numbers}) with ordinality u(attnum, place)
    join pg_attribute a on a.attrelid = ${table} and a.attnum = u.attnum order by u.place)`

/** A reference to a partitioned table has a copy for each of its partitions. */
const foreignKeysSql = ({
  isInside,
  isWhole,
  nameOf,
}: TableScope): string => `select ${nameOf('c', 'n')}, ${nameOf('f', 'fn')}, k.conname, k.confdeltype::text,
    ${namesOf('k.conrelid', 'k.conkey')}, ${namesOf('k.confrelid', 'k.confkey')}, k.convalidated
  from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_class f on f.oid = k.confrelid
  join pg_namespace n on n.oid = c.relnamespace join pg_namespace fn on fn.oid = f.relnamespace
  where ${isInside} and ${isWhole} and k.contype = 'f' and (k.conparentid = 0 or not f.relispartition)`

const partitionKeysSql = ({
  isInside,
  isWhole,
  nameOf,
}: TableScope): string => `select ${nameOf('c', 'n')}, pg_get_partkeydef(c.oid)
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where ${isInside} and ${isWhole} and c.relkind = 'p'`

const checksSql = ({
  isNamed,
  isWhole,
  nameOf,
}: TableScope): string => `select ${nameOf('c', 'n')}, k.conname, pg_get_expr(k.conbin, k.conrelid), k.convalidated
  from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_namespace n on n.oid = c.relnamespace
  where ${isNamed} and ${isWhole} and k.contype = 'c'`
