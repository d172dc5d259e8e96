/**
 * The schema after an engine's migrations. `schema.postgres.json` stores it next to them, for developers who use another
 * engine. Migrations do not drop the columns and tables that the records no longer declare, so the schema keeps them. A
 * later version may declare them again: then its migration changes the existing ones.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type {
  ActualColumn,
  ActualForeignKey,
  ActualIndex,
  Catalogue,
  Distribution,
  IndexSchema,
  TableSchema,
  ActualTable,
} from '../../engines/contract/table-schema.js'
import { indexCondition, referringColumn, writeIndex } from '../../engines/contract/ddl.js'
import { toCatalogueType } from '../schema/type-differences.js'
import {
  migrationError,
  removeByteOrderMark,
  type EngineName,
  type SqlMigration,
} from './migration-files.js'
import { removeComments } from '../../engines/contract/sql-script.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import { isSearchIndexName } from '../../engines/contract/table.js'
import { isCheckOf } from '../model/generated-names.js'
import { isStaleIndex } from '../schema/difference-kinds.js'
import { findRenames } from '../schema/renames.js'

/** By table. */
type Snapshot = Readonly<Record<string, SnapshotTable>>

interface SnapshotTable {
  readonly primaryKey: readonly string[]
  readonly columns: readonly ActualColumn[]
  readonly indexes: readonly (ActualIndex & { readonly name: string })[]
  readonly foreignKeys: readonly (ActualForeignKey & OldForeignKey)[]
  /** Their SQL by their names. */
  readonly checks: Readonly<Record<string, string>>
  /** Default: local. */
  readonly distribution?: Distribution | undefined
  readonly partitionKey?: string | undefined
  readonly leftBy?: string | undefined
}

interface OldForeignKey {
  readonly column?: string
  readonly foreignColumn?: string
  readonly shard?: { readonly column: string; readonly foreignColumn: string }
}

const local: Distribution = { kind: 'local' }

/** The catalogue of a database whose tables fit the records. */
export function toCatalogue(schemas: readonly TableSchema[]): Catalogue {
  return new Map(
    schemas.map(({ name, columns, indexes, foreignKeys, primaryKey, ...schema }) => [
      name,
      {
        name,
        distribution: schema.distribution ?? local,
        ...(schema.partitions !== undefined && {
          isPartitioned: true,
          partitionKey: `range (${schema.partitions.column})`,
        }),
        columns: new Map(columns.map((column) => [column.name, toActual(column)])),
        indexes: new Map(indexes.map((index) => [index.name, toActualIndex(name, index)])),
        foreignKeys,
        primaryKey,
        checks: new Map(
          columns.flatMap(({ checks = [] }) => checks.map((one) => [one.name, one.sql])),
        ),
      },
    ]),
  )
}

function toActual(column: TableSchema['columns'][number]): ActualColumn {
  const { name, nullable, increment, preset } = column
  const optional = nullable || increment || preset !== undefined
  const type = toCatalogueType(column)
  const labels = column.declared?.labels
  return {
    ...{ name, type, sql: column.type, nullable, optional, preset, increment },
    ...(labels !== undefined && { labels }),
  }
}

function toActualIndex(table: string, index: IndexSchema): ActualIndex {
  const { columns, unique } = index
  return { columns, unique, where: indexCondition(index), create: writeIndex(table, index) }
}

/**
 * @returns `undefined` if there is no such file
 * @throws {DeclarationError} `MIGRATION_FAILED` for a file that cannot be read, e.g. with a merge conflict in it
 */
export async function readSnapshot(
  folder: string,
  engine: EngineName,
): Promise<Catalogue | undefined> {
  const file = join(folder, toName(engine))
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if ((error as { code?: unknown }).code === 'ENOENT') return undefined
    throw error
  })
  if (text === undefined) return undefined
  try {
    const tables = Object.entries(JSON.parse(removeByteOrderMark(text)) as Snapshot)
    return new Map(
      tables.map(([name, table]) => [
        name,
        {
          name,
          distribution: table.distribution ?? local,
          columns: new Map(table.columns.map((column) => [column.name, column])),
          indexes: new Map(table.indexes.map(({ name: index, ...rest }) => [index, rest])),
          foreignKeys: table.foreignKeys.map(readForeignKey),
          primaryKey: table.primaryKey,
          checks: new Map(Object.entries(table.checks)),
          isPartitioned: table.partitionKey !== undefined,
          partitionKey: table.partitionKey,
          leftBy: table.leftBy,
        },
      ]),
    )
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const message = `${file} cannot be read: ${reason}.`
    const fix = 'Resolve the conflict in it, or restore it from version control.'
    throw migrationError('MIGRATION_FAILED', message, fix, cause)
  }
}

/** Files of the first versions name the last column apart from the shard. */
function readForeignKey(key: ActualForeignKey & OldForeignKey): ActualForeignKey {
  const { column, foreignColumn, shard, ...rest } = key
  if (column === undefined) return key
  const [columns, foreignColumns] = [[column], [foreignColumn ?? 'id']]
  if (shard !== undefined) {
    columns.unshift(shard.column)
    foreignColumns.unshift(shard.foreignColumn)
  }
  return { ...rest, columns, foreignColumns }
}

/** @returns the file's path */
export async function writeSnapshot(
  folder: string,
  engine: EngineName,
  catalogue: Catalogue,
): Promise<string> {
  const tables = [...catalogue.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  const snapshot: Snapshot = Object.fromEntries(
    tables.map((table) => [
      table.name,
      {
        primaryKey: table.primaryKey ?? [],
        columns: [...table.columns.values()],
        indexes: [...table.indexes].map(([index, rest]) => ({ name: index, ...rest })),
        foreignKeys: table.foreignKeys,
        checks: Object.fromEntries(table.checks ?? []),
        distribution: table.distribution?.kind === 'local' ? undefined : table.distribution,
        partitionKey: table.partitionKey,
        leftBy: table.leftBy,
      },
    ]),
  )
  const file = join(folder, toName(engine))
  await writeFile(file, `${JSON.stringify(snapshot, null, 2)}\n`)
  return file
}

function toName(engine: EngineName): string {
  return `schema.${engine}.json`
}

/**
 * @param base the schema before the migration
 * @param migration its name
 */
export function schemaAfter(
  base: Catalogue,
  schemas: readonly TableSchema[],
  migration: string,
  dialect: Dialect,
): Catalogue {
  const after = new Map(toCatalogue(schemas))
  for (const [name, table] of findRenames(schemas, base, dialect).actual) {
    const declared = after.get(name)
    const schema = schemas.find((one) => one.name === name)
    if (declared === undefined || schema === undefined)
      after.set(name, { ...table, leftBy: table.leftBy ?? migration })
    else after.set(name, withLeftParts(declared, schema, table, migration))
  }
  return after
}

function withLeftParts(
  declared: ActualTable,
  schema: TableSchema,
  before: ActualTable,
  migration: string,
): ActualTable {
  const leftover = [...before.columns.values()].filter(({ name }) => !declared.columns.has(name))
  const names = leftover.map(({ name }) => name)
  // Migrations leave reference tables that no record needs any more.
  const isLeft = before.distribution?.kind === 'reference' && schema.distribution === undefined
  return {
    ...declared,
    ...(isLeft && { distribution: before.distribution }),
    columns: new Map([
      ...declared.columns,
      ...leftover.map((column): [string, ActualColumn] => [
        column.name,
        // A row of the record leaves it out.
        column.optional
          ? { ...column, leftBy: column.leftBy ?? migration }
          : { ...column, nullable: true, optional: true, leftBy: migration },
      ]),
    ]),
    indexes: new Map([
      ...[...before.indexes].filter(
        ([name, index]) => !isSearchIndexName(name) && !isStaleIndex(schema, name, index),
      ),
      ...declared.indexes,
    ]),
    foreignKeys: [
      ...declared.foreignKeys,
      ...before.foreignKeys.filter((key) => names.includes(referringColumn(key))),
    ],
    checks: new Map([
      ...(declared.checks ?? []),
      ...[...(before.checks ?? [])].filter(([check]) =>
        names.some((column) => isCheckOf(check, schema.name, column)),
      ),
    ]),
  }
}

/**
 * The schema without the columns and tables that no record declares and that a migration drops. Migration files contain
 * these statements as comments, which a developer may activate.
 */
export function withoutDropped(
  schema: Catalogue,
  files: readonly SqlMigration[],
  dialect: Dialect,
): Catalogue {
  const statementsSince = (leftBy: string): string =>
    files
      .filter(({ name }) => name >= leftBy)
      .map(({ up }) => removeComments(up, dialect.can))
      .join('\n')
  const isDropped = (leftBy: string | undefined, pattern: string): boolean =>
    leftBy !== undefined && new RegExp(pattern, 'i').test(statementsSince(leftBy))
  const after = new Map<string, ActualTable>()
  for (const [name, table] of schema) {
    if (isDropped(table.leftBy, `\\bdrop\\s+table\\s[^;]*${named(name)}`)) continue
    const drop = `\\balter\\s+table\\s[^;]*${named(name)}[^;]*\\bdrop\\s+(?:column\\s+)?(?:if\\s+exists\\s+)?`
    const dropped = [...table.columns.values()]
      .filter((column) => isDropped(column.leftBy, drop + named(column.name)))
      .map((column) => column.name)
    after.set(name, dropped.length === 0 ? table : withoutColumns(table, dropped))
  }
  return after
}

/** A name in SQL, with quotes or without. */
function named(name: string): string {
  const parts = name.split('.').map((part) => `"?${part}"?`)
  const schema = parts.length === 1 ? '(?:"?public"?\\.)?' : ''
  return `(?<![\\w".])${schema}${parts.join('\\.')}(?![\\w".])`
}

/** Indexes, references and checks of a column are dropped with it. */
function withoutColumns(table: ActualTable, names: readonly string[]): ActualTable {
  const isOf = (column: string): boolean => names.includes(column)
  return {
    ...table,
    columns: new Map([...table.columns].filter(([name]) => !isOf(name))),
    indexes: new Map([...table.indexes].filter(([, { columns }]) => !columns.some(isOf))),
    foreignKeys: table.foreignKeys.filter(({ columns }) => !columns.some(isOf)),
    checks: new Map(
      [...(table.checks ?? [])].filter(
        ([check]) => !names.some((column) => isCheckOf(check, table.name, column)),
      ),
    ),
  }
}
