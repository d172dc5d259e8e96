/** Finds checks, defaults and primary keys of a table that differ from its record, and the SQL that changes them. */

import type {
  ActualForeignKey,
  ActualTable,
  Catalogue,
  ForeignKeySchema,
  TableSchema,
  ActualColumn,
  CheckSchema,
  ColumnSchema,
} from '../../engines/contract/table-schema.js'
import { quote, toForeignKey, writeForeignKey, writeAddCheck } from '../../engines/contract/ddl.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import { toKeyName, toIndexName, isCheckOf } from '../model/generated-names.js'
import { rebuildTable, type Difference } from './difference-kinds.js'
import { toBareType, isUuidText } from './type-differences.js'

/**
 * Compares checks by their names, which contain a hash of their text.
 *
 * @param isOwn whether the table was made for its record: then it has no default except the record's
 */
export function compareConstraints(
  schema: TableSchema,
  column: ColumnSchema,
  actual: ActualTable,
  dialect: Dialect,
  isOwn: boolean,
): Difference[] {
  const existing = actual.columns.get(column.name)
  // Checks of a text that becomes a UUID are dropped with the type.
  const names = isUuidText(column, existing) ? [] : [...(actual.checks?.keys() ?? [])]
  const stale = names.filter(
    (name) => name !== column.check?.name && isCheckOf(name, schema.name, column.name),
  )
  const differences = stale.map((name) => otherCheck(schema, column, name, actual, dialect))
  const { check } = column
  const isChecked =
    check === undefined ||
    (actual.checks?.has(check.name) === true && actual.invalidChecks?.has(check.name) !== true)
  if (!isChecked) differences.push(missingCheck(schema, column, check, actual, dialect))
  const isKey = schema.primaryKey.includes(column.name)
  if (existing !== undefined && !isKey && hasOtherDefault(column, existing, isOwn))
    differences.push(otherDefault(schema, column, existing, actual, dialect))
  return differences
}

function missingCheck(
  schema: TableSchema,
  column: ColumnSchema,
  check: CheckSchema,
  actual: ActualTable,
  dialect: Dialect,
): Difference {
  const alter = `alter table ${quote(schema.name)}`
  const isInvalid = actual.checks?.has(check.name) === true
  const state = isInvalid
    ? 'checked by the database for new rows only'
    : 'not checked by the database'
  return {
    kind: 'missing check',
    table: schema.name,
    message: `${schema.name}.${column.name} is ${state} (${column.origin}).`,
    // Repositories enforce the rules anyway.
    blocks: false,
    risk: 'may fail',
    ...change(schema, actual, dialect, {
      // Existing rows are checked in a second step, which does not block reads and writes.
      sql: [
        ...(isInvalid ? [`${alter} drop constraint if exists ${quote(check.name)}`] : []),
        `${writeAddCheck(schema.name, check)} not valid`,
      ],
      deferred: [`${alter} validate constraint ${quote(check.name)}`],
      undo: [`${alter} drop constraint ${quote(check.name)}`],
    }),
  }
}

/** A check from an earlier rule of the field. It may refuse values that the field now allows. */
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
    message: `${schema.name}.${column.name} has a check that its field no longer declares (${column.origin}).`,
    blocks: true,
    risk: 'safe',
    ...change(schema, actual, dialect, {
      sql: [`alter table ${quote(schema.name)} drop constraint if exists ${quote(name)}`],
      undo: [writeAddCheck(schema.name, { name, sql: actual.checks?.get(name) ?? 'true' })],
    }),
  }
}

/** Defaults that are neither values nor the current time were set by other programs, and cannot be compared. */
function hasOtherDefault(
  { preset, type }: ColumnSchema,
  existing: ActualColumn,
  isOwn: boolean,
): boolean {
  if (existing.preset === undefined || existing.preset === preset) return preset !== existing.preset
  const value = toPlainDefault(existing.preset, type)
  if (value === undefined) return false
  return preset === undefined ? isOwn : toPlainDefault(preset, type) !== value
}

/**
 * A default in one form, whether we or the database wrote it: `'1.50'::numeric` and `1.5` are equal, and so are
 * `((now() at time zone 'UTC')::date)` and `((now() AT TIME ZONE 'UTC'::text))::date`.
 *
 * @returns `undefined` for other expressions
 */
function toPlainDefault(sql: string, type: string): string | undefined {
  const casts = /::[a-z]+(?: [a-z]+)*(?:\(\d+(?:,\d+)?\))?(?: with(?:out)? time zone)?/gi
  // Files of migrations may come with other line ends.
  const plain = sql.replaceAll('\r\n', '\n').replace(/'(?:[^']|'')*'|[^']+/g, (part) =>
    part.startsWith("'")
      ? part
      : part
          .replace(casts, '')
          .replace(/[()\s]/g, '')
          .toLowerCase(),
  )
  const [, quoted] = /^'((?:[^']|'')*)'$/.exec(plain) ?? []
  const value = quoted ?? plain
  if (quoted === undefined && !/^(?:-?[\d.]+(?:e[+-]?\d+)?|true|false|null)$/.test(value))
    return /^(?:nowattimezone'UTC'|now|strftime'.*,'now')$/.test(value) ? value : undefined
  if (/^(?:bigint|integer|double|numeric|real)/.test(type)) return toPlainNumber(value)
  if (!type.startsWith('timestamptz')) return value
  const timestamp = Date.parse(value.replace(/([+-]\d\d)$/, '$1:00').replace(' ', 'T'))
  return Number.isNaN(timestamp) ? value : new Date(timestamp).toISOString()
}

/** A number in one form, exactly: its digits and its power of ten. `1e-07`, `0.0000001` and `0.00000010` are `1e-7`. */
function toPlainNumber(text: string): string {
  const [, sign, integer = '', fraction = '', exponent = '0'] =
    /^([+-]?)0*(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(text) ?? []
  if (sign === undefined) return text
  const digits = `${integer}${fraction}`.replace(/0+$/, '')
  const significant = digits.replace(/^0+/, '')
  if (significant === '') return '0'
  const power = Number(exponent) + integer.length - digits.length
  return `${sign === '-' ? '-' : ''}${significant}e${power}`
}

function otherDefault(
  schema: TableSchema,
  { name, preset, origin }: ColumnSchema,
  existing: ActualColumn,
  actual: ActualTable,
  dialect: Dialect,
): Difference {
  const alter = `alter table ${quote(schema.name)} alter column ${quote(name)}`
  const write = (value: string | undefined): string =>
    value === undefined ? 'drop default' : `set default ${value}`
  const where = `${schema.name}.${name}`
  return {
    kind: 'other default',
    table: schema.name,
    message:
      preset === undefined
        ? `${where} has the default ${existing.preset ?? ''} and should have none (${origin}).`
        : `${where} does not have the default ${preset} (${origin}).`,
    blocks: false,
    risk: 'safe',
    ...change(schema, actual, dialect, {
      sql: [`${alter} ${write(preset)}`],
      undo: [`${alter} ${write(existing.preset)}`],
    }),
  }
}

interface ChangeStatements {
  readonly sql: readonly string[]
  readonly deferred?: readonly string[]
  readonly undo?: readonly string[]
}

/** A table is rebuilt automatically only if it was made by this framework: in other tables something could be lost. */
function change(
  schema: TableSchema,
  actual: ActualTable,
  dialect: Dialect,
  inPlace: ChangeStatements,
): ChangeStatements & { readonly rebuilds?: boolean; readonly upgrades: boolean } {
  const { changes } = dialect
  if (changes.kind === 'in place') return { ...inPlace, upgrades: true }
  return { ...rebuildTable(schema, actual, dialect), upgrades: isOwnTable(schema, actual, true) }
}

/**
 * Whether every column has the type that its field gives it, so that the table was made for the record.
 *
 * @param isComplete whether a column without a field makes it another program's table
 */
export function isOwnTable(
  { columns }: TableSchema,
  actual: ActualTable,
  isComplete: boolean,
): boolean {
  const byName = new Map(columns.map((column) => [column.name, column]))
  return [...actual.columns.values()].every(({ name, type, sql }) => {
    const column = byName.get(name)
    if (column === undefined) return !isComplete
    return sql === undefined ? toBareType(column) === type : column.type === sql
  })
}

/**
 * Finds tables whose primary key differs from their record's, because the record gained or lost `shardBy`, and writes
 * the change together with the references to the key. Other work is not blocked for long: the new key is built as a
 * concurrent index, and every reference is checked after it is added. Source: PostgreSQL, ALTER TABLE (USING INDEX, NOT
 * VALID).
 */

export interface KeyChanges {
  readonly differences: readonly Difference[]
  /** Tables whose key changes. */
  readonly tables: ReadonlySet<string>
  /** The references that change with a key: `task.project_id`. */
  readonly references: ReadonlySet<string>
}

/** @param present the tables that the database has */
export function findKeyChanges(
  present: readonly TableSchema[],
  actual: Catalogue,
  dialect: Dialect,
): KeyChanges {
  const differences: Difference[] = []
  const tables = new Set<string>()
  const references = new Set<string>()
  for (const schema of present) {
    const table = actual.get(schema.name) as ActualTable
    if (!hasOtherKey(schema, table)) continue
    tables.add(schema.name)
    const found = findReferences(schema, present, actual)
    for (const { table: holder, before } of found) references.add(`${holder}.${before.column}`)
    differences.push(toDifference(schema, table, found, dialect))
  }
  return { differences, tables, references }
}

/** Other composite keys belong to other programs. */
function hasOtherKey({ primaryKey, isSharded }: TableSchema, table: ActualTable): boolean {
  const { primaryKey: actualKey = [], isForeign, isPartitioned } = table
  if (isForeign === true || isPartitioned === true || actualKey.join() === primaryKey.join())
    return false
  if (isSharded === true) return primaryKey.length > 1
  const [key] = primaryKey
  return primaryKey.length === 1 && actualKey.length === 2 && actualKey[1] === key
}

interface Reference {
  /** The table that has the reference. */
  readonly table: string
  readonly before: ActualForeignKey
  /** `undefined` if no record declares it: it cannot refer to the new key. */
  readonly after: ForeignKeySchema | undefined
}

function findReferences(
  { name }: TableSchema,
  present: readonly TableSchema[],
  actual: Catalogue,
): Reference[] {
  return [...actual.values()].flatMap((table) =>
    table.foreignKeys
      .filter((key) => key.table === name)
      .map((before) => {
        const schema = present.find((one) => one.name === table.name)
        const after = schema?.foreignKeys.find(
          (one) => one.column === before.column && one.table === name,
        )
        return { table: table.name, before, after }
      }),
  )
}

function toDifference(
  schema: TableSchema,
  actual: ActualTable,
  references: readonly Reference[],
  dialect: Dialect,
): Difference {
  const { name: table, primaryKey } = schema
  const { primaryKey: actualKey = [] } = actual
  const [expected, present] = [primaryKey, actualKey].map((columns) => `(${columns.join(', ')})`)
  const difference = {
    kind: 'other key',
    table,
    message: `${table} has the primary key ${present} and should have ${expected}.`,
    blocks: true,
    risk: 'by hand',
  } as const
  const { changes } = dialect
  if (changes.kind === 'anew') {
    return { ...difference, ...rebuildTable(schema, actual, dialect) }
  }
  const stray = references.find(({ after }) => after === undefined)
  if (stray !== undefined) {
    const column = `${stray.table}.${stray.before.column}`
    return {
      ...difference,
      message: `${difference.message} ${column} refers to ${present}, and no record declares that reference.`,
      first: `Drop the reference of ${column} by hand, or declare it with @BelongsTo, then run this again.`,
      sql: [],
    }
  }
  const pairs = references.map(({ table: holder, before, after }) => ({
    holder,
    before: toForeignKey(holder, before),
    after: after as ForeignKeySchema,
  }))
  return {
    ...difference,
    sql: writeKeyChange(
      table,
      primaryKey,
      pairs.map(({ holder, before, after }) => [holder, before.name, after]),
    ),
    undo: writeKeyChange(
      table,
      actualKey,
      pairs.map(({ holder, before, after }) => [holder, after.name, before]),
    ),
  }
}

/**
 * ```sql
 * create unique index concurrently "task_tenant_id_id_key" on "task" ("tenant_id", "id");
 * alter table "note" drop constraint "note_task_id_fkey", add constraint "note_task_id_fkey" foreign key … not valid;
 * alter table "note" validate constraint "note_task_id_fkey";
 * alter table "task" drop constraint "task_pkey", add constraint "task_pkey" primary key using index "task_tenant_id_id_key";
 * ```
 *
 * @param references each with its table and the name that it has before
 */
function writeKeyChange(
  table: string,
  columns: readonly string[],
  references: readonly (readonly [holder: string, name: string, key: ForeignKeySchema])[],
): string[] {
  const index = quote(toIndexName(table, columns, true))
  const key = quote(toKeyName(table))
  return [
    `drop index concurrently if exists ${index}`,
    `create unique index concurrently ${index} on ${quote(table)} (${columns.map(quote).join(', ')})`,
    ...references.flatMap(([holder, name, reference]) => [
      `alter table ${quote(holder)} drop constraint if exists ${quote(name)}, add ${writeForeignKey(reference)} not valid`,
      `alter table ${quote(holder)} validate constraint ${quote(reference.name)}`,
    ]),
    `alter table ${quote(table)} drop constraint if exists ${key}, add constraint ${key} primary key using index ${index}`,
  ]
}
