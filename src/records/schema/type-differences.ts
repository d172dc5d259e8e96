/**
 * Finds columns whose type differs from their field's, and writes the SQL that changes them. Text columns that should be
 * UUIDs are converted together with the references between them. Source: PostgreSQL, ALTER TABLE; UUID Type.
 */
import type { Dialect } from '../../engines/contract/dialect.js'
import type {
  ActualColumn,
  ActualTable,
  ColumnSchema,
  TableSchema,
  Catalogue,
} from '../../engines/contract/table-schema.js'
import {
  quote,
  writeAddCheck,
  writeDropIndex,
  writeIndex,
  writeAddForeignKey,
} from '../../engines/contract/ddl.js'
import { isCheckOf } from '../model/generated-names.js'
import { rebuildTable, type Difference } from './difference-kinds.js'

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

/** Types that hold the same values, so that tables made by other programs can be used. */
const compatibleTypes: Readonly<Record<string, readonly string[]>> = {
  bigint: ['integer', 'smallint'],
  'double precision': ['real', 'numeric'],
  numeric: ['bigint', 'integer', 'smallint'],
  text: ['character varying', 'character', 'varchar', 'uuid'],
  json: ['jsonb'],
  integer: ['int', 'bigint'],
}

const integers: ReadonlySet<string> = new Set(['bigint', 'integer', 'smallint', 'int'])

function isInteger(type: string): boolean {
  return integers.has(type)
}

/** Whether the record can use a column as it is. */
function sameType(column: ColumnSchema, actual: ActualColumn): boolean {
  const expected = toBareType(column)
  // Integers would round a decimal with places.
  if (isInteger(actual.type) && (digitsOf(column.type)?.scale ?? 0) > 0) return false
  // SQLite reports a declared length but does not enforce it.
  const type = actual.type.replace(/ *\(.*\)$/, '')
  if (lacksDigits(column, actual) === 'scale') return false
  return type === expected || (compatibleTypes[expected]?.includes(type) ?? false)
}

/** The names that the catalogue uses. */
const longNames: Readonly<Record<string, string>> = {
  timestamptz: 'timestamp with time zone',
  time: 'time without time zone',
}

/** As the catalogue writes it: without collation and length. */
export function toBareType({ type }: ColumnSchema): string {
  const bare = (type.split(' collate ')[0] ?? type).replace(/\(.*\)$/, '')
  return longNames[bare] ?? bare
}

/** As the catalogue writes it, with the digits of a decimal: where they change the column has to. */
export function toKnownType(column: ColumnSchema): string {
  return digitsOf(column.type) === undefined ? toBareType(column) : column.type
}

/** True for a `datetime` column that an earlier version created as text. */
function wasTimestamp(column: ColumnSchema, actual: ActualColumn): boolean {
  return toBareType(column) === longNames.timestamptz && actual.type === 'text'
}

/** True for a UUID column that an earlier version created as text. */
export function wasUuid(column: ColumnSchema, actual: ActualColumn | undefined): boolean {
  return toBareType(column) === 'uuid' && actual !== undefined && texts.has(actual.type)
}

const texts: ReadonlySet<string> = new Set(['text', 'character varying', 'character'])

/**
 * @returns the side on which a decimal of the field does not fit: after the point, where the database would round it,
 * or before
 */
function lacksDigits(
  { type }: ColumnSchema,
  column: ActualColumn,
): 'scale' | 'digits' | undefined {
  const expected = digitsOf(type)
  const actual = digitsOf(column.type)
  if (expected === undefined || actual === undefined) return undefined
  if (actual.scale < expected.scale) return 'scale'
  return actual.precision - actual.scale < expected.precision - expected.scale
    ? 'digits'
    : undefined
}

function digitsOf(type: string): { precision: number; scale: number } | undefined {
  const [, precision, scale] = /^numeric\((\d+),(-?\d+)\)$/.exec(type) ?? []
  return precision === undefined
    ? undefined
    : { precision: Number(precision), scale: Number(scale) }
}

interface Upgrade {
  readonly schema: TableSchema
  readonly column: ColumnSchema
  readonly table: ActualTable
}

/** @param present the tables that the database has */
export function findUuidUpgrades(
  present: readonly TableSchema[],
  actual: Catalogue,
  { changes }: Dialect,
): Difference[] {
  if (changes.kind === 'anew') return []
  const upgrades = present.flatMap((schema) => {
    const table = actual.get(schema.name) as ActualTable
    if (table.isForeign === true) return []
    return schema.columns
      .filter((column) => wasUuid(column, table.columns.get(column.name)))
      .map((column) => ({ schema, column, table }))
  })
  if (upgrades.length === 0) return []
  const references = findReferences(upgrades, present, actual)
  const why =
    references === undefined ? ', as should a table without a record that refers to one' : ''
  return upgrades.map((upgrade, index) => {
    const { schema, column, table } = upgrade
    const currentType = table.columns.get(column.name)?.type ?? 'text'
    const { before, after, undone } = partsOf(upgrade)
    const alter = `alter table ${quote(schema.name)} alter column ${quote(column.name)} type`
    const earlier = currentType === 'text' ? 'text collate "C"' : currentType
    const isFirst = index === 0
    const isLast = index === upgrades.length - 1
    const { drop, add } = references ?? { drop: [], add: [] }
    const together = (first: boolean, sql: readonly string[], last: boolean): string[] => [
      ...(first ? drop : []),
      ...sql,
      ...(last ? add : []),
    ]
    const change = changes.changeType(schema.name, column.name, 'uuid', 'uuid')
    const back = `${alter} ${earlier} using ${quote(column.name)}::text`
    return {
      kind: 'other type',
      table: schema.name,
      column,
      message: `${schema.name}.${column.name} is of type ${currentType} and should be uuid (${column.origin})${why}.`,
      // Placeholders have the columns' own types.
      blocks: false,
      ...(references === undefined
        ? { remedy: 'by hand' }
        : { upgrades: true, remedy: 'may fail' }),
      sql: together(isFirst, [...before, change, ...after], isLast),
      // The last is undone first.
      undo: together(isLast, [...before, back, ...undone], isFirst),
    }
  })
}

/** @returns `undefined` where a table of another program refers to one of them: it would have to be changed too */
function findReferences(
  upgrades: readonly Upgrade[],
  present: readonly TableSchema[],
  actual: Catalogue,
): { readonly drop: readonly string[]; readonly add: readonly string[] } | undefined {
  const changed = new Set(upgrades.map(({ schema, column }) => `${schema.name}.${column.name}`))
  const keys = new Set(
    upgrades
      .filter(({ schema, column }) => schema.primaryKey.includes(column.name))
      .map(({ schema }) => schema.name),
  )
  const drop: string[] = []
  const add: string[] = []
  for (const table of actual.values()) {
    const schema = present.find(({ name }) => name === table.name)
    for (const { column, table: target, name } of table.foreignKeys) {
      if (!keys.has(target) && !changed.has(`${table.name}.${column}`)) continue
      const declared = schema?.foreignKeys.find(
        (one) => one.column === column && one.table === target,
      )
      if (declared === undefined) return undefined
      const same = { ...declared, name: name ?? declared.name }
      drop.push(`alter table ${quote(table.name)} drop constraint if exists ${quote(same.name)}`)
      add.push(writeAddForeignKey(table.name, same))
    }
  }
  return { drop, add }
}

/**
 * What is made of the column's text: its default, checks, and indexes of expressions or of some rows.
 *
 * @returns the statements before a change of the type, behind it, and behind its undoing
 */
function partsOf({ schema, column, table }: Upgrade) {
  const before: string[] = []
  const after: string[] = []
  const undone: string[] = []
  const alter = `alter table ${quote(schema.name)}`
  if (table.columns.get(column.name)?.preset !== undefined && column.preset !== undefined) {
    const preset = `${alter} alter column ${quote(column.name)} set default ${column.preset}`
    before.push(`${alter} alter column ${quote(column.name)} drop default`)
    after.push(preset)
    undone.push(preset)
  }
  for (const [name, sql] of table.checks ?? []) {
    if (!isCheckOf(name, schema.name, column.name)) continue
    before.push(`${alter} drop constraint if exists ${quote(name)}`)
    if (name === column.check?.name) after.push(writeAddCheck(schema.name, column.check))
    undone.push(writeAddCheck(schema.name, { name, sql }))
  }
  for (const index of schema.indexes) {
    const parts = [...(index.parts ?? []), index.where ?? '']
    const isOver = parts.some((part) => part.includes(quote(column.name)))
    if (!isOver || !table.indexes.has(index.name)) continue
    before.push(...writeDropIndex(index))
    after.push(...writeIndex(schema.name, index))
    undone.push(...(table.indexes.get(index.name)?.create ?? []))
  }
  return { before, after, undone }
}
