/**
 * Finds columns whose type differs from their field's, and writes the SQL that changes them. Text columns that should be
 * UUIDs are converted together with the references between them. Source: PostgreSQL, ALTER TABLE; UUID Type.
 */
import type { Dialect, TypeChangeSql } from '../../engines/contract/dialect.js'
import { isConvertible } from '../../engines/contract/conversions.js'
import type {
  ActualColumn,
  ActualTable,
  ColumnSchema,
  TableSchema,
  Catalogue,
} from '../../engines/contract/table-schema.js'
import {
  isOfSameField,
  referringColumn,
  writeAddCheck,
  writeDropIndex,
  writeIndex,
  writeAddForeignKey,
} from '../../engines/contract/ddl.js'
import { quote, quoteTable } from '../../engines/contract/quote.js'
import { isCheckOf } from '../model/generated-names.js'
import { rebuildTable, type Difference } from './difference-kinds.js'

/** @param isExact whether the table was made by migrations for records: then compatible types are differences too */
export function compareType(
  schema: TableSchema,
  column: ColumnSchema,
  actual: ActualTable,
  dialect: Dialect,
  isExact: boolean,
): Difference[] {
  const existing = actual.columns.get(column.name)
  if (existing === undefined) return []
  const { canStore } = dialect.types
  if (schema.isManaged === false && canStore?.(column.type, existing.type) === true) return []
  if (hasOtherKeyKind(schema, column, existing)) return [otherKeyKind(schema, column, existing)]
  // `findUuidConversions` finds UUIDs that are stored as text.
  if (column.increment || isUuidText(column, existing)) return []
  if (column.declared !== undefined)
    return hasDeclaredType(column, existing, dialect)
      ? []
      : [otherDeclaredType(schema, column, actual, dialect)]
  const missing = missingDigits(column, existing)
  if (missing === 'digits') return [moreDigits(schema.name, column, existing)]
  const isSame = isExact
    ? toCatalogueType(column) === existing.type
    : isSameType(column, existing, actual.hasOwnForm === true)
  if (isSame) return []
  const [from, to] = [existing.type, toCatalogueType(column)].map((type) =>
    dialect.types.classOf(type),
  )
  if (!isConvertible(from, to)) return [notConvertible(schema.name, column, existing)]
  const other = {
    kind: 'other type',
    table: schema.name,
    message: toMessage(schema.name, column, existing),
    blocks: true,
    ...changeType(schema, column, actual, dialect),
  } as const
  return isTimestampText(column, existing)
    ? [{ ...other, blocks: false, upgrades: true, risk: 'may fail' }]
    : [{ ...other, risk: 'by hand' }]
}

function hasDeclaredType(
  { type, declared }: ColumnSchema,
  existing: ActualColumn,
  { types }: Dialect,
): boolean {
  return declared !== undefined && types.declared?.isSame(type, existing) !== false
}

/** The values are converted by their text. */
function otherDeclaredType(
  schema: TableSchema,
  column: ColumnSchema,
  actual: ActualTable,
  dialect: Dialect,
): Difference {
  const existing = actual.columns.get(column.name) as ActualColumn
  return {
    kind: 'other type',
    table: schema.name,
    message: `${schema.name}.${column.name} is of type ${existing.sql ?? existing.type} and should be ${column.type} (${column.origin}).`,
    blocks: true,
    risk: 'by hand',
    ...changeType(schema, column, actual, dialect),
  }
}

/** Numbers and UUIDs cannot be converted to each other, and other rows refer to them. */
function hasOtherKeyKind(
  { primaryKey }: TableSchema,
  column: ColumnSchema,
  existing: ActualColumn,
): boolean {
  if (!primaryKey.includes(column.name) || isUuidText(column, existing)) return false
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
    message: `${toMessage(table, column, existing).slice(0, -1)}, but the kind of a primary key cannot change.`,
    blocks: true,
    risk: 'by hand',
    first: `Declare ${column.origin} as before, or make a new record and copy the rows.`,
    sql: [],
  }
}

/** Values that have no obvious form in the new kind. */
function notConvertible(table: string, column: ColumnSchema, existing: ActualColumn): Difference {
  return {
    kind: 'other type',
    table,
    message: `${toMessage(table, column, existing).slice(0, -1)}, but its values cannot be converted.`,
    blocks: true,
    risk: 'by hand',
    first: `Declare ${column.origin} as before, or give the new field another name. Then copy the values in a migration of your own: filigree migrate make <name> --empty.`,
    sql: [],
  }
}

/** A decimal with more digits. Existing values still fit, so the database does not read the rows. */
function moreDigits(table: string, column: ColumnSchema, existing: ActualColumn): Difference {
  const alter = `alter table ${quoteTable(table)} alter column ${quote(column.name)} type`
  return {
    kind: 'other type',
    table,
    message: toMessage(table, column, existing),
    blocks: false,
    risk: 'safe',
    sql: [`${alter} ${column.type}`],
    undo: [`${alter} ${existing.type}`],
  }
}

function toMessage(table: string, column: ColumnSchema, { type }: ActualColumn): string {
  const { name, origin } = column
  return `${table}.${name} is of type ${type} and should be ${toCatalogueType(column)} (${origin}).`
}

function changeType(
  schema: TableSchema,
  column: ColumnSchema,
  actual: ActualTable,
  dialect: Dialect,
): Pick<Difference, 'checks' | 'sql' | 'undo' | 'rebuilds'> {
  const { changes } = dialect.tables
  if (changes.kind === 'anew') return rebuildTable(schema, actual, dialect)
  const { name } = schema
  const existing = actual.columns.get(column.name) as ActualColumn
  const { current, next } = dependentsOf(schema, column, actual)
  const { origin } = column
  const primaryKey = actual.primaryKey ?? schema.primaryKey
  const change = (from: string, to: string): TypeChangeSql =>
    changes.changeType({ table: name, column: column.name, from, to, origin, primaryKey })
  const up = change(existing.type, column.type)
  const down = change(toCatalogueType(column), existing.sql ?? existing.type)
  return {
    checks: up.checks,
    sql: [...current.drop, up.alter, ...next.make],
    undo: [...down.checks, ...next.drop, down.alter, ...current.make],
  }
}

interface Dependents {
  readonly drop: readonly string[]
  readonly make: readonly string[]
}

/** The parts that depend on a column's type: its default, checks, and indexes of expressions or of some rows. */
function dependentsOf(
  { name: table, indexes }: TableSchema,
  column: ColumnSchema,
  actual: ActualTable,
): { readonly current: Dependents; readonly next: Dependents } {
  const name = quote(column.name)
  const alter = `alter table ${quoteTable(table)}`
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
  for (const one of column.checks ?? []) after.push(check(one.name, one.sql))
  for (const index of indexes) {
    const existing = actual.indexes.get(index.name)
    const parts = [...(index.parts ?? []), index.where ?? '']
    if (existing === undefined || !parts.some((part) => part.includes(name))) continue
    const drop = writeDropIndex(table, index)
    before.push({ drop, make: existing.create ?? [] })
    after.push({ drop, make: writeIndex(table, index) })
  }
  const join = (list: readonly Dependents[]): Dependents => ({
    drop: list.flatMap(({ drop }) => drop),
    make: list.flatMap(({ make }) => make),
  })
  return { current: join(before), next: join(after) }
}

/** Types that store the same values, so that tables of other programs can be used. */
const compatibleTypes: Readonly<Record<string, readonly string[]>> = {
  bigint: ['integer', 'smallint'],
  'double precision': ['real', 'numeric'],
  numeric: ['bigint', 'integer', 'smallint'],
  text: ['character varying', 'character', 'varchar', 'uuid'],
  json: ['jsonb'],
  integer: ['int', 'bigint'],
}

/** The types of other programs for values that this framework stores under a more exact type. */
const plainTypes: Readonly<Record<string, string>> = {
  integer_boolean: 'integer',
  integer_scale_0: 'integer',
  text_uuid: 'text',
  text_timestamp: 'text',
  text_date: 'text',
  text_time: 'text',
  text_json: 'text',
}

const integers: ReadonlySet<string> = new Set(['bigint', 'integer', 'smallint', 'int'])

function isInteger(type: string): boolean {
  return integers.has(type)
}

/**
 * Whether the record can use a column as it is.
 *
 * @param isOwn whether this framework wrote the table, so that a plain type is another kind
 */
function isSameType(column: ColumnSchema, actual: ActualColumn, isOwn: boolean): boolean {
  const expected = toBareType(column)
  // Integers would round a decimal with places.
  if (isInteger(actual.type) && (digitsOf(column.type)?.scale ?? 0) > 0) return false
  // SQLite reports a declared length but does not enforce it.
  const type = actual.type.replace(/ *\(.*\)$/, '')
  if (missingDigits(column, actual) === 'scale') return false
  const plain = isOwn ? expected : (plainTypes[expected] ?? expected)
  return [expected, plain, ...(compatibleTypes[plain] ?? [])].includes(type)
}

/** The names that the catalogue uses. */
const longNames: Readonly<Record<string, string>> = {
  timestamptz: 'timestamp with time zone',
  time: 'time without time zone',
}

/** The type as the catalogue writes it, without collation and length. */
export function toBareType({ type, declared }: ColumnSchema): string {
  if (declared !== undefined) return declared.name
  const bare = (type.split(' collate ')[0] ?? type).replace(/\(.*\)$/, '')
  return longNames[bare] ?? bare
}

/** The type as the catalogue writes it, with the digits of a decimal. If they change, the column changes. */
export function toCatalogueType(column: ColumnSchema): string {
  if (column.declared !== undefined || digitsOf(column.type) === undefined)
    return toBareType(column)
  return column.type
}

/** True for a text column whose field is a `datetime`. It can be converted. */
function isTimestampText(column: ColumnSchema, actual: ActualColumn): boolean {
  return toBareType(column) === longNames.timestamptz && actual.type === 'text'
}

/** True for a text column whose field is a UUID. Records work with it, and it can be converted. */
export function isUuidText(column: ColumnSchema, actual: ActualColumn | undefined): boolean {
  return toBareType(column) === 'uuid' && actual !== undefined && texts.has(actual.type)
}

const texts: ReadonlySet<string> = new Set(['text', 'character varying', 'character'])

/**
 * @returns the side on which the column has too few digits for a decimal of the field: `scale` after the point, where
 * the database would round it, `digits` before the point
 */
function missingDigits(
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

/** A text column that is converted to UUID. */
interface UuidConversion {
  readonly schema: TableSchema
  readonly column: ColumnSchema
  readonly table: ActualTable
}

/**
 * Finds text columns whose fields are UUIDs, also in tables of other programs. They are converted together, because the
 * references between them are dropped before and created again afterwards.
 *
 * @param present the tables that the database has
 */
export function findUuidConversions(
  present: readonly TableSchema[],
  actual: Catalogue,
  { tables: { changes } }: Dialect,
): Difference[] {
  if (changes.kind === 'anew') return []
  const conversions = present.flatMap((schema) => {
    const table = actual.get(schema.name) as ActualTable
    if (table.isForeign === true) return []
    return schema.columns
      .filter((column) => isUuidText(column, table.columns.get(column.name)))
      .map((column) => ({ schema, column, table }))
  })
  if (conversions.length === 0) return []
  const references = findReferences(conversions, present, actual)
  const why =
    references === undefined ? ', as should a table without a record that refers to one' : ''
  return conversions.map((conversion, index) => {
    const { schema, column, table } = conversion
    const currentType = table.columns.get(column.name)?.type ?? 'text'
    const { before, after, undone } = partsOf(conversion)
    const alter = `alter table ${quoteTable(schema.name)} alter column ${quote(column.name)} type`
    const earlier = currentType === 'text' ? 'text collate "C"' : currentType
    const isFirst = index === 0
    const isLast = index === conversions.length - 1
    const { drop, add } = references ?? { drop: [], add: [] }
    const together = (first: boolean, sql: readonly string[], last: boolean): string[] => [
      ...(first ? drop : []),
      ...sql,
      ...(last ? add : []),
    ]
    const change = changes.changeType({
      table: schema.name,
      column: column.name,
      from: currentType,
      to: 'uuid',
      origin: column.origin,
      primaryKey: table.primaryKey ?? schema.primaryKey,
    })
    const back = `${alter} ${earlier} using ${quote(column.name)}::text`
    return {
      kind: 'other type',
      table: schema.name,
      column,
      message: `${schema.name}.${column.name} is of type ${currentType} and should be uuid (${column.origin})${why}.`,
      // Records work with either type, because placeholders get the type of the column.
      blocks: false,
      ...(references === undefined ? { risk: 'by hand' } : { upgrades: true, risk: 'may fail' }),
      checks: change.checks,
      sql: together(isFirst, [...before, change.alter, ...after], isLast),
      // The conversions are undone in reverse order.
      undo: together(isLast, [...before, back, ...undone], isFirst),
    }
  })
}

/** @returns `undefined` if a table without a record refers to one of the columns: it would have to be converted too */
function findReferences(
  conversions: readonly UuidConversion[],
  present: readonly TableSchema[],
  actual: Catalogue,
): { readonly drop: readonly string[]; readonly add: readonly string[] } | undefined {
  const changed = new Set(conversions.map(({ schema, column }) => `${schema.name}.${column.name}`))
  const keys = new Set(
    conversions
      .filter(({ schema, column }) => schema.primaryKey.includes(column.name))
      .map(({ schema }) => schema.name),
  )
  const drop: string[] = []
  const add: string[] = []
  for (const table of actual.values()) {
    const schema = present.find(({ name }) => name === table.name)
    for (const key of table.foreignKeys) {
      if (!keys.has(key.table) && !changed.has(`${table.name}.${referringColumn(key)}`)) continue
      const declared = schema?.foreignKeys.find(
        (one) => isOfSameField(one, key) && one.table === key.table,
      )
      if (declared === undefined) return undefined
      const same = { ...declared, name: key.name ?? declared.name }
      drop.push(
        `alter table ${quoteTable(table.name)} drop constraint if exists ${quote(same.name)}`,
      )
      add.push(writeAddForeignKey(table.name, same))
    }
  }
  return { drop, add }
}

/**
 * The parts that depend on the column's type: its default, checks, and indexes of expressions or of some rows.
 *
 * @returns the statements before the conversion, after it, and after it is undone
 */
function partsOf({ schema, column, table }: UuidConversion) {
  const before: string[] = []
  const after: string[] = []
  const undone: string[] = []
  const alter = `alter table ${quoteTable(schema.name)}`
  if (table.columns.get(column.name)?.preset !== undefined && column.preset !== undefined) {
    const preset = `${alter} alter column ${quote(column.name)} set default ${column.preset}`
    before.push(`${alter} alter column ${quote(column.name)} drop default`)
    after.push(preset)
    undone.push(preset)
  }
  for (const [name, sql] of table.checks ?? []) {
    if (!isCheckOf(name, schema.name, column.name)) continue
    before.push(`${alter} drop constraint if exists ${quote(name)}`)
    const declared = column.checks?.find((check) => check.name === name)
    if (declared !== undefined) after.push(writeAddCheck(schema.name, declared))
    undone.push(writeAddCheck(schema.name, { name, sql }))
  }
  for (const index of schema.indexes) {
    const parts = [...(index.parts ?? []), index.where ?? '']
    const isOver = parts.some((part) => part.includes(quote(column.name)))
    if (!isOver || !table.indexes.has(index.name)) continue
    before.push(...writeDropIndex(schema.name, index))
    after.push(...writeIndex(schema.name, index))
    undone.push(...(table.indexes.get(index.name)?.create ?? []))
  }
  return { before, after, undone }
}
