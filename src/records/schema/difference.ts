/** Finds the differences between the database and the records, and writes the SQL that removes them. */
import type {
  ActualForeignKey,
  ActualIndex,
  ActualTable,
  Catalogue,
  ColumnSchema,
  ForeignKeySchema,
  IndexSchema,
  TableSchema,
} from '../../engines/contract/table-schema.js'
import {
  dropForeignKey,
  indexCondition,
  findReference,
  isOfSameField,
  referringColumn,
  toForeignKey,
  writeAddColumn,
  writeAddForeignKey,
  fillsOnly,
  writeDropDefault,
  writeCreateSchema,
  writeCreateTable,
  writeDropIndex,
  writeFirstPartitions,
  writeIndex,
} from '../../engines/contract/ddl.js'
import { quote, quoteTable, schemaOf } from '../../engines/contract/quote.js'
import { isSearchIndexName } from '../../engines/contract/table.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import { toConstraintName } from '../model/generated-names.js'
import { compareConstraints, isOwnTable } from './constraint-differences.js'
import { findKeyChanges, type KeyChanges } from './key-differences.js'
import { findDistributionChanges } from './distribution-differences.js'
import { isStaleIndex, rebuildTable, type Difference } from './difference-kinds.js'
import { findRenames } from './renames.js'
import { findEnumChanges, type EnumLabels } from './type-names.js'
import { compareType, findUuidConversions } from './type-differences.js'

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
    .map((schema): Pair => {
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

/** The table of a record, and the table of the database. */
interface Pair {
  readonly schema: TableSchema
  readonly actual: ActualTable
  /** The table was made by migrations. Then another type is a difference even if its values would fit. */
  readonly isExact: boolean
  /** The table was made for the record. Then parts that the record does not declare are removed. */
  readonly isOwn: boolean
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

/** After all tables exist, since they may refer to each other in a circle. */
function missingKeys(schema: TableSchema, made: MadeParts, dialect: Dialect): Difference[] {
  if (dialect.tables.changes.kind === 'anew') return []
  return schema.foreignKeys.map((key) => ({
    ...missingKey(schema, key),
    risk: 'safe',
    ...lateness(schema.name, key, made),
    sql: [writeAddForeignKey(schema.name, key)],
    undo: [dropForeignKey(schema.name, key.name)],
  }))
}

function missingKey(schema: TableSchema, key: ForeignKeySchema) {
  const column = referringColumn(key)
  return {
    kind: 'missing foreign key',
    table: schema.name,
    message: `${schema.name}.${column} does not refer to ${key.table}${originOf(schema, [column])}.`,
    blocks: true,
    key,
  } as const
}

/** What the same migration makes, and references need. */
interface MadeParts {
  readonly keys: KeyChanges
  /** Existing tables that are distributed. */
  readonly distributed: ReadonlySet<string>
}

function lateness(
  holder: string,
  { table }: ForeignKeySchema,
  { keys, distributed }: MadeParts,
): { readonly isLate?: true } {
  const isLate = keys.tables.has(table) || distributed.has(table) || distributed.has(holder)
  return isLate ? { isLate } : {}
}

function isSharded({ distribution }: TableSchema): boolean {
  return distribution?.kind === 'sharded'
}

/** References, indexes and searches that the database has and the record does not declare. */
function staleParts(pair: Pair, dialect: Dialect): Difference[] {
  const { schema, actual, isOwn } = pair
  if (actual.isForeign === true) return []
  return [
    ...staleForeignKeys(pair, dialect),
    ...(isOwn ? staleIndexes(schema, actual) : []),
    ...staleSearches(schema, actual, dialect),
  ]
}

/** References that only the record can have declared, and no longer declares. */
function findStaleKeys({ schema, actual, isOwn }: Pair): ActualForeignKey[] {
  if (!isOwn || actual.isForeign === true) return []
  return (
    actual.foreignKeys
      .filter((key) =>
        [referringColumn(key), key.columns.join()].some(
          (columns) => key.name === toConstraintName(schema.name, columns),
        ),
      )
      // References of a column without a field are kept with the column.
      .filter((key) => schema.columns.some(({ name }) => name === referringColumn(key)))
      .filter((key) => !schema.foreignKeys.some((one) => isOfSameField(one, key)))
  )
}

function staleForeignKeys(pair: Pair, dialect: Dialect): Difference[] {
  const { schema, actual } = pair
  const { name: table } = schema
  return findStaleKeys(pair).map((existing) => {
    const { name } = toForeignKey(table, existing)
    const column = referringColumn(existing)
    return {
      kind: 'unknown foreign key',
      table,
      message: `${table}.${column} refers to ${existing.table} and should not${originOf(schema, [column])}.`,
      blocks: false,
      upgrades: true,
      risk: 'safe',
      ...(dialect.tables.changes.kind === 'anew'
        ? rebuildTable(schema, actual, dialect)
        : {
            sql: [dropForeignKey(table, name)],
            undo: [writeAddForeignKey(table, toForeignKey(table, existing))],
          }),
    }
  })
}

/** Unique indexes refuse values that the record allows; other indexes cost time at each write. */
function staleIndexes(schema: TableSchema, actual: ActualTable): Difference[] {
  const { name: table } = schema
  return [...actual.indexes]
    .filter(([name, index]) => isStaleIndex(schema, name, index))
    .map(([name, { columns, isConstraint, create = [] }]) => ({
      kind: 'unknown index',
      table,
      message: `Index ${name} on ${table} is no longer declared${originOf(schema, columns)}.`,
      blocks: false,
      upgrades: true,
      risk: 'safe',
      sql:
        isConstraint === true
          ? [`alter table ${quoteTable(table)} drop constraint ${quote(name)}`]
          : writeDropIndex(table, { name }),
      undo: create,
    }))
}

function compareColumns({ schema, actual, isExact, isOwn }: Pair, dialect: Dialect): Difference[] {
  if (actual.isForeign === true) return compareForeign(schema, actual, dialect)
  return [
    ...schema.columns.flatMap((column) => {
      const existing = actual.columns.get(column.name)
      if (existing === undefined) return [missingColumn(schema, column, actual, dialect)]
      const types = compareType(schema, column, actual, dialect, isExact)
      const differences = [...types]
      if (existing.nullable !== column.nullable && !schema.primaryKey.includes(column.name))
        differences.push(compareNull(schema, column, actual, dialect))
      // A change of the type includes the constraints.
      if (types.every(({ blocks, upgrades }) => !blocks && upgrades !== true))
        differences.push(...compareConstraints(schema, column, actual, dialect, isOwn))
      return differences
    }),
    ...unknownColumns(schema, actual, dialect),
  ]
}

/** A table cannot become partitioned, or be partitioned in another way: its rows must be copied. */
function comparePartitions({ schema, actual }: Pair): Difference[] {
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
function compareRest({ schema, actual }: Pair, made: MadeParts, dialect: Dialect): Difference[] {
  if (actual.isForeign === true) return []
  return [...compareForeignKeys(schema, actual, made, dialect), ...compareIndexes(schema, actual)]
}

function compareIndexes(schema: TableSchema, actual: ActualTable): Difference[] {
  const { name: table } = schema
  return schema.indexes.flatMap((index): Difference[] => {
    const existing = actual.indexes.get(index.name)
    if (
      existing?.isInvalid !== true &&
      existing?.unique === index.unique &&
      sameList(existing.columns, index.columns) &&
      hasSameRows(index, existing)
    )
      return []
    const isNeeded = index.unique || index.statements !== undefined
    const isInvalid = existing?.isInvalid === true
    const state =
      existing === undefined
        ? 'is missing'
        : isInvalid
          ? 'is invalid, because its creation was interrupted'
          : 'differs from the record'
    return [
      {
        kind: 'missing index',
        table,
        message: `Index ${index.name} on ${table} ${state}${originOf(schema, index.over ?? index.columns)}.`,
        // Records work without other indexes, but slowly.
        ...(isNeeded ? { blocks: true } : { blocks: false, upgrades: true }),
        // Existing rows may already hold equal values.
        risk: index.unique ? 'may fail' : 'safe',
        sql: [
          ...(existing === undefined ? [] : dropExisting(table, index, existing)),
          ...writeIndex(table, index),
        ],
        undo: [
          ...writeDropIndex(table, index),
          ...((isInvalid ? undefined : existing?.create) ?? []),
        ],
      },
    ]
  })
}

function dropExisting(table: string, index: IndexSchema, existing: ActualIndex): string[] {
  if (existing.isConstraint !== true) return writeDropIndex(table, index)
  return [`alter table ${quoteTable(table)} drop constraint ${quote(index.name)}`]
}

/**
 * Whether both indexes have the same condition. Only the number of null tests is compared, because the name of an index
 * contains a hash of its other conditions, and the database rewrites conditions.
 */
function hasSameRows(index: IndexSchema, { where }: ActualIndex): boolean {
  const schemas = indexCondition(index)
  if (schemas === undefined || where === undefined) return schemas === where
  const nulls = (sql: string): number => sql.match(/\bis null\b/gi)?.length ?? 0
  return nulls(schemas) === nulls(where)
}

/** Views and foreign tables have only columns to compare. Their keys, rules and indexes are in other tables. */
function compareForeign(schema: TableSchema, actual: ActualTable, dialect: Dialect): Difference[] {
  return schema.columns.flatMap((column): Difference[] => {
    const differences = actual.columns.has(column.name)
      ? compareType(schema, column, actual, dialect, false)
      : [missingColumn(schema, column, actual, dialect)]
    return differences.map(withoutChange)
  })
}

/** A difference that no statement of ours removes. */
function withoutChange(difference: Difference): Difference {
  return { ...difference, risk: 'by hand', first: undefined, sql: [], undo: undefined }
}

/** Records work with tables in other places, so that nothing has to remove the difference. */
function withoutMove(difference: Difference): Difference {
  return { ...withoutChange(difference), upgrades: false }
}

/** Search indexes that no record uses. They would slow every write. */
function staleSearches(
  { name: table, indexes }: TableSchema,
  actual: ActualTable,
  dialect: Dialect,
): Difference[] {
  return [...actual.indexes.keys()]
    .filter((name) => isSearchIndexName(name) && !indexes.some((index) => index.name === name))
    .map((name) => ({
      kind: 'unknown search',
      table,
      message: `Index ${name} on ${table} is for a search that no record declares.`,
      blocks: false,
      upgrades: true,
      risk: 'safe',
      sql: dialect.text.search.drop(name, table),
      undo: actual.indexes.get(name)?.create ?? [],
    }))
}

function compareNull(
  schema: TableSchema,
  column: ColumnSchema,
  actual: ActualTable,
  dialect: Dialect,
): Difference {
  const where = `${schema.name}.${column.name}`
  const base = { table: schema.name, blocks: true } as const
  const looser = column.nullable
  const message = looser
    ? `${where} does not allow null and should (${column.origin}).`
    : `${where} allows null and should not (${column.origin}).`
  const { changes } = dialect.tables
  const fill =
    looser || column.fill === undefined
      ? []
      : [
          `update ${quoteTable(schema.name)} set ${quote(column.name)} = ${column.fill} where ${quote(column.name)} is null`,
        ]
  const change =
    changes.kind === 'anew'
      ? rebuildTable(schema, actual, dialect)
      : {
          sql: [changes.changeNull(schema.name, column.name, looser)],
          undo: [changes.changeNull(schema.name, column.name, !looser)],
        }
  const kind = looser ? 'looser column' : 'stricter column'
  return {
    ...base,
    kind,
    ...(!looser && { column, primaryKey: actual.primaryKey ?? schema.primaryKey }),
    message,
    risk: looser ? 'safe' : 'by hand',
    ...change,
    sql: [...fill, ...change.sql],
  }
}

function missingColumn(
  schema: TableSchema,
  column: ColumnSchema,
  actual: ActualTable,
  dialect: Dialect,
): Difference {
  const fits = column.nullable || column.fill !== undefined
  const refers = schema.foreignKeys.some((key) =>
    isSharded(schema) ? referringColumn(key) === column.name : key.columns.includes(column.name),
  )
  // Engines that rebuild tables cannot add a column that is required without a default, that refers to another table,
  // or whose default is an expression, and cannot drop a default that only existing rows needed.
  const { changes } = dialect.tables
  const isOnlyFilled = fillsOnly(column)
  const isPlain = fits && !refers && !isOnlyFilled && column.preset?.startsWith('(') !== true
  const rebuilds = changes.kind === 'anew' && !isPlain
  return {
    kind: 'missing column',
    table: schema.name,
    column,
    message: `${schema.name}.${column.name} is missing (${column.origin}).`,
    blocks: true,
    risk: fits ? 'safe' : 'may fail',
    primaryKey: actual.primaryKey ?? schema.primaryKey,
    ...(rebuilds
      ? rebuildTable(schema, actual, dialect)
      : {
          sql: [
            writeAddColumn(schema.name, column, dialect),
            ...(isOnlyFilled ? [writeDropDefault(schema.name, column)] : []),
          ],
          undo: [`alter table ${quoteTable(schema.name)} drop column ${quote(column.name)}`],
        }),
  }
}

function compareForeignKeys(
  schema: TableSchema,
  actual: ActualTable,
  made: MadeParts,
  dialect: Dialect,
): Difference[] {
  const { name: table } = schema
  const rebuilds = dialect.tables.changes.kind === 'anew'
  return schema.foreignKeys.flatMap((key): Difference[] => {
    // A reference of a new column is created with the column itself, and a reference to a new key with the key.
    const column = referringColumn(key)
    const isNew = key.columns.some((one) => !actual.columns.has(one))
    if (rebuilds && (isSharded(schema) ? !actual.columns.has(column) : isNew)) return []
    if (!rebuilds && made.keys.references.has(`${table}.${column}`)) return []
    const existing = findReference(key, schema, actual.foreignKeys)
    const isInvalid = existing?.isInvalid === true
    if (existing !== undefined && !isInvalid && isSameReference(key, existing)) return []
    const add = writeAddForeignKey(table, key)
    if (existing === undefined || isInvalid) {
      const drop = isInvalid ? [dropForeignKey(table, existing.name ?? key.name)] : []
      const inPlace = { sql: [...drop, add], undo: [dropForeignKey(table, key.name)] }
      return [
        {
          ...missingKey(schema, key),
          ...(isInvalid && {
            message: `The reference of ${table}.${column} to ${key.table} is not valid for all rows${originOf(schema, [column])}.`,
          }),
          risk: 'may fail',
          ...lateness(schema.name, key, made),
          ...(rebuilds ? rebuildTable(schema, actual, dialect) : inPlace),
        },
      ]
    }
    const before = toForeignKey(table, existing)
    const inPlace = {
      sql: [dropForeignKey(table, before.name), add],
      undo: [dropForeignKey(table, key.name), writeAddForeignKey(table, before)],
    }
    return [
      {
        kind: 'other foreign key',
        table,
        message: `${table}.${column} refers to ${describeReference(before)} and should refer to ${describeReference(key)}${originOf(schema, [column])}.`,
        blocks: true,
        risk: 'may fail',
        key,
        ...lateness(schema.name, key, made),
        ...(rebuilds ? rebuildTable(schema, actual, dialect) : inPlace),
      },
    ]
  })
}

function isSameReference(key: ForeignKeySchema, existing: ActualForeignKey): boolean {
  const action = existing.onDelete === 'no action' ? 'restrict' : existing.onDelete
  return (
    existing.table === key.table &&
    sameList(existing.columns, key.columns) &&
    (action === undefined || action === key.onDelete)
  )
}

/** `team (tenant_id, id) on delete cascade` */
function describeReference({ table, foreignColumns, onDelete }: ForeignKeySchema): string {
  return `${table} (${foreignColumns.join(', ')}) on delete ${onDelete}`
}

function unknownColumns(schema: TableSchema, actual: ActualTable, dialect: Dialect): Difference[] {
  const { name: table } = schema
  const schemas = new Set(schema.columns.map(({ name }) => name))
  const unknown = [...actual.columns.values()].filter(({ name }) => !schemas.has(name))
  return unknown.flatMap(({ name, optional }) => {
    const where = `${table}.${name} does not belong to a field`
    const alter = `alter table ${quoteTable(table)}`
    const leftover: Difference = {
      kind: 'unknown column',
      table,
      message: `${where}.`,
      blocks: false,
      risk: 'by hand',
      sql: [...dropIndexesOf(name, actual, dialect), `${alter} drop column ${quote(name)}`],
    }
    if (optional) return [leftover]
    const { changes } = dialect.tables
    const change =
      changes.kind === 'anew'
        ? rebuildTable(schema, actual, dialect)
        : {
            sql: [changes.changeNull(table, name, true)],
            undo: [changes.changeNull(table, name, false)],
          }
    const message = `${where} and must be filled.`
    return [{ ...leftover, kind: 'unfilled column', message, blocks: true, ...change }, leftover]
  })
}

/** An engine that rebuilds tables drops no column that has an index. */
function dropIndexesOf(column: string, { indexes }: ActualTable, dialect: Dialect): string[] {
  if (dialect.tables.changes.kind !== 'anew') return []
  return [...indexes]
    .filter(([name, { columns }]) => columns.includes(column) && !isSearchIndexName(name))
    .map(([name]) => `drop index ${quote(name)}`)
}

/** ` (Product.name)` */
function originOf({ columns }: TableSchema, names: readonly string[]): string {
  const origins = columns.filter(({ name }) => names.includes(name)).map(({ origin }) => origin)
  return origins.length === 0 ? '' : ` (${[...new Set(origins)].join(', ')})`
}

function sameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index])
}
