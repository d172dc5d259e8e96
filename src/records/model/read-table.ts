/** Reads record classes as tables, and collects their problems. `table.ts` describes the result. */

import type { Problem } from '../../errors/declaration-error.js'
import { Problems } from '../../errors/problems.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import type { Class } from '../../metadata/class.js'
import { toSearchName } from './generated-names.js'
import { type RecordOptions, addedRecordsOf } from './record.js'
import { relationMetadataOf } from './relations.js'
import type { Column, TableSearch } from '../../engines/contract/table.js'
import { checkIndexNames, readIndexes } from './read-indexes.js'
import { checkUniqueIndexes, readPartitions } from './partitions.js'
import { readColumns, readConstraints } from './read-columns.js'
import { readRelations, readShard } from './read-relations.js'
import type { Relation, Table } from './table.js'
import { readHooks } from './write-hooks.js'

/** The input for reading `@Record({ search })`. */
interface SearchSource {
  readonly type: Class
  /** The table's name. */
  readonly name: string
  readonly options: Readonly<RecordOptions>
  readonly columns: readonly Column[]
}

/** Reads the option `search`. Hidden fields are left out, so that clients cannot find rows by their values. */
function readSearch(source: SearchSource, problems: Problems): TableSearch | undefined {
  const searchOption: unknown = source.options.search
  if (searchOption === undefined) return undefined
  const where = `@Record of ${source.type.name}: search`
  if (!Array.isArray(searchOption) || searchOption.length === 0) {
    problems.add(problem(`${where} has no fields.`, "Write search: ['name'], or leave it out."))
    return undefined
  }
  const before = problems.count
  for (const name of namesOf(source))
    if (/^_*search$/i.test(name)) {
      const message = `${source.type.name}.${name}: the record has the option search, whose filter has this name.`
      problems.add(problem(message, 'Rename the field, or leave the option search out.'))
    }
  const columns = searchOption.flatMap((name: unknown) => readColumn(source, where, name, problems))
  if (problems.count > before) return undefined
  const visibleColumns = [...new Set(columns)].filter(({ field }) => !field.hidden)
  if (visibleColumns.length === 0) {
    const fix = 'Name a field that is not hidden, or leave the option out.'
    problems.add(problem(`${where} names hidden fields only, which are never searched.`, fix))
    return undefined
  }
  const name = toSearchName(
    source.name,
    visibleColumns.map((column) => column.name),
  )
  return Object.freeze({ name, columns: Object.freeze(visibleColumns) })
}

function namesOf({ type, columns }: SearchSource): string[] {
  return [...columns.map(({ property }) => property), ...relationMetadataOf(type).keys()]
}

function readColumn(
  { columns }: SearchSource,
  where: string,
  name: unknown,
  problems: Problems,
): Column[] {
  const texts = columns.filter(isText)
  const column = columns.find(({ property }) => property === name)
  if (column !== undefined && isText(column)) return [column]
  const names = texts.map(({ property }) => property)
  const text = String(name)
  problems.add(
    column === undefined
      ? problem(`${where}: there is no field "${text}".`, didYouMean(text, names))
      : problem(
          `${where}: "${text}" is not a text field.`,
          `The text fields are: ${names.join(', ') || 'none'}.`,
        ),
  )
  return []
}

function isText({ storage, compares }: Column): boolean {
  return storage === 'text' && compares === 'text'
}

function problem(message: string, fix: string): Problem {
  return { code: 'RECORD_SEARCH', message, remedy: fix }
}

interface TableReading {
  readonly table: Table | undefined
  readonly problems: Problems
  /** The `relations` of the table, which are added after the related tables are read. */
  readonly relations: Map<string, Relation>
  relationsRead: boolean
}

const readings = new WeakMap<Class, TableReading>()

/**
 * Reads a record class. Always returns the same object for a class.
 *
 * @param problems receives the problems of the class and of all related records, each once
 * @returns `undefined` if no table can be made: no `@Record`, no key
 */
export function readTable<T extends object>(
  type: Class<T>,
  problems: Problems,
): Table<T> | undefined {
  const visited = new Set<TableReading>()
  const { table } = readWithRelations(type, visited)
  addProblems(visited, problems)
  return table as Table<T> | undefined
}

function addProblems(readings: ReadonlySet<TableReading>, problems: Problems): void {
  for (const reading of readings) problems.addAll(reading.problems.list)
}

/**
 * Reads several records and all records that their relations lead to, and reports records with the same table.
 *
 * @param options `withAddedRecords`: also reads the records that packages add to these records. Default true
 * @returns every table once: first the tables of `types`, then the tables that only relations lead to
 */
export function readTables(
  types: readonly Class[],
  problems: Problems,
  { withAddedRecords = true }: { readonly withAddedRecords?: boolean } = {},
): Table[] {
  const tables = new Set<Table>()
  const visited = new Set<TableReading>()
  const add = (type: Class): void => {
    const { table } = readWithRelations(type, visited)
    if (table === undefined || tables.has(table)) return
    tables.add(table)
    for (const { target } of table.relations.values()) add(target.type)
    if (withAddedRecords) addedRecordsOf(type).forEach(add)
  }
  types.forEach(add)
  addProblems(visited, problems)
  const names = new Map<string, Table>()
  for (const table of tables) {
    const other = names.get(table.name.toLowerCase())
    if (other === undefined) names.set(table.name.toLowerCase(), table)
    else problems.add(duplicateTable(table, other))
  }
  checkJoins(tables, names, problems)
  checkIndexNames(tables, problems)
  return [...tables]
}

/** A join table may contain only the links of one relation, which both of its sides declare. */
function checkJoins(
  tables: ReadonlySet<Table>,
  byName: ReadonlyMap<string, Table>,
  problems: Problems,
): void {
  const first = new Map<string, Relation>()
  for (const { relations } of tables) {
    for (const relation of relations.values()) {
      const { join, table, name } = relation
      if (join === undefined) continue
      const key = join.name.toLowerCase()
      const owner = byName.get(key)
      const other = first.get(key)
      if (other === undefined) first.set(key, relation)
      const holder =
        owner !== undefined
          ? `the record ${owner.type.name} is stored in it`
          : other !== undefined && linksOf(other) !== linksOf(relation)
            ? `${other.table.type.name}.${other.name} stores other links in it`
            : undefined
      if (holder === undefined) continue
      problems.add({
        code: 'RELATION_JOIN',
        message: `${table.type.name}.${name}: "${join.name}" cannot be its join table, because ${holder}.`,
        remedy:
          owner === undefined
            ? "Name another table: { through: '…' }."
            : `Name another table: { through: '…' }, or write @HasMany(() => ${owner.type.name}) on both sides.`,
      })
    }
  }
}

/** The columns of a join table, each with the record that it refers to. Both sides of a relation give the same text. */
function linksOf({ join, table, target }: Relation): string {
  const ends = [
    `${join?.from.columns.join(' ') ?? ''} ${table.name}`,
    `${join?.to.columns.join(' ') ?? ''} ${target.name}`,
  ]
  return ends.sort().join()
}

function duplicateTable(table: Table, other: Table): Problem {
  return {
    code: 'RECORD_TABLE_TWICE',
    message: `${table.type.name} and ${other.type.name} are both stored in the table "${table.name}".`,
    remedy: `Name another: @Record({ table: '…' }) before class ${table.type.name}.`,
  }
}

function readWithRelations(type: Class, visited: Set<TableReading>): TableReading {
  const reading = readWithoutRelations(type)
  if (visited.has(reading)) return reading
  visited.add(reading)
  const { table, problems, relations } = reading
  if (table === undefined) return reading
  if (!reading.relationsRead) {
    // Set before the targets are read, which may lead back here.
    reading.relationsRead = true
    const found = readRelations(table, (other) => readWithoutRelations(other).table, problems)
    for (const relation of found) relations.set(relation.name, relation)
  }
  for (const { target } of relations.values()) readWithRelations(target.type, visited)
  return reading
}

/** Reads the table without its relations, which need the tables on their other sides. */
function readWithoutRelations(type: Class): TableReading {
  const cachedReading = readings.get(type)
  if (cachedReading !== undefined) return cachedReading
  const problems = new Problems()
  const relations = new Map<string, Relation>()
  const table = createTable(type, relations, problems)
  const reading: TableReading = { table, problems, relations, relationsRead: false }
  readings.set(type, reading)
  return reading
}

function createTable(
  type: Class,
  relations: ReadonlyMap<string, Relation>,
  problems: Problems,
): Table | undefined {
  const read = readColumns(type, problems)
  if (read === undefined) return undefined
  const { name, options, shape, key, columns } = read
  const shard = readShard({ type, options, key, columns }, problems)
  const partitions = readPartitions({ type, name, options, key, columns }, problems)
  const indexes = readIndexes({ type, name, options, key, shard, columns }, problems)
  if (partitions !== undefined) checkUniqueIndexes(type, partitions, indexes, problems)
  const byProperty = new Map(columns.map((column) => [column.property, column]))
  const hooks = readHooks(type)
  return Object.freeze({
    type,
    name,
    options,
    shape,
    key,
    shard,
    partitions,
    columns,
    byProperty,
    writtenColumns: columns.filter(({ isComputed }) => !isComputed),
    indexes,
    search: readSearch({ type, name, options, columns }, problems),
    constraints: readConstraints({ type, options, columns }, problems),
    relations,
    deletedAt: options.softDelete === true ? byProperty.get('deletedAt') : undefined,
    updatedAt: options.timestamps === true ? byProperty.get('updatedAt') : undefined,
    version: options.version === true ? byProperty.get('version') : undefined,
    hooks,
    hasWriteHooks:
      hooks.beforeWrite.length + hooks.afterWrite.length + hooks.afterCommit.length > 0,
    hasDeleteHooks: hooks.beforeDelete.length + hooks.afterDelete.length > 0,
  })
}
