/**
 * The schema after a migration: what the records declare, and what they no longer declare. A migration drops no column
 * and no table by itself, so a later version may declare them again: then its migration changes what is there, and
 * `down` leaves it there.
 */
import type { ActualColumn, ActualTable, Catalogue } from '../../engines/contract/table-schema.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import type { TableSchema } from '../../engines/contract/table-schema.js'
import { isSearchIndexName } from '../../engines/contract/table.js'
import { isCheckOf } from '../model/column-names.js'
import { isStaleIndex } from '../schema/difference.js'
import { findRenames } from '../schema/renames.js'
import type { MigrationFile } from './migration-files.js'
import { toCatalogue } from './schema-snapshot.js'

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
  return {
    ...declared,
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
      ...before.foreignKeys.filter(({ column }) => names.includes(column)),
    ],
    checks: new Map([
      ...(declared.checks ?? []),
      ...[...(before.checks ?? [])].filter(([check]) =>
        names.some((column) => isCheckOf(check, schema.name, column)),
      ),
    ]),
  }
}

/** Without the columns and tables that migrations drop since no record declares them: their files have such lines as comments. */
export function withoutDropped(schema: Catalogue, files: readonly MigrationFile[]): Catalogue {
  const statementsSince = (leftBy: string): string =>
    files
      .filter(({ name }) => name >= leftBy)
      .map(({ up }) => up.replace(/--.*$/gm, ''))
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
  return `(?<![\\w"])"?${name}"?(?![\\w"])`
}

/** What belongs to a column is dropped with it. */
function withoutColumns(table: ActualTable, names: readonly string[]): ActualTable {
  const isOf = (column: string): boolean => names.includes(column)
  return {
    ...table,
    columns: new Map([...table.columns].filter(([name]) => !isOf(name))),
    indexes: new Map([...table.indexes].filter(([, { columns }]) => !columns.some(isOf))),
    foreignKeys: table.foreignKeys.filter(({ column }) => !isOf(column)),
    checks: new Map(
      [...(table.checks ?? [])].filter(
        ([check]) => !names.some((column) => isCheckOf(check, table.name, column)),
      ),
    ),
  }
}
