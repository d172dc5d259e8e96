/** Reads SQLite's catalogue. Source: SQLite, PRAGMA functions. */
import type {
  ActualColumn,
  ActualForeignKey,
  ActualIndex,
  Catalogue,
} from '../contract/catalogue.js'
import type { Row, Runner } from '../contract/engine.js'
import { ownQuestion } from '../contract/statement.js'

export async function readSqliteCatalogue(runner: Runner): Promise<Catalogue> {
  const read = async (sql: string): Promise<readonly Row[]> =>
    (await runner.run(ownQuestion(sql), [], 'all')).rows
  const rows = await read(columnsSql)
  const columns = group(rows, ([, name, type, notNull, preset, key]) =>
    toColumn({ name, type, notNull, preset, key }),
  )
  const keys = group(
    rows.filter(([, , , , , key]) => key !== 0).sort((a, b) => Number(a[5]) - Number(b[5])),
    ([, name]) => String(name),
  )
  const indexes = group(await read(indexesSql), ([, name, unique, list]) => ({
    name: String(name),
    unique: unique === 1,
    columns: String(list).split(','),
  }))
  const searches = group(await read(searchesSql), ([, name]) => ({
    name: String(name).replace(/_insert$/, ''),
    unique: false,
    columns: [],
  }))
  const foreignKeys = group(await read(foreignKeysSql), ([, column, target]): ActualForeignKey => ({
    column: String(column),
    table: String(target),
  }))
  const checks = group(await read(tablesSql), ([, sql]) => readChecks(String(sql)))
  const views = await readViews(read)
  return new Map(
    [...columns, ...views].map(([name, list]) => [
      name,
      {
        name,
        isForeign: views.has(name),
        columns: new Map(list.map((column) => [column.name, column])),
        indexes: new Map(
          [...(indexes.get(name) ?? []), ...(searches.get(name) ?? [])].map(
            (index): [string, ActualIndex] => [index.name, index],
          ),
        ),
        foreignKeys: foreignKeys.get(name) ?? [],
        primaryKey: keys.get(name),
        checks: new Set(checks.get(name)?.flat()),
      },
    ]),
  )
}

/** One by one: a view of a table that is gone tells nothing, and no record can be of it. */
async function readViews(
  read: (sql: string) => Promise<readonly Row[]>,
): Promise<Map<string, ActualColumn[]>> {
  const views = new Map<string, ActualColumn[]>()
  for (const [name] of await read(`select name from sqlite_schema where type = 'view'`)) {
    try {
      const text = `'${String(name).replaceAll("'", "''")}'`
      const rows = await read(`select name, type from pragma_table_info(${text})`)
      views.set(
        String(name),
        rows.map(([column, type]) =>
          toColumn({ name: column, type, notNull: 0, preset: null, key: 0 }),
        ),
      )
    } catch {
      continue
    }
  }
  return views
}

const columnsSql = `select t.name, c.name, c.type, c."notnull", c.dflt_value, c.pk
  from sqlite_schema t join pragma_table_info(t.name) c where t.type = 'table' and t.name not glob 'sqlite_*'`

const tablesSql = `select name, sql from sqlite_schema where type = 'table'`

const indexesSql = `select t.name, i.name, i."unique", group_concat(c.name)
  from sqlite_schema t join pragma_index_list(t.name) i join pragma_index_info(i.name) c
  where t.type = 'table' and i.origin = 'c' group by t.name, i.name`

/** The search indexes of tables. */
const searchesSql = `select tbl_name, name from sqlite_schema
  where type = 'trigger' and name glob 'filigree_search_*_insert'`

const foreignKeysSql = `select t.name, f."from", f."table"
  from sqlite_schema t join pragma_foreign_key_list(t.name) f where t.type = 'table' and t.name not glob 'sqlite_*'`

function toColumn(
  info: Record<'name' | 'type' | 'notNull' | 'preset' | 'key', unknown>,
): ActualColumn {
  const isKey = info.key !== 0
  const nullable = info.notNull === 0 && !isKey
  return {
    name: String(info.name),
    type: String(info.type).toLowerCase(),
    nullable,
    preset: typeof info.preset === 'string' ? readPreset(info.preset) : undefined,
    optional: nullable || info.preset !== null || (isKey && info.type === 'integer'),
  }
}

/** The catalogue returns an expression without its outer parentheses. */
function readPreset(text: string): string {
  return /^[\w]+ *\(/.test(text) ? `(${text})` : text
}

/** The names of checks are only in the table's SQL. */
function readChecks(sql: string): string[] {
  return [...sql.matchAll(/\bconstraint\s+"([^"]+)"\s+check\b/gi)].map(([, name = '']) => name)
}

function group<T>(rows: readonly Row[], read: (row: Row) => T): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const row of rows) {
    const name = String(row[0])
    const list = groups.get(name)
    if (list === undefined) groups.set(name, [read(row)])
    else list.push(read(row))
  }
  return groups
}
