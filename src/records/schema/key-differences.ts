/**
 * Finds tables whose primary key differs from their record's, because the record gained or lost `shardBy`, and writes
 * the change together with the references to the key. Other work is not blocked for long: the new key is built as a
 * concurrent index, and every reference is checked after it is added. Source: PostgreSQL, ALTER TABLE (USING INDEX, NOT
 * VALID).
 */
import type {
  ActualForeignKey,
  ActualTable,
  Catalogue,
  ForeignKeySchema,
  TableSchema,
} from '../../engines/contract/table-schema.js'
import {
  isOfSameField,
  referringColumn,
  toForeignKey,
  writeForeignKey,
} from '../../engines/contract/ddl.js'
import { quote, quoteInSchemaOf, quoteTable } from '../../engines/contract/quote.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import { toKeyName, toIndexName } from '../model/generated-names.js'
import { findDistribution } from './renames.js'
import { rebuildTable, type Difference } from './difference-kinds.js'

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
  const isDistributed = findDistribution(present, actual, dialect) !== undefined
  for (const schema of present) {
    const table = actual.get(schema.name) as ActualTable
    if (!hasOtherKey(schema, table)) continue
    tables.add(schema.name)
    const found = findReferences(schema, present, actual)
    for (const { table: holder, before } of found)
      references.add(`${holder}.${referringColumn(before)}`)
    differences.push(toDifference(schema, table, found, { dialect, isDistributed }))
  }
  return { differences, tables, references }
}

/** Other keys of several columns belong to other programs, unless the record has such a key too. */
function hasOtherKey({ primaryKey, distribution }: TableSchema, table: ActualTable): boolean {
  const { primaryKey: actualKey = [], isForeign, isPartitioned } = table
  if (isForeign === true || isPartitioned === true || actualKey.join() === primaryKey.join())
    return false
  if (distribution?.kind === 'sharded' || primaryKey.length > 1) return primaryKey.length > 1
  const [key] = primaryKey
  return primaryKey.length === 1 && actualKey.length === 2 && actualKey[1] === key
}

interface ChangedReference {
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
): ChangedReference[] {
  return [...actual.values()].flatMap((table) =>
    table.foreignKeys
      .filter((key) => key.table === name)
      .map((before) => {
        const schema = present.find((one) => one.name === table.name)
        const after = schema?.foreignKeys.find(
          (one) => isOfSameField(one, before) && one.table === name,
        )
        return { table: table.name, before, after }
      }),
  )
}

function toDifference(
  schema: TableSchema,
  actual: ActualTable,
  references: readonly ChangedReference[],
  { dialect, isDistributed }: { readonly dialect: Dialect; readonly isDistributed: boolean },
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
  const { changes } = dialect.tables
  if (changes.kind === 'anew') {
    return { ...difference, ...rebuildTable(schema, actual, dialect) }
  }
  const stray = references.find(({ after }) => after === undefined)
  if (stray !== undefined) {
    const column = `${stray.table}.${referringColumn(stray.before)}`
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
      { table, columns: primaryKey, isDistributed },
      pairs.map(({ holder, before, after }) => [holder, before.name, after]),
    ),
    undo: writeKeyChange(
      { table, columns: actualKey, isDistributed },
      pairs.map(({ holder, before, after }) => [holder, after.name, before]),
    ),
  }
}

interface NewKey {
  readonly table: string
  readonly columns: readonly string[]
  /** Whether a table of the records may be distributed. */
  readonly isDistributed: boolean
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
  { table, columns, isDistributed }: NewKey,
  references: readonly (readonly [holder: string, name: string, key: ForeignKeySchema])[],
): string[] {
  const name = toIndexName(table, columns, true)
  const [index, dropped] = [quote(name), quoteInSchemaOf(table, name)]
  const key = quote(toKeyName(table))
  const replace = isDistributed ? replaceInBlock : replaceTogether
  return [
    `drop index concurrently if exists ${dropped}`,
    `create unique index concurrently ${index} on ${quoteTable(table)} (${columns.map(quote).join(', ')})`,
    ...references.flatMap(([holder, oldName, reference]) => [
      replace(
        holder,
        `drop constraint if exists ${quote(oldName)}`,
        `add ${writeForeignKey(reference)} not valid`,
      ),
      `alter table ${quoteTable(holder)} validate constraint ${quote(reference.name)}`,
    ]),
    replace(
      table,
      `drop constraint if exists ${key}`,
      `add constraint ${key} primary key using index ${index}`,
    ),
  ]
}

/** One statement for both changes. */
function replaceTogether(table: string, drop: string, add: string): string {
  return `alter table ${quoteTable(table)} ${drop}, ${add}`
}

/** The same for distributed tables, whose constraints a statement must add alone. */
function replaceInBlock(table: string, drop: string, add: string): string {
  const alter = `alter table ${quoteTable(table)}`
  return `do $filigree$ begin\n  ${alter} ${drop};\n  ${alter} ${add};\nend $filigree$`
}
