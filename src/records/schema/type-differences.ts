/** Finds columns whose type differs from their field's, and writes the SQL that changes them. */
import type { Dialect } from '../../engines/contract/dialect.js'
import type {
  ActualColumn,
  ActualTable,
  ColumnSchema,
  TableSchema,
} from '../../engines/contract/table-schema.js'
import { quote, writeAddCheck, writeDropIndex, writeIndex } from '../../engines/contract/ddl.js'
import { isCheckOf } from '../model/column-names.js'
import { rebuildTable } from './constraint-differences.js'
import {
  isInteger,
  lacksDigits,
  sameType,
  toBareType,
  toKnownType,
  wasTimestamp,
  wasUuid,
} from './column-types.js'
import type { Difference } from './difference-kinds.js'

/** @param isExact whether the table was made by migrations for records: then no other type will do */
export function compareType(
  schema: TableSchema,
  column: ColumnSchema,
  actual: ActualTable,
  dialect: Dialect,
  isExact: boolean,
): Difference[] {
  const existing = actual.columns.get(column.name)
  if (existing === undefined) return []
  if (hasOtherKeyKind(schema, column, existing)) return [otherKeyKind(schema, column, existing)]
  // `findUuidUpgrades` finds these.
  if (column.increment || wasUuid(column, existing)) return []
  const lacks = lacksDigits(column, existing)
  if (lacks === 'digits') return [moreDigits(schema.name, column, existing)]
  const isSame = isExact ? toKnownType(column) === existing.type : sameType(column, existing)
  if (isSame) return []
  const other = {
    kind: 'other type',
    table: schema.name,
    message: toMessage(schema.name, column, existing),
    blocks: true,
    ...changeType(schema, column, actual, dialect),
  } as const
  return wasTimestamp(column, existing)
    ? [{ ...other, blocks: false, upgrades: true, remedy: 'may fail' }]
    : [{ ...other, remedy: 'by hand' }]
}

/** Numbers and UUIDs cannot be made of each other, and other rows refer to them. */
function hasOtherKeyKind(
  { primaryKey }: TableSchema,
  column: ColumnSchema,
  existing: ActualColumn,
): boolean {
  if (!primaryKey.includes(column.name) || wasUuid(column, existing)) return false
  return isInteger(toBareType(column)) !== isInteger(existing.type)
}

function otherKeyKind(
  { name: table }: TableSchema,
  column: ColumnSchema,
  existing: ActualColumn,
): Difference {
  return {
    kind: 'other type',
    table,
    message: `${toMessage(table, column, existing).slice(0, -1)}, but a primary key keeps its kind.`,
    blocks: true,
    remedy: 'by hand',
    first: `Declare ${column.origin} as it was, or make a new record and copy the rows.`,
    sql: [],
  }
}

/** Values that have room go on being written; the database only takes more, without a look at the rows. */
function moreDigits(table: string, column: ColumnSchema, existing: ActualColumn): Difference {
  const alter = `alter table ${quote(table)} alter column ${quote(column.name)} type`
  return {
    kind: 'other type',
    table,
    message: toMessage(table, column, existing),
    blocks: false,
    remedy: 'safe',
    sql: [`${alter} ${column.type}`],
    undo: [`${alter} ${existing.type}`],
  }
}

function toMessage(table: string, column: ColumnSchema, { type }: ActualColumn): string {
  const { name, origin } = column
  return `${table}.${name} is of type ${type} and should be ${toKnownType(column)} (${origin}).`
}

/** Moments become texts in the form that they had. */
function toTextOfTimestamp(table: string, { name }: ColumnSchema): string {
  const text = `to_char(${quote(name)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
  return `alter table ${quote(table)} alter column ${quote(name)} type text collate "C" using ${text}`
}

function changeType(
  schema: TableSchema,
  column: ColumnSchema,
  actual: ActualTable,
  dialect: Dialect,
): Pick<Difference, 'sql' | 'undo' | 'rebuilds'> {
  const { changes } = dialect
  if (changes.kind === 'anew') return rebuildTable(schema, actual, dialect)
  const { name } = schema
  const existing = actual.columns.get(column.name) as ActualColumn
  const { current, next } = dependentsOf(schema, column, actual)
  const change = (type: string, bareType: string): string =>
    changes.changeType(name, column.name, type, bareType)
  const back = wasTimestamp(column, existing)
    ? toTextOfTimestamp(name, column)
    : change(existing.sql ?? existing.type, bare(existing.type))
  return {
    sql: [...current.drop, change(column.type, toBareType(column)), ...next.make],
    undo: [...next.drop, back, ...current.make],
  }
}

/** `numeric(12,2)` → `numeric` */
function bare(type: string): string {
  return type.replace(/\(.*\)$/, '')
}

interface Dependents {
  readonly drop: readonly string[]
  readonly make: readonly string[]
}

/** What is made of a column's values: its default, checks, and indexes of expressions or of some rows. */
function dependentsOf(
  { name: table, indexes }: TableSchema,
  column: ColumnSchema,
  actual: ActualTable,
): { readonly current: Dependents; readonly next: Dependents } {
  const name = quote(column.name)
  const alter = `alter table ${quote(table)}`
  const preset = (value: string | undefined): Dependents =>
    value === undefined
      ? { drop: [], make: [] }
      : {
          drop: [`${alter} alter column ${name} drop default`],
          make: [`${alter} alter column ${name} set default ${value}`],
        }
  const check = (one: string, sql: string): Dependents => ({
    drop: [`${alter} drop constraint if exists ${quote(one)}`],
    make: [writeAddCheck(table, { name: one, sql })],
  })
  const before = [preset(actual.columns.get(column.name)?.preset)]
  const after = [preset(column.preset)]
  for (const [one, sql] of actual.checks ?? [])
    if (isCheckOf(one, table, column.name)) before.push(check(one, sql))
  if (column.check !== undefined) after.push(check(column.check.name, column.check.sql))
  for (const index of indexes) {
    const existing = actual.indexes.get(index.name)
    const parts = [...(index.parts ?? []), index.where ?? '']
    if (existing === undefined || !parts.some((part) => part.includes(name))) continue
    const drop = writeDropIndex(index)
    before.push({ drop, make: existing.create ?? [] })
    after.push({ drop, make: writeIndex(table, index) })
  }
  const join = (list: readonly Dependents[]): Dependents => ({
    drop: list.flatMap(({ drop }) => drop),
    make: list.flatMap(({ make }) => make),
  })
  return { current: join(before), next: join(after) }
}
