/**
 * Full-text search with FTS5. Each record has an index table that three triggers maintain, so that writes of other
 * programs are indexed too. The index stores no copy of the text. If keys are not numbers, another table maps them to
 * numbers, because SQLite may change the rowids of such tables. Source: SQLite, FTS5, Contentless Tables and External
 * Content Tables.
 */
import { unicodeForms } from '../../core/text.js'
import { storedColumnsOf, type KeyedTable, type TableSearch } from '../contract/table.js'
import type { BestMatches, SearchParts, SearchSql } from '../contract/search-sql.js'
import { quote } from '../contract/quote.js'
import { quoteSqliteTable } from './table-name.js'
import { join, name as nameOf, raw, sql, type Sql } from '../contract/sql-text.js'

/** Words consist of letters and digits, and accents are significant, as in the other engines. */
const tokenizer = "unicode61 remove_diacritics 0 categories 'L* Nd'"
const weights = [10, 4, 2, 1] as const

export const sqliteSearch: SearchSql = {
  schema: (table, search) => ({
    name: search.name,
    columns: [],
    over: search.columns.map(({ name }) => name),
    unique: false,
    whereNull: undefined,
    statements: { create: writeCreate(table, search), drop: writeDropSearch(search.name) },
  }),
  drop: writeDropSearch,
  operand: (terms) => terms.map(toQuery).join(' AND '),
  test: (parts) => {
    const { table, alias } = parts
    const { parts: columns } = table.key
    const row = quote(alias)
    const key = columns?.map((column) => raw(`${row}.${quote(column.name)}`))
    const value = key === undefined ? raw(fullKey(table, row)) : sql`(${join(key)})`
    return sql`${value} in (${keysOf(parts)})`
  },
  keys: keysOf,
  testOne: (parts) => {
    const { table, search, alias, value } = parts
    const index = nameOf(search.name)
    const number = nameOf(search.name, 'rowid')
    const key = raw(fullKey(table, quote(alias)))
    if (isKeyNumeric(table))
      return sql`exists (select 1 from ${index} where ${index} match ${value} and ${number} = ${key})`
    const keys = keyTableOf(search.name)
    return sql`exists (select 1 from ${nameOf(keys)} cross join ${index} on ${number} = ${nameOf(keys, 'number')} where ${nameOf(keys, 'key')} = ${key} and ${index} match ${value})`
  },
  some: (parts) => {
    const { table, search, alias, value } = parts
    const [index, keys] = [nameOf(search.name), keyTableOf(search.name)]
    const number = nameOf(search.name, 'rowid')
    const hasNumericKey = isKeyNumeric(table)
    const from = hasNumericKey
      ? index
      : sql`${index} cross join ${nameOf(keys)} on ${nameOf(keys, 'number')} = ${number}`
    const key = hasNumericKey ? number : keyOf(parts)
    const test = sql`${index} match ${value} and ${isKey(table, alias, key)}`
    return { from: sql`${from} cross join `, test, rank: rankOf(search) }
  },
  readsBest: isKeyNumeric,
  rank: (parts, best) => {
    const { table, search, alias } = parts
    const ranked = `${alias}_ranked`
    const found = sql`select ${keyOf(parts)} as filigree_key, ${rankOf(search)} as filigree_rank from ${matches(parts)}`
    const list = sql`(${limitMatches(found, best)}) as ${nameOf(ranked)}`
    return {
      from: sql`${list} cross join `,
      fromAfter: sql` cross join ${list}`,
      test: isKey(table, alias, nameOf(ranked, 'filigree_key')),
      by: sql`${nameOf(ranked, 'filigree_rank')}, `,
    }
  },
}

/** The limit makes SQLite compute the list once instead of searching again for each row of the table. */
function limitMatches(found: Sql, best: BestMatches | undefined): Sql {
  if (best === undefined) return sql`${found} limit -1`
  const { count, maxRanked } = best
  const rankedMatches =
    maxRanked === undefined ? found : sql`select * from (${found} limit ${raw(String(maxRanked))})`
  return sql`${rankedMatches} order by filigree_rank, filigree_key limit ${count}`
}

function keysOf(parts: SearchParts): Sql {
  return sql`select ${join(columnsOfKey(parts.table, keyOf(parts)))} from ${matches(parts)}`
}

/** `Café` → `("Café" OR "Café")`: a word in its two forms of Unicode, because rows may contain either. */
function toQuery(term: string): string {
  const words = unicodeForms(term).map((form) => `"${form}"`)
  return words.length === 1 ? words.join('') : `(${words.join(' OR ')})`
}

function rankOf({ name, columns }: TableSearch): Sql {
  const factors = columns.map((_, position) => weights[position] ?? 1).join(', ')
  return raw(`bm25(${quote(name)}, ${factors})`)
}

function isKeyNumeric({ key }: KeyedTable): boolean {
  return !key.isUuid && key.parts === undefined
}

/** The values of the columns of a key in the index: of a key of several columns, the parts of its JSON. */
function columnsOfKey({ key }: KeyedTable, indexed: Sql): Sql[] {
  if (key.parts === undefined) return [indexed]
  return key.parts.map((_, index) => sql`${indexed} ->> ${raw(String(index))}`)
}

/** Whether the alias's row has a key of the index. */
function isKey(table: KeyedTable, alias: string, indexed: Sql): Sql {
  const { parts } = table.key
  if (parts === undefined) return sql`${indexed} = ${raw(fullKey(table, quote(alias)))}`
  const values = columnsOfKey(table, indexed)
  const tests = parts.map(({ name }, index) => sql`${nameOf(alias, name)} = ${values[index]}`)
  return join(tests, ' and ')
}

/** The key of a row for the key table. UUIDs are unique only within a shard, so the shard is added. */
function fullKey(table: KeyedTable, row: string): string {
  const { key, shard } = table
  if (key.parts !== undefined) {
    const columns = key.parts.map(({ name }) => `${row}.${quote(name)}`)
    return `json_array(${columns.join(', ')})`
  }
  const rowKey = `${row}.${quote(key.name)}`
  return shard === undefined || isKeyNumeric(table)
    ? rowKey
    : `${row}.${quote(shard.name)} || '/' || ${rowKey}`
}

function keyOf({ table, search }: SearchParts): Sql {
  return isKeyNumeric(table) ? raw('rowid') : nameOf(keyTableOf(search.name), 'key')
}

/** The rows that match the search, for `from`. */
function matches({ table, search, value }: SearchParts): Sql {
  const index = nameOf(search.name)
  if (isKeyNumeric(table)) return sql`${index} where ${index} match ${value}`
  const keys = keyTableOf(search.name)
  return sql`${index} cross join ${nameOf(keys)} on ${nameOf(keys, 'number')} = ${nameOf(search.name, 'rowid')} where ${index} match ${value}`
}

function keyTableOf(name: string): string {
  return `${name}_keys`
}

const events = ['insert', 'update', 'delete'] as const

/** Drops the triggers and tables of a search. */
export function writeDropSearch(name: string): string[] {
  return [
    ...events.map((event) => `drop trigger if exists ${quote(`${name}_${event}`)}`),
    `drop table if exists ${quote(name)}`,
    `drop table if exists ${quote(keyTableOf(name))}`,
  ]
}

/**
 * ```sql
 * create virtual table "filigree_search_product_0a1b2c3d" using fts5 (c0, c1, content='', tokenize="…")
 * create trigger "…_insert" after insert on "product" begin
 *   insert into "…" (rowid, c0, c1) values (new."id", new."name", new."text");
 * end
 * insert into "…" (rowid, c0, c1) select "id", "name", "text" from "product"
 * ```
 */
function writeCreate(table: KeyedTable, { name, columns }: TableSearch): string[] {
  const [index, tableName, keys] = [
    quote(name),
    quoteSqliteTable(table.name),
    quote(keyTableOf(name)),
  ]
  const key = quote(table.key.name)
  const hasNumericKey = isKeyNumeric(table)
  const fields = columns.map((_, position) => `c${position}`).join(', ')
  const values = (row: string): string =>
    columns.map((column) => `${row}${quote(column.name)}`).join(', ')
  const number = (row: string): string =>
    hasNumericKey
      ? `${row}.${key}`
      : `(select number from ${keys} where key = ${fullKey(table, row)})`
  const addRow = [
    ...(hasNumericKey ? [] : [`insert into ${keys} (key) values (${fullKey(table, 'new')})`]),
    `insert into ${index} (rowid, ${fields}) values (${number('new')}, ${values('new.')})`,
  ]
  const removeRow = [
    `insert into ${index} (${index}, rowid, ${fields}) values ('delete', ${number('old')}, ${values('old.')})`,
    ...(hasNumericKey ? [] : [`delete from ${keys} where key = ${fullKey(table, 'old')}`]),
  ]
  const trigger = (event: string, when: string, steps: readonly string[]): string =>
    `create trigger ${quote(`${name}_${event}`)} after ${when} on ${tableName} begin\n${steps.map((step) => `  ${step};\n`).join('')}end`
  const shard = table.shard === undefined ? [] : [table.shard]
  const watchedColumns = [...shard, ...storedColumnsOf(table.key), ...columns]
    .map((column) => quote(column.name))
    .join(', ')
  return [
    // A dropped table may have left them behind.
    ...writeDropSearch(name),
    `create virtual table ${index} using fts5 (${fields}, content='', tokenize="${tokenizer}")`,
    ...(hasNumericKey
      ? []
      : [
          `create table ${keys} (number integer primary key, key text not null unique)`,
          `insert into ${keys} (key) select ${fullKey(table, tableName)} from ${tableName}`,
        ]),
    trigger('insert', 'insert', addRow),
    trigger('update', `update of ${watchedColumns}`, [...removeRow, ...addRow]),
    trigger('delete', 'delete', removeRow),
    hasNumericKey
      ? `insert into ${index} (rowid, ${fields}) select ${key}, ${values('')} from ${tableName}`
      : `insert into ${index} (rowid, ${fields}) select k.number, ${values('t.')} from ${tableName} as t inner join ${keys} as k on k.key = ${fullKey(table, 't')}`,
  ]
}
