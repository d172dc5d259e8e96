/** Reads tables, columns, indexes, references and checks from SQLite. Source: SQLite, PRAGMA functions. */
import type {
  ActualColumn,
  ActualForeignKey,
  ActualIndex,
  Catalogue,
} from '../contract/table-schema.js'
import type { Row, Runner } from '../contract/engine.js'
import { frameworkQuery } from '../contract/statement.js'
import { timestampColumnsOf } from './timestamps.js'

export async function readSqliteCatalogue(runner: Runner): Promise<Catalogue> {
  const read = async (sql: string): Promise<readonly Row[]> =>
    (await runner.run(frameworkQuery(sql), [], 'all')).rows
  const rows = await read(columnsSql)
  const sqlOf = new Map(
    (await read(tablesSql)).map(([name, sql]) => [String(name), String(sql)] as const),
  )
  const columns = group(rows, ([table, name, type, notNull, preset, key, isComputed]) => {
    const isAutoincrement = key !== 0 && /\bautoincrement\b/i.test(sqlOf.get(String(table)) ?? '')
    const column = toColumn({ name, type, notNull, preset, key }, isAutoincrement)
    return isComputed === 1 ? { ...column, optional: true, isComputed: true } : column
  })
  const keys = group(
    rows.filter(([, , , , , key]) => key !== 0).sort((a, b) => Number(a[5]) - Number(b[5])),
    ([, name]) => String(name),
  )
  const indexes = group(await read(indexesSql), ([, name, unique, list, sql]) => ({
    name: String(name),
    unique: unique === 1,
    columns: toIndexColumns(String(list), String(sql)),
    where: /\)\s+where\s+(.*)$/is.exec(String(sql))?.[1],
    create: [String(sql)],
  }))
  const searches = await readSearches(read)
  const foreignKeys = group(await read(foreignKeysSql), (row) => row)
  const views = await readViews(read)
  return new Map(
    [...columns, ...views].map(([name, list]) => [
      name,
      {
        name,
        isForeign: views.has(name),
        hasOwnForm: ownForm.test(sqlOf.get(name) ?? ''),
        columns: new Map(list.map((column) => [column.name, column])),
        indexes: new Map(
          [...(indexes.get(name) ?? []), ...(searches.get(name) ?? [])].map(
            ({ name: index, ...rest }): [string, ActualIndex] => [index, rest],
          ),
        ),
        foreignKeys: toForeignKeys(
          foreignKeys.get(name) ?? [],
          readReferenceNames(sqlOf.get(name)),
        ),
        primaryKey: keys.get(name),
        checks: new Map(readChecks(sqlOf.get(name) ?? '')),
      },
    ]),
  )
}

/** @param list the columns in order, empty for an expression */
function toIndexColumns(list: string, sql: string): string[] {
  const timestamps = timestampColumnsOf(sql)
  return list
    .split(',')
    .map((name) => (name === '' ? timestamps.shift() : name))
    .filter((name) => name !== undefined)
}

/** The beginning of a statement of `writeCreateTable`, which SQLite stores as it was written. */
const ownForm = /^create table "(?:[^"]|"")+" \(\n {2}"/i

/** All rows of a reference have the same number. */
function toForeignKeys(
  rows: readonly Row[],
  names: ReadonlyMap<string, string>,
): ActualForeignKey[] {
  const byNumber = new Map<unknown, Row[]>()
  for (const row of rows) byNumber.set(row[1], [...(byNumber.get(row[1]) ?? []), row])
  return [...byNumber.values()].reverse().map((list) => {
    const columns = list.map(([, , column]) => String(column))
    const foreignColumns = list.map(([, , , , column]) => column)
    const [, , , table, , onDelete] = list[0] as Row
    return {
      columns,
      table: String(table),
      name: names.get(columns.join()),
      foreignColumns: foreignColumns.every(isText) ? foreignColumns : undefined,
      onDelete: String(onDelete).toLowerCase(),
    }
  })
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

/** Reads the names of references from the SQL of the table. @returns names by the columns of the reference */
function readReferenceNames(sql = ''): ReadonlyMap<string, string> {
  const found = sql.matchAll(/\bconstraint\s+"((?:[^"]|"")+)"\s+foreign\s+key\s*\(([^()]*)\)/gi)
  return new Map(
    [...found].map(([, name = '', list = '']) => {
      const columns = [...list.matchAll(/"([^"]+)"/g)].map(([, column]) => column)
      return [columns.join(), name]
    }),
  )
}

type NamedIndex = ActualIndex & { readonly name: string }

/** Search indexes consist of three triggers and one or two tables, all named after the search. */
async function readSearches(
  read: (sql: string) => Promise<readonly Row[]>,
): Promise<Map<string, NamedIndex[]>> {
  const rows = await read(searchesSql)
  const objects = rows.length === 0 ? [] : await read(searchObjectsSql)
  return group(rows, ([table, trigger, sql]) => {
    const name = String(trigger).replace(/_insert$/, '')
    const searchObjects = objects.filter(([object]) => isPartOf(String(object), name))
    const [tables, triggers] = [
      searchObjects.filter(([, kind]) => kind === 'table'),
      searchObjects.filter(([, kind]) => kind === 'trigger'),
    ].map((list) => list.map(([, , text]) => String(text)))
    const create = [
      ...(tables ?? []),
      ...fillStatements(String(sql), String(table)),
      ...(triggers ?? []),
    ]
    return { name, unique: false, columns: [], create }
  })
}

function isPartOf(object: string, search: string): boolean {
  const rest = object.startsWith(search) ? object.slice(search.length) : undefined
  return rest !== undefined && ['', '_keys', '_insert', '_update', '_delete'].includes(rest)
}

/** Statements that do for every row of the table what the trigger does for a new row. */
function fillStatements(trigger: string, table: string): string[] {
  const from = `"${table.replaceAll('"', '""')}"`
  const [, body = ''] = /\bbegin\b(.*)\bend\s*$/is.exec(trigger) ?? []
  return body
    .split(/;\s*\n/)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '')
    .map((statement) =>
      statement
        .replace(/\bvalues \((.*)\)$/s, (_, values: string) => `select ${values} from ${from}`)
        .replaceAll('new.', `${from}.`),
    )
}

/** Reads views one by one, because a view of a deleted table throws. Such views are left out. */
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
          toColumn({ name: column, type, notNull: 0, preset: null, key: 0 }, false),
        ),
      )
    } catch {
      continue
    }
  }
  return views
}

/** `hidden` is 2 or 3 for a computed column, and 1 for a hidden column of a virtual table. */
const columnsSql = `select t.name, c.name, c.type, c."notnull", c.dflt_value, c.pk, c.hidden > 1
  from sqlite_schema t join pragma_table_xinfo(t.name) c
  where t.type = 'table' and t.name not glob 'sqlite_*' and c.hidden <> 1`

const tablesSql = `select name, sql from sqlite_schema where type = 'table'`

const indexesSql = `select t.name, i.name, i."unique", group_concat(coalesce(c.name, '')), s.sql
  from sqlite_schema t join pragma_index_list(t.name) i join pragma_index_info(i.name) c
  join sqlite_schema s on s.type = 'index' and s.name = i.name
  where t.type = 'table' and i.origin = 'c' group by t.name, i.name`

const searchesSql = `select tbl_name, name, sql from sqlite_schema
  where type = 'trigger' and name glob 'filigree_search_*_insert'`

const searchObjectsSql = `select name, type, sql from sqlite_schema
  where name glob 'filigree_search_*' and type in ('table', 'trigger') and sql is not null order by rowid`

const foreignKeysSql = `select t.name, f.id, f."from", f."table", f."to", f.on_delete
  from sqlite_schema t join pragma_foreign_key_list(t.name) f where t.type = 'table' and t.name not glob 'sqlite_*'
  order by t.name, f.id, f.seq`

function toColumn(
  info: Record<'name' | 'type' | 'notNull' | 'preset' | 'key', unknown>,
  increment: boolean,
): ActualColumn {
  const isKey = info.key !== 0
  const nullable = info.notNull === 0 && !isKey
  return {
    name: String(info.name),
    type: String(info.type).toLowerCase(),
    nullable,
    preset: typeof info.preset === 'string' ? readPreset(info.preset) : undefined,
    optional: nullable || info.preset !== null || (isKey && info.type === 'integer'),
    increment,
  }
}

/** SQLite returns a default expression without its outer parentheses. */
function readPreset(text: string): string {
  return /^[\w]+ *\(/.test(text) ? `(${text})` : text
}

/** Reads checks from the SQL of the table. The limit of generated keys has no quotes, so that it is not among them. */
function readChecks(sql: string): [name: string, condition: string][] {
  return [...sql.matchAll(/\bconstraint\s+"((?:[^"]|"")+)"\s+check\s*\(/gi)].map((match) => {
    const start = match.index + match[0].length
    return [(match[1] ?? '').replaceAll('""', '"'), sql.slice(start, closingBracketOf(sql, start))]
  })
}

/** @returns the position of the bracket that closes the one before `start` */
function closingBracketOf(sql: string, start: number): number {
  const tokens = /'(?:[^']|'')*'|"(?:[^"]|"")*"|[()]/g
  tokens.lastIndex = start
  let depth = 1
  for (let token = tokens.exec(sql); token !== null; token = tokens.exec(sql)) {
    if (token[0] === '(') depth++
    if (token[0] === ')' && --depth === 0) return token.index
  }
  return sql.length
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
