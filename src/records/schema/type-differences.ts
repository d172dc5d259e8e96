/** Where a column is of another type than its field wants, and the SQL that changes it. */
import type { Dialect } from '../../engines/contract/dialect.js'
import type { ActualColumn, ActualTable } from '../../engines/contract/catalogue.js'
import {
  lacksDigits,
  sameType,
  toBareType,
  toKnownType,
  wasMoment,
  wasUuid,
} from './column-types.js'
import { quote } from '../../engines/contract/ddl.js'
import type { Difference } from './difference-kinds.js'
import type { ColumnSchema, TableSchema } from '../../engines/contract/table-schema.js'

export function compareType(
  schema: TableSchema,
  column: ColumnSchema,
  actual: ActualTable,
  dialect: Dialect,
): Difference[] {
  const known = actual.columns.get(column.name)
  // `findUuidUpgrades` finds these.
  if (known === undefined || column.increment || wasUuid(column, known)) return []
  const lacks = lacksDigits(column, known)
  if (lacks === 'digits') return [moreDigits(schema.name, column, known)]
  if (sameType(column, known)) return []
  const other = {
    kind: 'other type',
    table: schema.name,
    message: toMessage(schema.name, column, known),
    blocks: true,
    sql: changeType(schema, column, actual, dialect),
    rebuilds: dialect.changes.kind === 'anew',
  } as const
  return wasMoment(column, known)
    ? [{ ...other, ...momentUpgrade(schema.name, column) }]
    : [{ ...other, remedy: 'by hand' }]
}

/** Values that have room go on being written; the database only takes more, without a look at the rows. */
function moreDigits(table: string, column: ColumnSchema, known: ActualColumn): Difference {
  const alter = `alter table ${quote(table)} alter column ${quote(column.name)} type`
  return {
    kind: 'other type',
    table,
    message: toMessage(table, column, known),
    blocks: false,
    remedy: 'safe',
    sql: [`${alter} ${column.type}`],
    undo: [`${alter} ${known.type}`],
  }
}

function toMessage(table: string, column: ColumnSchema, { type }: ActualColumn): string {
  const { name, origin } = column
  return `${table}.${name} is of type ${type} and should be ${toKnownType(column)} (${origin}).`
}

function momentUpgrade(table: string, { name }: ColumnSchema) {
  const text = `to_char(${quote(name)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
  const undo = `alter table ${quote(table)} alter column ${quote(name)} type text collate "C" using ${text}`
  return { blocks: false, upgrades: true, remedy: 'may fail', undo: [undo] } as const
}

function changeType(
  schema: TableSchema,
  column: ColumnSchema,
  actual: ActualTable,
  dialect: Dialect,
): string[] {
  const { changes } = dialect
  if (changes.kind === 'anew') return changes.rebuild(schema, actual, dialect)
  return [changes.changeType(schema.name, column.name, column.type, toBareType(column))]
}
