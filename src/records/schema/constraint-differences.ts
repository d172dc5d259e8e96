/** Finds checks and defaults of a table that differ from its record, and the SQL that changes them. */
import type { ActualColumn, ActualTable } from '../../engines/contract/catalogue.js'
import { isCheckOf } from '../model/column-names.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import { toBareType } from './column-types.js'
import { quote, writeAddCheck } from '../../engines/contract/ddl.js'
import type { CheckSchema, ColumnSchema, TableSchema } from '../../engines/contract/table-schema.js'
import type { Difference } from './difference-kinds.js'

/** Checks are compared by their names, which contain a hash of their text. */
export function compareConstraints(
  schema: TableSchema,
  column: ColumnSchema,
  actual: ActualTable,
  dialect: Dialect,
): Difference[] {
  const known = actual.columns.get(column.name)
  const stale = [...(actual.checks ?? [])].filter(
    (name) => name !== column.check?.name && isCheckOf(name, schema.name, column.name),
  )
  const differences = stale.map((name) => otherCheck(schema, column, name, actual, dialect))
  const { check } = column
  if (check !== undefined && !(actual.checks?.has(check.name) ?? false))
    differences.push(missingCheck(schema, column, check, actual, dialect))
  if (known !== undefined && hasOtherDefault(column, known))
    differences.push(otherDefault(schema, column, known, actual, dialect))
  return differences
}

/** A table that was there before its record was sharded: rows of two shards could not have the same key. */
export function compareKey(
  { name: table, primaryKey, isSharded, ...schema }: TableSchema,
  actual: ActualTable,
  dialect: Dialect,
): Difference[] {
  const known = actual.primaryKey ?? []
  const isOther = isSharded === true && known.join() !== primaryKey.join()
  if (!isOther || primaryKey.length === 1) return []
  const { changes } = dialect
  const alter = `alter table ${quote(table)}`
  const rebuilds = changes.kind === 'anew'
  return [
    {
      kind: 'other key',
      table,
      message: `${table} has the primary key (${known.join(', ')}) and should have (${primaryKey.join(', ')}).`,
      blocks: true,
      remedy: 'by hand',
      rebuilds,
      sql: rebuilds
        ? changes.rebuild({ name: table, primaryKey, isSharded, ...schema }, actual, dialect)
        : [
            // References of other tables to the old key go with it.
            `${alter} drop constraint ${quote(`${table}_pkey`)} cascade`,
            `${alter} add primary key (${primaryKey.map(quote).join(', ')})`,
          ],
    },
  ]
}

function missingCheck(
  schema: TableSchema,
  column: ColumnSchema,
  check: CheckSchema,
  actual: ActualTable,
  dialect: Dialect,
): Difference {
  const alter = `alter table ${quote(schema.name)}`
  return {
    kind: 'missing check',
    table: schema.name,
    message: `${schema.name}.${column.name} is not checked by the database (${column.origin}).`,
    // Repositories enforce the rules anyway.
    blocks: false,
    remedy: 'may fail',
    ...change(schema, actual, dialect, {
      // Existing rows are checked in a second step, while others read and write.
      sql: [`${writeAddCheck(schema.name, check)} not valid`],
      later: [`${alter} validate constraint ${quote(check.name)}`],
      undo: [`${alter} drop constraint ${quote(check.name)}`],
    }),
  }
}

/** A check that an earlier rule of the field has made: it may refuse values that the field allows now. */
function otherCheck(
  schema: TableSchema,
  column: ColumnSchema,
  name: string,
  actual: ActualTable,
  dialect: Dialect,
): Difference {
  return {
    kind: 'other check',
    table: schema.name,
    message: `${schema.name}.${column.name} is checked by a rule that it no longer has (${column.origin}).`,
    blocks: true,
    remedy: 'safe',
    ...change(schema, actual, dialect, {
      sql: [`alter table ${quote(schema.name)} drop constraint if exists ${quote(name)}`],
    }),
  }
}

/** Defaults that were set by other programs cannot be compared. */
function hasOtherDefault({ preset }: ColumnSchema, known: ActualColumn): boolean {
  if (preset === undefined) return false
  return known.preset === undefined || (known.preset !== true && known.preset !== preset)
}

function otherDefault(
  schema: TableSchema,
  { name, preset = '', origin }: ColumnSchema,
  known: ActualColumn,
  actual: ActualTable,
  dialect: Dialect,
): Difference {
  const alter = `alter table ${quote(schema.name)} alter column ${quote(name)}`
  const before = typeof known.preset === 'string' ? `set default ${known.preset}` : 'drop default'
  return {
    kind: 'other default',
    table: schema.name,
    message: `${schema.name}.${name} does not have the default ${preset} (${origin}).`,
    blocks: false,
    remedy: 'safe',
    ...change(schema, actual, dialect, {
      sql: [`${alter} set default ${preset}`],
      undo: [`${alter} ${before}`],
    }),
  }
}

interface InPlace {
  readonly sql: readonly string[]
  readonly later?: readonly string[]
  readonly undo?: readonly string[]
}

/** A table is rebuilt automatically only if it was made by this framework: in other tables something could be lost. */
function change(
  schema: TableSchema,
  actual: ActualTable,
  dialect: Dialect,
  inPlace: InPlace,
): InPlace & { readonly rebuilds?: boolean; readonly upgrades: boolean } {
  const { changes } = dialect
  if (changes.kind === 'in place') return { ...inPlace, upgrades: true }
  const sql = changes.rebuild(schema, actual, dialect)
  return { sql, rebuilds: true, upgrades: isOurs(schema, actual) }
}

function isOurs({ columns }: TableSchema, actual: ActualTable): boolean {
  const byName = new Map(columns.map((column) => [column.name, column]))
  return [...actual.columns.values()].every(({ name, type }) => {
    const column = byName.get(name)
    return column !== undefined && toBareType(column) === type
  })
}
