/** Reads the indexes of a record: from its fields, from `@Record({ indexes })`, and one for every foreign key. */

import type { Problem } from '../../errors/declaration-error.js'
import type { Problems } from '../../errors/problems.js'
import {
  storedColumnsOf,
  type Column,
  type TableIndex,
  type IndexForm,
} from '../../engines/contract/table.js'
import { toIndexName, toFormName } from './generated-names.js'
import type { Table } from './table.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import type { Class } from '../../metadata/class.js'
import { testOf } from './codec.js'
import { indexOptions, type RecordIndex, type RecordOptions } from './record.js'
import { operatorNames, operatorOf } from '../../sql/operators.js'
import { foreignKeysOf } from './read-columns.js'
import { coversAllRows } from '../../sql/table.js'

/** The owner of a name for messages: `the index of Product.name`. */
type Owner = string

/**
 * Reports indexes with the same name, which cannot exist together: `a_b` with the column `c` and `a` with the column
 * `b_c` give the same name.
 */
export function checkIndexNames(tables: ReadonlySet<Table>, problems: Problems): void {
  // SQLite does not distinguish case.
  const owners = new Map<string, Owner>()
  const add = (name: string, owner: Owner): void => {
    const other = owners.get(name.toLowerCase())
    if (other === undefined) owners.set(name.toLowerCase(), owner)
    else problems.add(sameName(name, owner, other))
  }
  const joins = new Map<string, string>()
  for (const { name, type, relations } of tables) {
    owners.set(name.toLowerCase(), `the table of ${type.name}`)
    for (const { join, name: relation } of relations.values()) {
      if (join === undefined || joins.has(join.name)) continue
      const index = toIndexName(join.name, join.to.columns, false)
      joins.set(join.name, index)
      owners.set(join.name.toLowerCase(), `the join table of ${type.name}.${relation}`)
    }
  }
  const listed = listedColumns(tables)
  for (const table of tables)
    for (const { name, columns } of [...table.indexes, ...findMissingIndexes(table, listed)])
      add(name, `the index of ${table.type.name} over ${columns.map(toProperty).join(', ')}`)
  for (const [name, index] of joins) add(index, `the index of the join table ${name}`)
}

const toProperty = ({ property }: Column): string => property

function sameName(name: string, owner: Owner, other: Owner): Problem {
  return {
    code: 'RECORD_INDEX',
    message: `${upperFirst(owner)} and ${other} would both be called "${name}" in the database.`,
    remedy: "Name another column, { column: '…' }, or another table, @Record({ table: '…' }).",
  }
}

function upperFirst(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`
}

/** The columns of foreign keys, by the first column of each. */
export type ListedKeys = ReadonlyMap<Column, readonly (readonly Column[])[]>

/** The foreign keys of all `@HasMany`. */
export function listedColumns(tables: Iterable<Table>): ListedKeys {
  const foreignKeys = new Set<Column>()
  for (const { relations } of tables)
    for (const { kind, foreign } of relations.values())
      if (kind === 'hasMany') foreignKeys.add(foreign)
  const listed = new Map<Column, (readonly Column[])[]>()
  for (const foreign of foreignKeys) {
    const stored = storedColumnsOf(foreign)
    const [first = foreign] = stored
    listed.set(first, [...(listed.get(first) ?? []), stored])
  }
  return listed
}

/** The indexes of foreign keys that are plain fields, because the record has no `@BelongsTo`. */
export function findMissingIndexes(
  { name, key, columns, indexes }: Table,
  listed: ListedKeys,
): TableIndex[] {
  return columns
    .flatMap((column) => listed.get(column) ?? [])
    .filter((foreign) => needsIndex(foreign, key))
    .filter((foreign) => !indexes.some((index) => beginsWith(index.columns, foreign)))
    .map((foreign) => toForeignIndex(name, foreign, key))
}

function positionOf([first]: readonly Column[], columns: readonly Column[]): number {
  return first === undefined ? -1 : columns.indexOf(first)
}

/** Whether a foreign key needs an index of its own: the primary key does not begin with it. */
function needsIndex(foreign: readonly Column[], { parts }: Column): boolean {
  const isRefused = foreign.every(({ field }) => field.rules.index === false)
  return !isRefused && (parts === undefined || !beginsWith(parts, foreign))
}

function beginsWith(columns: readonly Column[], first: readonly Column[]): boolean {
  return first.every((column, position) => column === columns[position])
}

interface IndexSource {
  readonly type: Class
  /** The table's name. */
  readonly name: string
  readonly options: Readonly<RecordOptions>
  readonly key: Column
  /** The shard field, within which values are unique. */
  readonly shard: Column | undefined
  readonly columns: readonly Column[]
}

/** @returns a frozen list */
export function readIndexes(source: IndexSource, problems: Problems): readonly TableIndex[] {
  const { options, key } = source
  const indexes = readFieldIndexes(source, problems)
  const declared = (options.indexes ?? []).map((index) =>
    readDeclaredIndex(source, index, problems),
  )
  for (const index of declared) {
    if (index !== undefined && !indexes.some((existing) => isSameIndex(existing, index)))
      indexes.push(index)
  }
  for (const foreign of foreignColumns(source)) {
    if (!needsIndex(foreign, key)) continue
    // An index does not help for its later columns alone, or for rows that it leaves out.
    const isIndexed = indexes.some(
      (index) => beginsWith(index.columns, foreign) && coversAllRows(index),
    )
    if (!isIndexed) indexes.push(toForeignIndex(source.name, foreign, key))
  }
  return Object.freeze(indexes.map((index) => Object.freeze(index)))
}

/**
 * Whether the first index makes the second one unnecessary. `checkIndexNames` reports indexes that differ but have one
 * name.
 */
function isSameIndex(first: TableIndex, second: TableIndex): boolean {
  return (
    first.name === second.name &&
    // The index of a foreign key ends with the primary key.
    (first.columns.length === second.columns.length || !first.unique) &&
    second.columns.every((column, position) => column === first.columns[position]) &&
    JSON.stringify(first.form) === JSON.stringify(second.form)
  )
}

/**
 * The index of a foreign key ends with the primary key, so that the first rows of a parent are read without sorting.
 */
function toForeignIndex(table: string, foreign: readonly Column[], key: Column): TableIndex {
  const columns = [...new Set([...foreign, ...storedColumnsOf(key)])]
  const names = foreign.map(({ name }) => name)
  return { name: toIndexName(table, names, false), columns, unique: false }
}

/** The indexes that fields declare, each for one field or for a named group of fields. */
function readFieldIndexes({ type, name, key, shard, columns }: IndexSource, problems: Problems) {
  const groups = new Map<string, { unique: boolean; columns: Column[] }>()
  const add = (column: Column, unique: boolean, rule: boolean | string | undefined): void => {
    if (rule === undefined || rule === false || column.isKey) return
    if (column.storage === 'json') {
      const message = `${type.name}.${column.property}: a list or JSON value cannot be ${unique ? 'unique' : 'indexed'}.`
      problems.add(problem(message, 'Remove the rule.'))
      return
    }
    const group = typeof rule === 'string' ? `:${rule}` : column.name
    const existing = groups.get(`${unique}${group}`)
    if (existing === undefined) groups.set(`${unique}${group}`, { unique, columns: [column] })
    else existing.columns.push(column)
  }
  for (const column of columns) {
    const { unique, index } = column.field.rules
    add(column, true, unique)
    add(column, false, index)
  }
  const foreignKeys = new Set(
    foreignColumns({ type, columns }).flatMap((foreign) => (foreign.length === 1 ? foreign : [])),
  )
  return [...groups.values()].map((group): TableIndex => {
    const [first, second] = group.columns
    if (first !== undefined && second === undefined && !group.unique)
      if (foreignKeys.has(first)) return toForeignIndex(name, [first], key)
    if (group.unique && shard !== undefined)
      group.columns = [shard, ...group.columns.filter((column) => column !== shard)]
    const names = group.columns.map((column) => column.name)
    return { ...group, name: toIndexName(name, names, group.unique) }
  })
}

function readDeclaredIndex(
  source: IndexSource,
  index: RecordIndex,
  problems: Problems,
): TableIndex | undefined {
  const where = `@Record of ${source.type.name}: an index`
  const before = problems.count
  problems.addAll(indexOptions.findProblems(index, where))
  if (!isIndex(index)) {
    const fix = "Write { fields: ['status', '-createdAt'] }."
    problems.add(problem(`${where} has no list of fields.`, fix))
    return undefined
  }
  const terms = index.fields.flatMap((field) => readTerms(source, where, field, problems))
  if (index.fields.length === 0)
    problems.add(problem(`${where} has no fields.`, "Write fields: ['name']."))
  const like = index.like === true
  if (like && terms.some(({ column, order }) => column.compares !== 'text' || order.descending)) {
    const message = `${where} with "like" takes text fields only, without an order.`
    problems.add(problem(message, 'Declare another index for the other fields.'))
  }
  if (like && index.unique === true)
    problems.add(problem(`${where} is both unique and "like".`, 'Declare two indexes.'))
  if (index.unique === true && source.shard !== undefined)
    checkShard(source, where, source.shard, terms, problems)
  checkRows(source, where, index.where ?? {}, problems)
  if (problems.count > before) return undefined
  const columns = terms.map(({ column }) => column)
  const orders = terms.map(({ order }) => order)
  const form = { orders, where: index.where, like }
  const names = columns.map(({ name }) => name)
  const unique = index.unique === true
  const isPlain = orders.every(isAscending) && index.where === undefined && !like
  return isPlain
    ? { name: toIndexName(source.name, names, unique), columns, unique }
    : { name: toFormName(source.name, names, form, unique), columns, unique, form }
}

/** Values can be unique only within a shard, because each machine has only its own rows. */
function checkShard(
  { type }: IndexSource,
  where: string,
  { property }: Column,
  terms: readonly IndexTerm[],
  problems: Problems,
): void {
  const names = terms.map(({ column }) => column.property)
  if (names.length === 0 || names.includes(property)) return
  const message = `${where} is unique over ${names.join(', ')}, but values can only be unique within ${property}, by which ${type.name} is sharded.`
  const fields = [property, ...names].map((name) => `'${name}'`).join(', ')
  problems.add(problem(message, `Write fields: [${fields}].`))
}

/** JavaScript programs may pass a value of any type. */
function isIndex(declared: Partial<RecordIndex> | null | undefined): declared is RecordIndex {
  const fields: unknown = declared?.fields
  if (!Array.isArray(fields)) return false
  return fields.every(
    (field) => typeof field === 'string' || (typeof field === 'object' && field !== null),
  )
}

interface IndexTerm {
  readonly column: Column
  readonly order: IndexForm['orders'][number]
}

function isAscending({ descending, nullsFirst }: IndexTerm['order']): boolean {
  return !descending && !nullsFirst
}

/** `'-createdAt'`, or `{ createdAt: 'desc' }` as in `orderBy`. */
function readTerms(
  source: IndexSource,
  where: string,
  field: RecordIndex['fields'][number],
  problems: Problems,
): IndexTerm[] {
  const terms: [name: string, order: unknown][] =
    typeof field !== 'string'
      ? Object.entries(field)
      : field.startsWith('-')
        ? [[field.slice(1), 'desc']]
        : [[field, 'asc']]
  return terms.flatMap(([name, order]) => {
    const column = columnOf(source, where, name, problems)
    if (column === undefined) return []
    const { direction = 'asc', nulls = 'last' } = (
      typeof order === 'string' ? { direction: order } : order
    ) as { direction?: string; nulls?: string }
    if (!['asc', 'desc'].includes(direction) || !['first', 'last'].includes(nulls)) {
      const fix = `Write '${name}', '-${name}', or { ${name}: { direction: 'desc', nulls: 'first' } }.`
      problems.add(problem(`${where}: the order of "${name}" is invalid.`, fix))
    }
    const nullsFirst = column.nullable && nulls === 'first'
    return [{ column, order: { descending: direction === 'desc', nullsFirst } }]
  })
}

function columnOf(
  { columns }: IndexSource,
  where: string,
  name: string,
  problems: Problems,
): Column | undefined {
  const column = columns.find(({ property }) => property === name)
  if (column !== undefined && column.storage !== 'json') return column
  const names = columns.filter(({ storage }) => storage !== 'json').map(({ property }) => property)
  problems.add(
    column === undefined
      ? problem(`${where}: there is no field "${name}".`, didYouMean(name, names))
      : problem(`${where}: "${name}" is a list or JSON value.`, 'Remove it.'),
  )
  return undefined
}

/** The operators that the condition of a partial index may use. */
const rowTests: ReadonlySet<string> = new Set(
  operatorNames.filter((name) => ['value', 'list', 'flag'].includes(operatorOf(name).operand)),
)

function checkRows(
  source: IndexSource,
  where: string,
  rows: Readonly<Record<string, unknown>>,
  problems: Problems,
): void {
  for (const [name, test] of Object.entries(rows)) {
    const column = columnOf(source, `${where}: where`, name, problems)
    if (column === undefined) continue
    const takes = testOf(column.field.entry)
    for (const [operator, operand] of testsOf(test)) {
      const values: readonly unknown[] = Array.isArray(operand) ? operand : [operand]
      const isFit =
        operator === 'isNull'
          ? typeof operand === 'boolean'
          : Array.isArray(operand) === (operator === 'in') &&
            values.length > 0 &&
            values.every((value) => (value === null && operator === 'eq') || takes(value))
      if (rowTests.has(operator) && isFit) continue
      const message = `${where}: "${operator}" of "${name}" in "where" is not a condition that an index can have.`
      const fix = `Write a value, or one of ${[...rowTests].join(', ')} with values of the field's kind.`
      problems.add(problem(message, fix))
    }
  }
}

/** The conditions on one field of a partial index. `true` means `{ eq: true }`. */
export function testsOf(test: unknown): [operator: string, operand: unknown][] {
  const isValue = typeof test !== 'object' || test === null || test instanceof Date
  return isValue ? [['eq', test]] : Object.entries(test)
}

/** The columns of the foreign keys of `@BelongsTo`, in the order of the columns. */
function foreignColumns({ type, columns }: Pick<IndexSource, 'type' | 'columns'>): Column[][] {
  return foreignKeysOf(type)
    .map((names) => names.flatMap((name) => columns.filter(({ property }) => property === name)))
    .filter((foreign) => foreign.length > 0)
    .sort((one, other) => positionOf(one, columns) - positionOf(other, columns))
}

function problem(message: string, fix: string): Problem {
  return { code: 'RECORD_INDEX', message, remedy: fix }
}
