/** Finds the foreign keys that are missing, other than declared, or no longer declared, and writes the SQL that changes them. */
import {
  dropForeignKey,
  findReference,
  isOfSameField,
  referringColumn,
  toForeignKey,
  writeAddForeignKey,
} from '../../engines/contract/ddl.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import type {
  ActualForeignKey,
  ActualTable,
  ForeignKeySchema,
  TableSchema,
} from '../../engines/contract/table-schema.js'
import { toConstraintName } from '../model/generated-names.js'
import {
  type Difference,
  isSharded,
  originOf,
  rebuildTable,
  sameList,
  type TablePair,
} from './difference-kinds.js'
import type { KeyChanges } from './key-differences.js'

/** What the same migration makes, and references need. */
export interface MadeParts {
  readonly keys: KeyChanges
  /** Existing tables that are distributed. */
  readonly distributed: ReadonlySet<string>
}

/** After all tables exist, since they may refer to each other in a circle. */
export function missingKeys(schema: TableSchema, made: MadeParts, dialect: Dialect): Difference[] {
  if (dialect.tables.changes.kind === 'anew') return []
  return schema.foreignKeys.map((key) => ({
    ...missingKey(schema, key),
    risk: 'safe',
    ...lateness(schema.name, key, made),
    sql: [writeAddForeignKey(schema.name, key)],
    undo: [dropForeignKey(schema.name, key.name)],
  }))
}

export function compareForeignKeys(
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

function lateness(
  holder: string,
  { table }: ForeignKeySchema,
  { keys, distributed }: MadeParts,
): { readonly isLate?: true } {
  const isLate = keys.tables.has(table) || distributed.has(table) || distributed.has(holder)
  return isLate ? { isLate } : {}
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

/** References that only the record can have declared, and no longer declares. */
export function findStaleKeys({ schema, actual, isOwn }: TablePair): ActualForeignKey[] {
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

export function staleForeignKeys(pair: TablePair, dialect: Dialect): Difference[] {
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
