/**
 * Generated names: of tables, columns, indexes and constraints, which fit PostgreSQL's 63 bytes, and English plurals for
 * queries and inputs. Source: decisions, Records: queries.
 */
import { createHash } from 'node:crypto'
import {
  searchIndexPrefix,
  unnameableColumns,
  type IndexForm,
} from '../../engines/contract/table.js'
import { nameInSchema, schemaOf } from '../../engines/contract/quote.js'
import { createRequire } from 'node:module'

/** `categoryId` → `category_id`, `HTTPServer` → `http_server`, `address2` → `address2`. */
export function toSnakeCase(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()
}

/** The column of a field, in snake_case. Fields named `true` and `false` get `true_value` and `false_value`. */
export function toColumnName(field: string): string {
  const name = toSnakeCase(field)
  return unnameableColumns.has(name) ? `${name}_value` : name
}

/** True for names that all engines accept unchanged. */
export function isSqlName(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(name)
}

/** True for names of columns that statements can quote: also with spaces and hyphens. */
export function isColumnSqlName(name: string): boolean {
  return /^[A-Za-z0-9_][A-Za-z0-9_ -]{0,62}$/.test(name) && !name.endsWith(' ')
}

/** The name of a table with its schema, `billing.orders`. Statements quote both parts. */
export function toTableName(schema: string | undefined, table: string): string {
  return schema === undefined ? table : `${schema}.${table}`
}

/** `order_tag`: the default name of a join table. It is in the schema of its first table with one. */
export function toJoinName(table: string, target: string): string {
  const ends = [table, target].sort()
  const [schema] = ends.flatMap((end) => schemaOf(end) ?? [])
  return toTableName(schema, ends.map(nameInSchema).sort().join('_'))
}

/** `product_name_key`; a name over 63 bytes is cut and ends with a hash of the full name. */
export function toIndexName(table: string, columns: readonly string[], unique: boolean): string {
  return toShortName(`${toNamePart(table)}_${columns.join('_')}_${unique ? 'key' : 'index'}`)
}

/** `product_category_id_fkey`, shortened in the same way. @param column names of several columns are separated by commas */
export function toConstraintName(table: string, column: string): string {
  return toShortName(`${toNamePart(table)}_${column.replaceAll(',', '_')}_fkey`)
}

/** `product_pkey`, as PostgreSQL names and cuts it. */
export function toKeyName(table: string): string {
  return `${nameInSchema(table).slice(0, 58)}_pkey`
}

/**
 * Finds what a constraint's name in an error means. On shards and partitions names end with a number,
 * `product_name_key_102008`, and Citus cuts long ones: `product_na_0a1b2c3d_102008`. Source: Citus, shard_name.c.
 */
export function findByConstraint<T>(
  items: Iterable<T>,
  nameOf: (item: T) => string,
  constraint: string | undefined,
): T | undefined {
  if (constraint === undefined) return undefined
  const all = [...items]
  const exact = all.find((item) => nameOf(item) === constraint)
  if (exact !== undefined) return exact
  const similar = all.filter((item) => isNumbered(constraint, nameOf(item)))
  return similar.length === 1 ? similar[0] : undefined
}

function isNumbered(constraint: string, name: string): boolean {
  if (constraint.startsWith(name)) return /^_?\d+$/.test(constraint.slice(name.length))
  const [, start] = /^(.+)_[0-9a-f]{8}_\d+$/.exec(constraint) ?? []
  return start !== undefined && name.length >= minCutLength && name.startsWith(start)
}

/** Citus cuts names of 56 or more bytes for shard numbers of six digits. Longer numbers leave less. */
const minCutLength = 44

/** Whether an index has the name that a field or `@Record({ indexes })` would give it. */
export function isOwnIndexName(
  name: string,
  table: string,
  { columns, unique }: { readonly columns: readonly string[]; readonly unique: boolean },
): boolean {
  // Indexes of foreign keys contain more columns than their names say.
  const isPlain = columns.some(
    (_, position) => name === toIndexName(table, columns.slice(0, position + 1), unique),
  )
  if (isPlain) return true
  const form = /(?:_desc|_nulls_first|_like|_where_[0-9a-f]{8})_(?:\w+_)?(?:key|index)$/
  return name.startsWith(`${toNamePart(table)}_${columns[0] ?? ''}`) && form.test(name)
}

/** The name of the check that rejects nulls while a column becomes required: `product_price_not_null`. */
export function toNotNullName(table: string, column: string): string {
  return toShortName(`${toNamePart(table)}_${column}_not_null`)
}

/** The name contains the form of the index, so that indexes with the same name have the same form. */
export function toFormName(
  table: string,
  columns: readonly string[],
  { orders, where, like }: IndexForm,
  unique: boolean,
): string {
  const parts = columns.map((column, position) => {
    const order = orders[position]
    const nulls = order?.nullsFirst === true ? '_nulls_first' : ''
    return `${column}${order?.descending === true ? '_desc' : ''}${nulls}`
  })
  const form = like ? '_like' : ''
  const rows = where === undefined ? '' : `_where_${toHash(JSON.stringify(where))}`
  return toShortName(
    `${toNamePart(table)}_${parts.join('_')}${form}${rows}_${unique ? 'key' : 'index'}`,
  )
}

/** Change it with the SQL of search indexes, so that existing ones are made again. */
const searchForm = 2

/** `filigree_search_product_0a1b2c3d`: contains a hash of its columns and its form, so that others get another name. */
export function toSearchName(table: string, columns: readonly string[]): string {
  const hash = toHash([table, ...columns, searchForm].join())
  return `${searchIndexPrefix}${toNamePart(table).slice(0, 38)}_${hash}`
}

/** `product_price_check_0a1b2c3d`: contains a hash of its rule, so that another rule gets another name. */
export function toCheckName(table: string, column: string, rule: string): string {
  return `${toCheckStart(table, column)}${toHash(rule)}`
}

/** Whether a constraint is a check made from this field's rules, current or former. */
export function isCheckOf(name: string, table: string, column: string): boolean {
  const start = toCheckStart(table, column)
  return name.startsWith(start) && /^[0-9a-f]{8}$/.test(name.slice(start.length))
}

/** @returns the check's name after a rename of its table or column; `undefined` if it is not a check of that column */
export function renameCheck(
  name: string,
  [table, column]: readonly [table: string, column: string],
  [newTable, newColumn]: readonly [table: string, column: string],
): string | undefined {
  if (!isCheckOf(name, table, column)) return undefined
  return `${toCheckStart(newTable, newColumn)}${name.slice(-8)}`
}

function toCheckStart(table: string, column: string): string {
  const start = `${toNamePart(table)}_${column}`
  return `${start.length <= 48 ? start : `${start.slice(0, 39)}_${toHash(start)}`}_check_`
}

/** `billing.orders` → `billing_orders` */
function toNamePart(table: string): string {
  return table.replace('.', '_')
}

function toShortName(name: string): string {
  if (name.length <= 63) return name
  return `${name.slice(0, 54)}_${toHash(name)}`
}

function toHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8)
}

/** The part of the package `pluralize` that is used. */
interface Pluralize {
  (word: string): string
  singular(word: string): string
}

let library: Pluralize | undefined

function pluralize(): Pluralize {
  library ??= createRequire(import.meta.url)('pluralize') as Pluralize
  return library
}

export function toPlural(word: string): string {
  return pluralize()(word)
}

export function toSingular(word: string): string {
  return pluralize().singular(word)
}

/** The input field for the keys of a many-to-many relation: `tags` gives `tagIds`. */
export function idsName(relation: string): string {
  return `${pluralize().singular(relation)}Ids`
}
