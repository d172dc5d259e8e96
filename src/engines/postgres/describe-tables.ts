/** Describes the tables and views of some schemas. Source: PostgreSQL, System Catalogs (13 and later). */
import type { KindName } from '../../fields/kinds/table.js'
import type {
  ColumnForm,
  CatalogueColumn,
  CatalogueForeignKey,
  CatalogueIndex,
  CatalogueTable,
  TableKind,
} from '../contract/described-table.js'
import type { Row, Runner } from '../contract/engine.js'
import { frameworkQuery } from '../contract/statement.js'
import { onDeleteActions } from './catalogue.js'

/** @param schemas default: the schema that unqualified names refer to */
export async function describePostgresTables(
  runner: Runner,
  schemas: readonly string[] | undefined,
): Promise<CatalogueTable[]> {
  const condition = inSchemas(schemas)
  const read = async (sql: string): Promise<readonly Row[]> =>
    (await runner.run(frameworkQuery(sql, { isFresh: true }), [], 'all')).rows
  const types = readTypes(await read(typesSql))
  const columns = group(await read(columnsSql(condition)), (row) => toColumn(row, types))
  const indexes = group(await read(indexesSql(condition)), toIndex)
  const foreignKeys = group(await read(foreignKeysSql(condition)), toForeignKey)
  const checks = group(await read(checksSql(condition)), ([, definition]) => String(definition))
  const tables = await read(tablesSql(condition))
  return tables.map(([id, schema, name, kind, comment, isPopulated]) => {
    const own = indexes.get(String(id)) ?? []
    return {
      schema: toText(schema),
      name: String(name),
      kind: kinds[String(kind)] ?? 'table',
      isPopulated: isPopulated === true,
      comment: toText(comment),
      columns: columns.get(String(id)) ?? [],
      primaryKey: own.find(({ isPrimary }) => isPrimary)?.columns ?? [],
      indexes: own.filter(({ isPrimary }) => !isPrimary),
      foreignKeys: foreignKeys.get(String(id)) ?? [],
      checks: (checks.get(String(id)) ?? []).flatMap(toCondition),
    }
  })
}

const kinds: Readonly<Record<string, TableKind>> = {
  r: 'table',
  p: 'table',
  v: 'view',
  m: 'materialized view',
  f: 'foreign table',
}

function toText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** A type that is not built in. */
interface NamedType {
  /** Of a domain. */
  readonly base: string | undefined
  /** Rows that leave the column out get it, unless the column has a default of its own. */
  readonly preset: string | undefined
  readonly notNull: boolean
  /** Of an enum. */
  readonly values: readonly string[] | undefined
  /** Of a domain. */
  readonly checks: readonly string[]
}

/** @param definition `CHECK ((price > 0)) NOT VALID`. Checks that are not enforced for all rows have other endings */
function toCondition(definition: string): string[] {
  const [, condition] = /^CHECK \(([^]*)\)(?: NOT VALID)?$/.exec(definition) ?? []
  return condition === undefined ? [] : [condition]
}

function readTypes(rows: readonly Row[]): ReadonlyMap<string, NamedType> {
  return new Map(
    rows.map(([name, base, notNull, preset, values, checks]) => [
      String(name),
      {
        base: toText(base),
        preset: toText(preset),
        notNull: notNull === true,
        values: (values as string[]).length === 0 ? undefined : (values as string[]),
        checks: (checks as string[]).flatMap(toCondition),
      },
    ]),
  )
}

function toColumn(row: Row, types: ReadonlyMap<string, NamedType>): CatalogueColumn {
  const [, name, declared, notNull, expression, isIdentity, isComputed, comment, isCaseless] = row
  const type = String(declared)
  const resolved = resolveType(type, types)
  const { domains } = resolved
  const preset = toText(expression) ?? domains.find((domain) => domain.preset !== undefined)?.preset
  const isRequired = notNull === true || domains.some((domain) => domain.notNull)
  return {
    name: String(name),
    type,
    form: {
      ...toForm(type, resolved),
      ...(isCaseless === true && ({ equality: 'without case' } as const)),
    },
    nullable: !isRequired,
    preset: isComputed === true ? undefined : preset,
    isCounted: isIdentity === true || preset?.startsWith('nextval(') === true,
    isComputed: isComputed === true,
    comment: toText(comment),
    checks: domains.flatMap((domain) => domain.checks),
  }
}

interface ResolvedType {
  /** Without domains, and of the items of a list. */
  readonly base: string
  readonly values: readonly string[] | undefined
  readonly isList: boolean
  readonly domains: readonly NamedType[]
}

/** Follows domains, which may be over other domains and over lists, and the items of lists. */
function resolveType(type: string, types: ReadonlyMap<string, NamedType>): ResolvedType {
  const domains: NamedType[] = []
  let [base, isList] = [type, false]
  for (;;) {
    const named = types.get(base)
    if (base.endsWith('[]')) [base, isList] = [base.slice(0, -2), true]
    else if (named?.base === undefined) return { base, values: named?.values, isList, domains }
    else {
      if (!isList) domains.push(named)
      base = named.base
    }
  }
}

function toForm(type: string, { base, values, isList }: ResolvedType): ColumnForm {
  const form: ColumnForm =
    values === undefined ? toBuiltInForm(base) : { kind: 'enum', values, type: base }
  if (isList) return { ...form, kind: unlisted.has(form.kind) ? 'string' : form.kind, isList, type }
  return type === base ? form : { ...form, type }
}

/** Kinds whose values cannot be in an array. */
const unlisted: ReadonlySet<KindName> = new Set(['datetime', 'blob', 'json'])

const kindsByType: Readonly<Record<string, KindName>> = {
  smallint: 'integer',
  integer: 'integer',
  bigint: 'bigint',
  real: 'numeric',
  'double precision': 'numeric',
  boolean: 'boolean',
  date: 'date',
  'timestamp with time zone': 'datetime',
  'time without time zone': 'time',
  uuid: 'uuid',
  json: 'json',
  jsonb: 'json',
  bytea: 'blob',
  text: 'string',
  'character varying': 'string',
  character: 'string',
}

/** The maximum number of digits of the kind `decimal`. */
const maxDigits = 38

/** @param type `character varying(40)`, `numeric(10,2)`, `timestamp(3) with time zone` */
function toBuiltInForm(type: string): ColumnForm {
  const [, first, second] = /\((\d+)(?:,(-?\d+))?\)/.exec(type) ?? []
  const name = type.replace(/\([^)]*\)/, '')
  const [size, scale] = [Number(first), Number(second)]
  if (name === 'numeric') {
    if (first === undefined)
      return {
        kind: 'numeric',
        remark: 'has numbers without declared digits, of which 15 are kept',
      }
    if (size <= maxDigits && scale >= 0 && scale <= size)
      return { kind: 'decimal', digits: { precision: size, scale } }
  }
  // A timestamp without a time zone is in UTC.
  if (name === 'timestamp without time zone') return { kind: 'datetime', type: 'timestamp' }
  const kind = kindsByType[name]
  if (kind === undefined) return { kind: 'string', type, equality: 'of its type' }
  const padded = name === 'character' ? ({ equality: 'padded' } as const) : {}
  return kind === 'string' && first !== undefined
    ? { kind, maxLength: size, ...padded }
    : { kind, ...padded }
}

function toIndex(row: Row): CatalogueIndex & { readonly isPrimary: boolean } {
  const [, columns, unique, isPrimary] = row
  return { columns: columns as string[], unique: unique === true, isPrimary: isPrimary === true }
}

function toForeignKey(row: Row): CatalogueForeignKey {
  const [, columns, schema, table, foreignColumns, action] = row
  return {
    columns: columns as string[],
    schema: toText(schema),
    table: String(table),
    foreignColumns: foreignColumns as string[],
    onDelete: onDeleteActions[String(action)] ?? 'no action',
  }
}

function group<T>(rows: readonly Row[], read: (row: Row) => T): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const row of rows) {
    const list = groups.get(String(row[0]))
    if (list === undefined) groups.set(String(row[0]), [read(row)])
    else list.push(read(row))
  }
  return groups
}

function inSchemas(schemas: readonly string[] | undefined): string {
  if (schemas === undefined) return 'n.nspname = current_schema()'
  return `n.nspname in (${schemas.map((name) => `'${name.replaceAll("'", "''")}'`).join(', ')})`
}

const schemaName = (table: string): string =>
  `case when ${table}.nspname <> coalesce(current_schema(), '') then ${table}.nspname::text end`

/** Without partitions, whose rows are in their table, and without the tables of extensions. */
const ofApplication = `c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
  and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')`

const tablesSql = (condition: string): string => `select c.oid::text, ${schemaName('n')},
    c.relname::text, c.relkind::text, obj_description(c.oid, 'pg_class'), c.relispopulated
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where ${condition} and ${ofApplication} order by n.nspname, c.relname`

const columnsSql = (condition: string): string => `select c.oid::text, a.attname::text,
    format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid),
    a.attidentity <> '', a.attgenerated <> '', col_description(c.oid, a.attnum),
    exists (select from pg_collation l where l.oid = a.attcollation and not l.collisdeterministic)
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
  where ${condition} and ${ofApplication} order by c.oid, a.attnum`

const typesSql = `select format_type(t.oid, null),
    case when t.typtype = 'd' then format_type(t.typbasetype, t.typtypmod) end, t.typnotnull, t.typdefault,
    array(select e.enumlabel::text from pg_enum e where e.enumtypid = t.oid order by e.enumsortorder),
    array(select pg_get_constraintdef(k.oid) from pg_constraint k
      where k.contypid = t.oid and k.contype = 'c' order by k.conname)
  from pg_type t where t.typtype in ('d', 'e')`

const namesOf = (table: string, numbers: string): string =>
  `array(select a.attname::text from unnest(${numbers}) with ordinality u(attnum, place)
    join pg_attribute a on a.attrelid = ${table} and a.attnum = u.attnum order by u.place)`

const indexesSql = (
  condition: string,
): string => `select c.oid::text, ${namesOf('c.oid', '(x.indkey::int2[])[0:x.indnkeyatts - 1]')}, x.indisunique, x.indisprimary
  from pg_index x join pg_class c on c.oid = x.indrelid join pg_namespace n on n.oid = c.relnamespace
  join pg_class i on i.oid = x.indexrelid join pg_am m on m.oid = i.relam
  where ${condition} and ${ofApplication} and m.amname = 'btree' and x.indisvalid
    and x.indpred is null and x.indexprs is null
  order by c.oid, i.relname`

const foreignKeysSql = (
  condition: string,
): string => `select c.oid::text, ${namesOf('k.conrelid', 'k.conkey')},
    ${schemaName('o')}, f.relname::text, ${namesOf('k.confrelid', 'k.confkey')}, k.confdeltype::text
  from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_namespace n on n.oid = c.relnamespace
  join pg_class f on f.oid = k.confrelid join pg_namespace o on o.oid = f.relnamespace
  where ${condition} and ${ofApplication} and k.contype = 'f' and not f.relispartition
  order by c.oid, k.conname`

const checksSql = (condition: string): string => `select c.oid::text, pg_get_constraintdef(k.oid)
  from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_namespace n on n.oid = c.relnamespace
  where ${condition} and ${ofApplication} and k.contype = 'c' order by c.oid, k.conname`
