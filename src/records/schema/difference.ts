/** Finds the differences between the database and the records, and writes the SQL that removes them. */
import {
  referringColumn,
  toForeignKey,
  writeCreateSchema,
  writeCreateTable,
  writeFirstPartitions,
  writeIndex,
} from '../../engines/contract/ddl.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import { quoteTable, schemaOf } from '../../engines/contract/quote.js'
import type { ActualTable, Catalogue, TableSchema } from '../../engines/contract/table-schema.js'
import { compareColumns, compareForeign } from './column-differences.js'
import { isOwnTable } from './constraint-differences.js'
import { type Difference, type TablePair, withoutChange } from './difference-kinds.js'
import { findDistributionChanges } from './distribution-differences.js'
import {
  compareForeignKeys,
  findStaleKeys,
  type MadeParts,
  missingKeys,
  staleForeignKeys,
} from './foreign-key-differences.js'
import { compareIndexes, staleIndexes, staleSearches } from './index-differences.js'
import { findKeyChanges } from './key-differences.js'
import { findRenames } from './renames.js'
import { findUuidConversions } from './type-differences.js'
import { findEnumChanges, type EnumLabels } from './type-names.js'

/** Options for finding differences. */
export interface FindOptions {
  /** Every table was made by migrations for records: parts that no record declares were declared before. */
  readonly isExact?: boolean
  /** The enums of the database. Default: those of its columns. */
  readonly enums?: EnumLabels | undefined
}

export function findDifferences(
  schemas: readonly TableSchema[],
  before: Catalogue,
  dialect: Dialect,
  { isExact = false, enums }: FindOptions = {},
): Difference[] {
  const { renames, actual } = findRenames(schemas, before, dialect)
  const undecided = renames.filter(({ first }) => first !== undefined)
  // Until they are decided, it is unknown what else differs.
  if (undecided.length > 0) return undecided
  const missing = schemas.filter(({ name }) => !actual.has(name))
  const pairs = schemas
    .filter(({ name }) => actual.has(name))
    .map((schema): TablePair => {
      const table = actual.get(schema.name) as ActualTable
      return { schema, actual: table, isExact, isOwn: isExact || isOwnTable(schema, table, false) }
    })
  const present = pairs.map(({ schema }) => schema)
  const conversions = findUuidConversions(present, actual, dialect)
  const keys = findKeyChanges(present, actual, dialect)
  const staleKeys = pairs.flatMap((pair) =>
    findStaleKeys(pair).map((key) => toForeignKey(pair.schema.name, key).name),
  )
  const moves = findDistributionChanges(schemas, actual, { ...keys, dropped: staleKeys }, dialect)
  const made: MadeParts = { keys, distributed: moves.tables }
  const remaining = [
    ...moves.leaving,
    ...withNewSchemas(
      [
        ...findEnumChanges(schemas, actual, dialect, enums),
        ...missing.flatMap((schema) => missingTable(schema, moves.ofNew, dialect)),
      ],
      actual,
    ),
    // Parts that are no longer declared come first, because the type of a column may depend on them.
    ...pairs.flatMap((pair) => staleParts(pair, dialect)),
    ...pairs.flatMap((pair) => compareColumns(pair, dialect)),
    ...keys.differences,
    ...moves.entering,
    ...pairs.flatMap(comparePartitions),
    ...pairs.flatMap((pair) => compareRest(pair, made, dialect)),
    ...missing.flatMap((schema) => missingKeys(schema, made, dialect)),
  ]
  const texts = findRemainingTexts(conversions)
  return [
    ...renames,
    ...conversions,
    ...remaining.map((one) => withTypeConflict(keepComputed(one, actual), texts)),
  ]
}

/** A rebuild would make a computed column an ordinary one, because its expression is not known. */
function keepComputed(difference: Difference, actual: Catalogue): Difference {
  const { table, rebuilds } = difference
  const columns = rebuilds === true ? [...(actual.get(table)?.columns.values() ?? [])] : []
  const computed = columns.find(({ isComputed }) => isComputed)
  if (computed === undefined) return difference
  return {
    ...difference,
    risk: 'by hand',
    sql: [],
    undo: undefined,
    first: `The table would be made again, and ${table}.${computed.name} would no longer be computed. Make this change in a migration of your own (filigree migrate make <name> --empty).`,
  }
}

/** @returns the schemas of the tables that this framework makes and changes */
export function managedSchemas(schemas: readonly TableSchema[]): TableSchema[] {
  return schemas.filter(({ isManaged }) => isManaged !== false)
}

/** @returns what records need of the tables that another program makes: the table itself, and the columns of fields */
export function findUnmanagedDifferences(
  schemas: readonly TableSchema[],
  actual: Catalogue,
  dialect: Dialect,
): Difference[] {
  const noKeys = { references: new Set<string>(), dropped: [] }
  const { leaving, entering } = findDistributionChanges(schemas, actual, noKeys, dialect)
  const misplaced = [...leaving, ...entering]
  return schemas
    .filter(({ isManaged }) => isManaged === false)
    .flatMap((schema) => {
      const table = actual.get(schema.name)
      return table === undefined
        ? missingTable(schema, new Map(), dialect).map(withoutChange)
        : [
            ...compareForeign(schema, table, dialect),
            ...misplaced.filter((one) => one.table === schema.name).map(withoutMove),
          ]
    })
    .map((difference) => ({ ...difference, isManaged: false }))
}

/** Text columns of UUIDs that cannot be converted: `team.id`. */
function findRemainingTexts(conversions: readonly Difference[]): ReadonlySet<string> {
  const remaining = conversions.filter(({ risk }) => risk === 'by hand')
  return new Set(remaining.map(({ table, column }) => `${table}.${column?.name ?? ''}`))
}

/** Databases do not accept a reference between a text and a UUID. */
function withTypeConflict(difference: Difference, texts: ReadonlySet<string>): Difference {
  const { table, key } = difference
  if (key === undefined) return difference
  const column = `${table}.${referringColumn(key)}`
  const target = `${key.table}.${key.foreignColumns.at(-1) ?? ''}`
  if (texts.has(column) === texts.has(target)) return difference
  const [text, uuid] = texts.has(column) ? [column, target] : [target, column]
  return {
    ...difference,
    message: `${column} cannot refer to ${target}: ${text} is text, because a table without a record refers to it, and ${uuid} is a UUID.`,
    risk: 'by hand',
    first: `Change ${text} and what refers to it to uuid by hand, then run this again.`,
    sql: [],
    undo: undefined,
  }
}

/** @param distributions the statements that distribute new tables. References are added after them */
function missingTable(
  schema: TableSchema,
  distributions: ReadonlyMap<string, string>,
  dialect: Dialect,
): Difference[] {
  const indexes = schema.indexes.flatMap((index) => writeIndex(schema.name, index))
  const distribute = distributions.get(schema.name)
  return [
    {
      kind: 'missing table',
      table: schema.name,
      message: `Table ${schema.name} is missing.`,
      blocks: true,
      risk: 'safe',
      sql: [
        writeCreateTable(schema, dialect),
        ...writeFirstPartitions(schema),
        ...indexes,
        ...(distribute === undefined ? [] : [distribute]),
      ],
      undo: [
        `drop table ${quoteTable(schema.name)}`,
        ...schema.indexes.flatMap(({ statements }) => statements?.drop ?? []),
      ],
    },
  ]
}

/** Creates a schema before its first table. A role that may create tables in it may not be allowed to create schemas. */
function withNewSchemas(tables: readonly Difference[], actual: Catalogue): Difference[] {
  const schemas = new Set([...actual.keys()].map(schemaOf))
  return tables.map((difference) => {
    const schema = schemaOf(difference.table)
    if (schema === undefined || schemas.has(schema)) return difference
    schemas.add(schema)
    return { ...difference, sql: [writeCreateSchema(schema), ...difference.sql] }
  })
}

/** References, indexes and searches that the database has and the record does not declare. */
function staleParts(pair: TablePair, dialect: Dialect): Difference[] {
  const { schema, actual, isOwn } = pair
  if (actual.isForeign === true) return []
  return [
    ...staleForeignKeys(pair, dialect),
    ...(isOwn ? staleIndexes(schema, actual) : []),
    ...staleSearches(schema, actual, dialect),
  ]
}

/** A table cannot become partitioned, or be partitioned in another way: its rows must be copied. */
function comparePartitions({ schema, actual }: TablePair): Difference[] {
  const { name: table, partitions } = schema
  if (partitions === undefined || actual.isForeign === true) return []
  const expected = `range (${partitions.column})`
  const { isPartitioned, partitionKey = 'another way' } = actual
  if (isPartitioned === true && partitionKey.replaceAll('"', '') === expected) return []
  const state = isPartitioned === true ? `is partitioned by ${partitionKey}` : 'is not partitioned'
  return [
    {
      kind: 'other partitions',
      table,
      message: `${table} ${state} and should be partitioned by ${expected} (${partitions.origin}).`,
      blocks: true,
      risk: 'by hand',
      first:
        'No statement does this: copy the rows into a new table, as docs/partitions.md shows, or remove partitionBy.',
      sql: [],
    },
  ]
}

/** References and indexes, which need the columns and keys. */
function compareRest(
  { schema, actual }: TablePair,
  made: MadeParts,
  dialect: Dialect,
): Difference[] {
  if (actual.isForeign === true) return []
  return [...compareForeignKeys(schema, actual, made, dialect), ...compareIndexes(schema, actual)]
}

/** Records work with tables in other places, so that nothing has to remove the difference. */
function withoutMove(difference: Difference): Difference {
  return { ...withoutChange(difference), upgrades: false }
}
