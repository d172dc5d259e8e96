/**
 * Searches with SQLite's FTS5: an index table for each record, which three triggers maintain, so that writes of other
 * programs are indexed too. It stores no copy of the text. If keys are not numbers, a third table maps them to numbers,
 * because SQLite may change the row numbers of such tables. Source: SQLite, FTS5, Contentless Tables and External
 * Content Tables.
 */
import type { KeyedTable, TableSearch } from '../contract/table.js'
import { quote } from '../contract/ddl.js'
import type { SearchParts, SearchSql } from '../contract/search-sql.js'
import { name as nameOf, raw, sql, type Sql } from '../contract/sql-text.js'

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
    made: { create: writeCreate(table, search), drop: writeDropSearch(search.name) },
  }),
  drop: writeDropSearch,
  operand: (words) => words.map((word) => `"${word}"`).join(' '),
  test: (parts) => {
    const { table, alias } = parts
    return sql`${raw(fullKey(table, quote(alias)))} in (select ${keyOf(parts)} from ${found(parts)})`
  },
  some: (parts) => {
    const { table, search, alias, value } = parts
    const [words, keys] = [nameOf(search.name), toKeys(search.name)]
    const number = nameOf(search.name, 'rowid')
    const isPlain = isNumbered(table)
    const from = isPlain
      ? words
      : sql`${words} cross join ${nameOf(keys)} on ${nameOf(keys, 'number')} = ${number}`
    const key = isPlain ? number : keyOf(parts)
    const test = sql`${words} match ${value} and ${key} = ${raw(fullKey(table, quote(alias)))}`
    return { from: sql`${from} cross join `, test, rank: rankOf(search) }
  },
  rank: (parts) => {
    const { table, search, alias } = parts
    const ranked = `${alias}_ranked`
    const rank = rankOf(search)
    // The limit makes SQLite compute the list once, instead of searching again for each row of the table.
    const list = sql`(select ${keyOf(parts)} as filigree_key, ${rank} as filigree_rank from ${found(parts)} limit -1) as ${nameOf(ranked)}`
    return {
      from: sql`${list} cross join `,
      behind: sql` cross join ${list}`,
      test: sql`${nameOf(ranked, 'filigree_key')} = ${raw(fullKey(table, quote(alias)))}`,
      by: sql`${nameOf(ranked, 'filigree_rank')}, `,
    }
  },
}

function rankOf({ name, columns }: TableSearch): Sql {
  const factors = columns.map((_, place) => weights[place] ?? 1).join(', ')
  return raw(`bm25(${quote(name)}, ${factors})`)
}

function isNumbered({ key }: KeyedTable): boolean {
  return !key.isUuid
}

/** Other keys than numbers may be the same in two shards. */
function fullKey(table: KeyedTable, row: string): string {
  const { key, shard } = table
  const own = `${row}.${quote(key.name)}`
  return shard === undefined || isNumbered(table)
    ? own
    : `${row}.${quote(shard.name)} || '/' || ${own}`
}

function keyOf({ table, search }: SearchParts): Sql {
  return isNumbered(table) ? raw('rowid') : nameOf(toKeys(search.name), 'key')
}

/** The rows that contain the words, for `from`. */
function found({ table, search, value }: SearchParts): Sql {
  const words = nameOf(search.name)
  if (isNumbered(table)) return sql`${words} where ${words} match ${value}`
  const keys = toKeys(search.name)
  return sql`${words} cross join ${nameOf(keys)} on ${nameOf(keys, 'number')} = ${nameOf(search.name, 'rowid')} where ${words} match ${value}`
}

function toKeys(name: string): string {
  return `${name}_keys`
}

const events = ['insert', 'update', 'delete'] as const

/** Drops everything that was made for a search; all of it is named after the search. */
export function writeDropSearch(name: string): string[] {
  return [
    ...events.map((event) => `drop trigger if exists ${quote(`${name}_${event}`)}`),
    `drop table if exists ${quote(name)}`,
    `drop table if exists ${quote(toKeys(name))}`,
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
  const [words, on, keys] = [quote(name), quote(table.name), quote(toKeys(name))]
  const key = quote(table.key.name)
  const isPlain = isNumbered(table)
  const fields = columns.map((_, place) => `c${place}`).join(', ')
  const values = (row: string): string =>
    columns.map((column) => `${row}${quote(column.name)}`).join(', ')
  const number = (row: string): string =>
    isPlain ? `${row}.${key}` : `(select number from ${keys} where key = ${fullKey(table, row)})`
  const enter = [
    ...(isPlain ? [] : [`insert into ${keys} (key) values (${fullKey(table, 'new')})`]),
    `insert into ${words} (rowid, ${fields}) values (${number('new')}, ${values('new.')})`,
  ]
  const leave = [
    `insert into ${words} (${words}, rowid, ${fields}) values ('delete', ${number('old')}, ${values('old.')})`,
    ...(isPlain ? [] : [`delete from ${keys} where key = ${fullKey(table, 'old')}`]),
  ]
  const trigger = (event: string, when: string, steps: readonly string[]): string =>
    `create trigger ${quote(`${name}_${event}`)} after ${when} on ${on} begin\n${steps.map((step) => `  ${step};\n`).join('')}end`
  const shard = table.shard === undefined ? [] : [table.shard]
  const watched = [...shard, table.key, ...columns].map((column) => quote(column.name)).join(', ')
  return [
    // Remains of a table that was dropped.
    ...writeDropSearch(name),
    `create virtual table ${words} using fts5 (${fields}, content='', tokenize="${tokenizer}")`,
    ...(isPlain
      ? []
      : [
          `create table ${keys} (number integer primary key, key text not null unique)`,
          `insert into ${keys} (key) select ${fullKey(table, on)} from ${on}`,
        ]),
    trigger('insert', 'insert', enter),
    trigger('update', `update of ${watched}`, [...leave, ...enter]),
    trigger('delete', 'delete', leave),
    isPlain
      ? `insert into ${words} (rowid, ${fields}) select ${key}, ${values('')} from ${on}`
      : `insert into ${words} (rowid, ${fields}) select k.number, ${values('t.')} from ${on} as t inner join ${keys} as k on k.key = ${fullKey(table, 't')}`,
  ]
}
