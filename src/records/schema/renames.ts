/**
 * Finds tables and columns that classes rename: `@Record({ was: 'article' })`, `@Field({ was: 'title' })`. Indexes,
 * checks and references that are named after them are renamed too; an engine that cannot rename an index creates it
 * again. Sources: PostgreSQL, ALTER TABLE; SQLite, ALTER TABLE.
 */
import {
  renameCheck,
  toConstraintName,
  toIndexName,
  toKeyName,
  toTableName,
} from '../model/generated-names.js'
import type { DistributionSql } from '../../engines/contract/distribution.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import type {
  ActualIndex,
  ActualTable,
  Catalogue,
  ColumnSchema,
  TableSchema,
} from '../../engines/contract/table-schema.js'
import { referringColumn } from '../../engines/contract/ddl.js'
import {
  nameInSchema,
  quote,
  quoteInSchemaOf,
  quoteTable,
  schemaOf,
} from '../../engines/contract/quote.js'
import type { Difference } from './difference-kinds.js'

/** @returns the differences that rename, and the catalogue as it will be afterwards */
export function findRenames(
  schemas: readonly TableSchema[],
  actual: Catalogue,
  dialect: Dialect,
): { readonly renames: readonly Difference[]; readonly actual: Catalogue } {
  const tables = new Map(actual)
  const context = { dialect, distribution: findDistribution(schemas, actual, dialect) }
  const names = new Set(schemas.map(({ name }) => name))
  const renamed = new Set<string>()
  /** The name of a join table follows its records. Another record's table is taken only if such a record is renamed. */
  const canTake = ({ isJoin, foreignKeys }: TableSchema, old: string): boolean =>
    isJoin !== true || !names.has(old) || foreignKeys.some(({ table }) => renamed.has(table))
  const renames = renameAll(
    schemas,
    (name, schema) => tables.has(name) && (name === schema.name || canTake(schema, name)),
    { kind: 'renamed table', describe: ({ name }) => `table ${name}` },
    (schema, old) => {
      renamed.add(schema.name)
      return renameTable(schema, old, tables, context)
    },
  )
  for (const schema of schemas) {
    renames.push(
      ...renameAll(
        schema.columns,
        (name) => tables.get(schema.name)?.columns.has(name) === true,
        { kind: 'renamed column', table: schema.name, describe: ({ origin }) => origin },
        (column, old) => renameColumn(schema, column, old, tables, context),
      ),
    )
  }
  return { renames, actual: tables }
}

interface RenameContext {
  readonly dialect: Dialect
  /** Set if a table may be distributed. Then local tables that refer to it have the same limits. */
  readonly distribution: DistributionSql | undefined
}

/** @returns SQL that also runs where tables are distributed. Undefined if none may be */
export function findDistribution(
  schemas: readonly TableSchema[],
  actual: Catalogue,
  { tables: { distribution } }: Dialect,
): DistributionSql | undefined {
  const isDistributed = [...schemas, ...actual.values()].some(
    (table) => (table.distribution?.kind ?? 'local') !== 'local',
  )
  return isDistributed ? distribution : undefined
}

/** A table or a column. */
interface Named {
  readonly name: string
  readonly oldNames?: readonly string[] | undefined
}

interface RenameMessages<Item> {
  readonly kind: 'renamed table' | 'renamed column'
  /** The table of the columns. */
  readonly table?: string
  readonly describe: (item: Item) => string
}

/**
 * Renames as long as a new name is free and its old name exists. A rename frees the name that another one needs: of `b`
 * (was `a`) and `c` (was `b`), `c` comes first. An old name may belong to a new field, which is added afterwards.
 *
 * @param isPresent whether the database has the name now, so that this item may take it
 * @param rename changes what `isPresent` returns
 * @returns the renames, or what the schema alone cannot decide
 */
function renameAll<Item extends Named>(
  items: readonly Item[],
  isPresent: (name: string, item: Item) => boolean,
  messages: RenameMessages<Item>,
  rename: (item: Item, old: string) => Difference,
): Difference[] {
  const conflicts = [
    ...findCycles(items, messages),
    ...findSharedOldNames(items, isPresent, messages),
  ]
  if (conflicts.length > 0) return conflicts
  const renames: Difference[] = []
  const remaining = new Set(items.filter(({ oldNames }) => oldNames !== undefined))
  for (let count = -1; count !== renames.length;) {
    count = renames.length
    for (const item of remaining) {
      const old = item.oldNames?.find((name) => isPresent(name, item))
      if (old === undefined || isPresent(item.name, item)) continue
      renames.push(rename(item, old))
      remaining.delete(item)
    }
  }
  return renames
}

/** Finds items that exchange their names: the database looks the same before and after. */
function findCycles<Item extends Named>(
  items: readonly Item[],
  messages: RenameMessages<Item>,
): Difference[] {
  const byName = new Map(items.map((item) => [item.name, item]))
  const previousOf = ({ name, oldNames = [] }: Item): Item | undefined =>
    oldNames.flatMap((old) => (old === name ? [] : (byName.get(old) ?? [])))[0]
  const visited = new Set<Item>()
  return items.flatMap((item) => {
    const chain: Item[] = []
    let next: Item | undefined = item
    while (next !== undefined && !visited.has(next)) {
      visited.add(next)
      chain.push(next)
      next = previousOf(next)
    }
    const start = next === undefined ? -1 : chain.indexOf(next)
    if (start < 0) return []
    const cycle = chain.slice(start)
    return [
      toConflict(cycle, messages, {
        what: 'exchange their names, and the database looks the same before and after',
        first:
          'Remove `was` from them, and exchange the names in a migration of your own: filigree migrate make <name> --empty.',
      }),
    ]
  })
}

function findSharedOldNames<Item extends Named>(
  items: readonly Item[],
  isPresent: (name: string, item: Item) => boolean,
  messages: RenameMessages<Item>,
): Difference[] {
  const claims = new Map<string, Item[]>()
  for (const item of items) {
    if (isPresent(item.name, item)) continue
    const old = item.oldNames?.find((name) => isPresent(name, item))
    if (old !== undefined) claims.set(old, [...(claims.get(old) ?? []), item])
  }
  return [...claims]
    .filter(([, list]) => list.length > 1)
    .map(([old, list]) =>
      toConflict(list, messages, {
        what: `have the same old name, ${old}`,
        first: 'Remove `was` from all but one of them.',
      }),
    )
}

function toConflict<Item extends Named>(
  items: readonly Item[],
  { kind, table = items[0]?.name ?? '', describe }: RenameMessages<Item>,
  { what, first }: { readonly what: string; readonly first: string },
): Difference {
  const list = items.map(describe).join(' and ')
  const message = `${list.charAt(0).toUpperCase()}${list.slice(1)} ${what}.`
  return { kind, table, message, blocks: true, risk: 'by hand', first, sql: [] }
}

function renameTable(
  schema: TableSchema,
  old: string,
  tables: Map<string, ActualTable>,
  context: RenameContext,
): Difference {
  const existing = tables.get(old) as ActualTable
  const parts = renameParts(schema, { ...existing, name: old }, (column) => column, context)
  tables.delete(old)
  tables.set(schema.name, parts.table)
  for (const [name, table] of tables) {
    const foreignKeys = table.foreignKeys.map((key) =>
      key.table === old ? { ...key, table: schema.name } : key,
    )
    tables.set(name, { ...table, foreignKeys })
  }
  const canAlter = context.dialect.tables.changes.kind === 'in place'
  const key = (a: string, b: string): string[] =>
    canAlter
      ? [
          `alter index if exists ${quoteInSchemaOf(schema.name, toKeyName(a))} rename to ${quote(toKeyName(b))}`,
        ]
      : []
  return {
    kind: 'renamed table',
    table: schema.name,
    message: `Table ${old} is called ${schema.name} now.`,
    blocks: true,
    risk: 'safe',
    sql: [...moveTable(old, schema.name), ...key(old, schema.name), ...parts.sql],
    undo: [
      ...parts.undo,
      ...key(schema.name, old),
      ...moveTable(schema.name, old),
      ...parts.recreate,
    ],
  }
}

function renameColumn(
  schema: TableSchema,
  column: ColumnSchema,
  old: string,
  tables: Map<string, ActualTable>,
  context: RenameContext,
): Difference {
  const existing = tables.get(schema.name) as ActualTable
  const parts = renameParts(
    schema,
    existing,
    (name) => (name === old ? column.name : name),
    context,
  )
  tables.set(schema.name, parts.table)
  const rename = (from: string, to: string): string =>
    `alter table ${quoteTable(schema.name)} rename column ${quote(from)} to ${quote(to)}`
  return {
    kind: 'renamed column',
    table: schema.name,
    message: `${schema.name}.${old} is called ${column.name} now (${column.origin}).`,
    blocks: true,
    risk: 'safe',
    sql: [rename(old, column.name), ...parts.sql],
    undo: [...parts.undo, rename(column.name, old), ...parts.recreate],
  }
}

interface Parts {
  /** The table as it will be afterwards. */
  readonly table: ActualTable
  readonly sql: readonly string[]
  readonly undo: readonly string[]
  /** Statements that create again what was dropped, for the table as it was. */
  readonly recreate: readonly string[]
}

/** The parts that are named after the table and its columns: indexes, checks, references. */
function renameParts(
  schema: TableSchema,
  existing: ActualTable,
  toNew: (column: string) => string,
  { dialect, distribution }: RenameContext,
): Parts {
  const alter = `alter table ${quoteTable(schema.name)}`
  const canAlter = dialect.tables.changes.kind === 'in place'
  const sql: string[] = []
  const undo: string[] = []
  const recreate: string[] = []
  const addRename = (
    write: (from: string, to: string) => string,
    from: string,
    to: string,
  ): void => {
    sql.push(write(from, to))
    undo.unshift(write(to, from))
  }
  const renameConstraint = (from: string, to: string): string =>
    distribution !== undefined
      ? distribution.renameConstraint(schema.name, from, to)
      : `${alter} rename constraint ${quote(from)} to ${quote(to)}`
  const renameCheckOf = (from: string, to: string): string =>
    distribution !== undefined
      ? distribution.renameConstraint(schema.name, from, to)
      : renameCheckIfExists(schema.name, from, to)
  const renameIndex = (from: string, to: string): string =>
    `alter index ${quoteInSchemaOf(schema.name, from)} rename to ${quote(to)}`
  /** Rewrites a condition or a statement with the new names. */
  const rewrite = (text: string): string => {
    let rewritten = text
    for (const column of existing.columns.keys())
      if (toNew(column) !== column)
        rewritten = rewritten.replaceAll(quote(column), quote(toNew(column)))
    return rewritten
  }
  const renamed = (create: string, to: string, from: string): string =>
    rewrite(create)
      .replace(quote(from), quote(to))
      .replace(` on ${quoteTable(existing.name)}`, ` on ${quoteTable(schema.name)}`)
  const indexes = new Map<string, ActualIndex>()
  for (const [name, index] of existing.indexes) {
    const columns = index.columns.map(toNew)
    // Indexes of foreign keys contain more columns than their names say.
    const count = columns.findIndex(
      (_, position) =>
        name === toIndexName(existing.name, index.columns.slice(0, position + 1), index.unique),
    )
    const to =
      count < 0 ? name : toIndexName(schema.name, columns.slice(0, count + 1), index.unique)
    if (to !== name && canAlter) addRename(renameIndex, name, to)
    if (to !== name && !canAlter) {
      sql.push(`drop index ${quoteInSchemaOf(schema.name, name)}`)
      undo.unshift(`drop index if exists ${quoteInSchemaOf(schema.name, to)}`)
      recreate.push(...(index.create ?? []))
      continue
    }
    indexes.set(to, {
      ...index,
      columns,
      create: index.create?.map((one) => renamed(one, to, name)) ?? [],
    })
  }
  const checks = new Map<string, string>()
  for (const [name, condition] of existing.checks ?? []) {
    const rule = rewrite(condition)
    const newName = [...existing.columns.keys()]
      .map((column) => renameCheck(name, [existing.name, column], [schema.name, toNew(column)]))
      .find((one) => one !== undefined)
    if (newName === undefined || newName === name || !canAlter) checks.set(name, rule)
    else {
      addRename(renameCheckOf, name, newName)
      checks.set(newName, rule)
    }
  }
  const foreignKeys = existing.foreignKeys.map((key) => {
    const all = key.columns.join()
    const isOfAll = key.name === toConstraintName(existing.name, all)
    const columns = isOfAll ? key.columns : [referringColumn(key)]
    const to = toConstraintName(schema.name, columns.map(toNew).join())
    const from = toConstraintName(existing.name, columns.join())
    if (canAlter && key.name === from && key.name !== to) addRename(renameConstraint, key.name, to)
    return { ...key, columns: key.columns.map(toNew), name: to }
  })
  const columns = new Map(
    [...existing.columns.values()].map((column) => {
      const name = toNew(column.name)
      return [name, { ...column, name }]
    }),
  )
  const primaryKey = existing.primaryKey?.map(toNew)
  const { distribution: place } = existing
  const table = {
    ...{ name: schema.name, columns, indexes, foreignKeys, checks, primaryKey },
    ...(place && {
      distribution: place.kind === 'sharded' ? { ...place, column: toNew(place.column) } : place,
    }),
  }
  return { table, sql, undo, recreate }
}

/** Renames a table, after a move to the schema of its new name. */
function moveTable(from: string, to: string): string[] {
  const schema = schemaOf(to)
  const renamed = quote(nameInSchema(to))
  if (schemaOf(from) === schema)
    return from === to ? [] : [`alter table ${quoteTable(from)} rename to ${renamed}`]
  const moved = toTableName(schema, nameInSchema(from))
  const move =
    schema === undefined
      ? `do $filigree$ begin execute format('alter table ${quoteTable(from)} set schema %I', current_schema()); end $filigree$`
      : `alter table ${quoteTable(from)} set schema ${quote(schema)}`
  return [move, ...moveTable(moved, to)]
}

/** The same migration drops a check whose rule changed, so the check may be missing when `up` or `down` renames it. */
function renameCheckIfExists(table: string, from: string, to: string): string {
  return [
    `do $filigree$ begin`,
    `  if exists (select from pg_constraint where conrelid = '${quoteTable(table)}'::regclass and conname = '${from}') then`,
    `    alter table ${quoteTable(table)} rename constraint ${quote(from)} to ${quote(to)};`,
    `  end if;`,
    `end $filigree$`,
  ].join('\n')
}
