/** Reads PostgreSQL's catalogue of the schema that unqualified names refer to. Source: PostgreSQL, System Catalogs. */
import type {
  ActualColumn,
  ActualForeignKey,
  ActualIndex,
  Catalogue,
} from '../contract/catalogue.js'
import type { Row, Runner } from '../contract/engine.js'
import { ownQuestion } from '../contract/statement.js'

export async function readPostgresCatalogue(runner: Runner): Promise<Catalogue> {
  const read = async (sql: string): Promise<readonly Row[]> =>
    (await runner.run(ownQuestion(sql, { isFresh: true }), [], 'all')).rows
  const tables = new Map<string, Mutable>()
  for (const [table, name, type, notNull, preset, kind] of await read(columnsSql)) {
    const isForeign = kind !== 'r' && kind !== 'p'
    tableOf(tables, table, isForeign).columns.set(String(name), {
      name: String(name),
      type: String(type),
      nullable: notNull === false,
      optional: notNull === false || preset === true,
      preset: preset === true || undefined,
    })
  }
  for (const [table, name, unique, columns, isPrimary] of await read(indexesSql)) {
    if (isPrimary === true) {
      tableOf(tables, table).primaryKey = columns as string[]
      continue
    }
    const index = { unique: unique === true, columns: columns as string[] }
    tableOf(tables, table).indexes.set(String(name), index)
  }
  for (const [table, column, target, name] of await read(foreignKeysSql)) {
    const key = { column: String(column), table: String(target), name: String(name) }
    tableOf(tables, table).foreignKeys.push(key)
  }
  for (const [table, name] of await read(checksSql)) tableOf(tables, table).checks.add(String(name))
  return tables
}

interface Mutable {
  readonly name: string
  readonly isForeign: boolean
  readonly columns: Map<string, ActualColumn>
  readonly indexes: Map<string, ActualIndex>
  readonly foreignKeys: ActualForeignKey[]
  primaryKey?: readonly string[]
  readonly checks: Set<string>
}

function tableOf(tables: Map<string, Mutable>, name: unknown, isForeign = false): Mutable {
  const text = String(name)
  let table = tables.get(text)
  if (table === undefined) {
    table = {
      name: text,
      isForeign,
      columns: new Map(),
      indexes: new Map(),
      foreignKeys: [],
      checks: new Set(),
    }
    tables.set(text, table)
  }
  return table
}

const ours = `c.relnamespace = (select oid from pg_namespace where nspname = current_schema())`

const columnsSql = `select c.relname, a.attname, format_type(a.atttypid, case a.atttypid when 'numeric'::regtype then a.atttypmod end), a.attnotnull,
    a.atthasdef or a.attidentity <> '', c.relkind::text
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  where ${ours} and c.relkind in ('r', 'p', 'f', 'v', 'm') order by c.relname, a.attnum`

const indexesSql = `select c.relname, i.relname, x.indisunique,
    array(select a.attname::text from unnest(x.indkey) with ordinality k(attnum, place)
      join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum order by k.place),
    x.indisprimary
  from pg_index x join pg_class c on c.oid = x.indrelid join pg_class i on i.oid = x.indexrelid
  where ${ours}`

const foreignKeysSql = `select c.relname, a.attname, f.relname, k.conname
  from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_class f on f.oid = k.confrelid
  join pg_attribute a on a.attrelid = c.oid and a.attnum = k.conkey[array_upper(k.conkey, 1)]
  where ${ours} and k.contype = 'f'`

const checksSql = `select c.relname, k.conname from pg_constraint k join pg_class c on c.oid = k.conrelid
  where ${ours} and k.contype = 'c'`
