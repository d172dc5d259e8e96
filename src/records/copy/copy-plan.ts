/**
 * Which tables are copied, in which order, and which columns they have: the tables of the records, their join tables, and the
 * framework's own tables. A table follows the tables that it refers to.
 */
import type {
  Catalogue,
  ActualColumn,
  ActualTable,
  ForeignKeySchema,
  TableSchema,
} from '../../engines/contract/table-schema.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import type { Column } from '../../engines/contract/table.js'
import type { Database } from '../database.js'
import type { Table } from '../model/table.js'
import { toSchema } from '../schema/schema.js'

export interface CopiedColumn {
  readonly name: string
  readonly source: ActualColumn
  readonly target: ActualColumn
  /** The digits of the fractions of seconds that both columns can hold. 0 for other columns. */
  readonly digits: number
  /** The field's column, if it is an array where the database has arrays. */
  readonly list: Column | undefined
  /** Whether texts of equal JSON may differ. */
  readonly isFormatted: boolean
  /** Whether the database generates numbers for it. */
  readonly isCounted: boolean
}

export interface CopiedTable {
  /** The name in the target, with its schema. */
  readonly name: string
  /** The name in the source. */
  readonly sourceName: string
  readonly columns: readonly CopiedColumn[]
  /** The names of the columns of the key in the source. Empty for a table without a key. */
  readonly key: readonly string[]
  /** The names of the columns of the key in the target. */
  readonly targetKey: readonly string[]
  readonly references: readonly CopiedReference[]
}

export interface CopiedReference {
  readonly columns: readonly string[]
  readonly table: string
  readonly foreignColumns: readonly string[]
  /** A reference in a circle of tables: its rows may be copied after the rows that refer to them. */
  readonly isCircular: boolean
}

/** The two sides of a copy. */
export interface CopySide {
  readonly database: Database
  readonly catalogue: Catalogue
}

export interface CopyPlan {
  readonly tables: readonly CopiedTable[]
  /** What is not copied, a sentence for each. */
  readonly omissions: readonly string[]
  /** Columns and tables that the source lacks, a sentence for each. */
  readonly missing: readonly string[]
}

/** Tables of the framework about the database itself, and parts of search indexes, which the target fills. */
const uncopied =
  /^filigree_(?:migration|migration_batch|schema_lock|listener|commit|changes?(?:_.*)?|scans|copy|search_.*)$/
const framework = /^filigree_/

/** @returns the framework's own tables with rows that are copied */
export function ownTablesOf(catalogue: Catalogue): ActualTable[] {
  return [...catalogue.values()].filter(
    ({ name, isForeign }) => framework.test(name) && !uncopied.test(name) && isForeign !== true,
  )
}

export function planCopy(source: CopySide, target: CopySide): CopyPlan {
  const found: FoundTables = { source, target, omissions: [], missing: [] }
  const listed = listTables(source, target)
  const names = new Set(listed.map(({ sourceName }) => sourceName))
  const tables = listed.flatMap((one) => toCopiedTable(one, found) ?? [])
  for (const { name, isForeign } of source.catalogue.values())
    if (!names.has(name) && isForeign !== true && !framework.test(name))
      found.omissions.push(`Table ${name} is not copied, because it belongs to no record.`)
  const recordNames = new Set(
    listed.filter(({ declared }) => declared.length > 0).map(({ name }) => name),
  )
  const isOwn = ({ name }: CopiedTable): boolean => !recordNames.has(name)
  const ofRecords = orderTables(tables.filter((table) => !isOwn(table)))
  const ordered = [...ofRecords, ...orderTables(tables.filter(isOwn))]
  return { tables: ordered, omissions: found.omissions, missing: found.missing }
}

interface FoundTables {
  readonly source: CopySide
  readonly target: CopySide
  readonly omissions: string[]
  readonly missing: string[]
}

interface ListedTable {
  readonly name: string
  readonly sourceName: string
  /** The columns of the fields. */
  readonly declared: readonly string[]
  /** The columns of the fields of a record, by their names. */
  readonly fields: ReadonlyMap<string, Column>
  readonly foreignKeys: readonly ForeignKeySchema[]
}

/** The tables of records and links, and the framework's own tables. */
function listTables(source: CopySide, target: CopySide): ListedTable[] {
  const { tables } = target.database
  const { nameOf } = target.database.context.dialect.tables
  const [from, to] = [schemasOf(source, tables), schemasOf(target, tables)]
  const fieldsOf = new Map(
    [...tables].map(({ name, columns }) => [
      nameOf(name),
      new Map(columns.map((column) => [column.name, column])),
    ]),
  )
  const ofRecords = to.map(({ name, columns, foreignKeys }, index) => ({
    name,
    sourceName: from[index]?.name ?? name,
    declared: columns.map((column) => column.name),
    fields: fieldsOf.get(name) ?? noFields,
    foreignKeys,
  }))
  const names = new Set(ofRecords.map(({ sourceName }) => sourceName))
  const own = ownTablesOf(source.catalogue)
    .filter(({ name }) => !names.has(name))
    .map(({ name }) => ({
      name,
      sourceName: name,
      declared: [],
      fields: noFields,
      foreignKeys: [],
    }))
  return [...ofRecords, ...own]
}

const noFields: ReadonlyMap<string, Column> = new Map()

function schemasOf({ database }: CopySide, tables: Iterable<Table>): TableSchema[] {
  return toSchema(tables, database.context.dialect, 0)
}

function toCopiedTable(
  { name, sourceName, declared, fields, foreignKeys }: ListedTable,
  { source, target, omissions, missing }: FoundTables,
): CopiedTable | undefined {
  const [from, to] = [source.catalogue.get(sourceName), target.catalogue.get(name)]
  // Rows of views are rows of other tables.
  if (from?.isForeign === true || to?.isForeign === true) return undefined
  if (from === undefined || to === undefined) {
    missing.push(`Table ${name} is missing.`)
    return undefined
  }
  for (const column of declared)
    if (!from.columns.has(column)) missing.push(`${name}.${column} is missing.`)
  const columns: CopiedColumn[] = []
  for (const column of from.columns.values()) {
    const other = to.columns.get(column.name)
    const field = fields.get(column.name)
    const isComputed = [column, other, field].some((one) => one?.isComputed === true)
    if (isComputed) continue
    if (other !== undefined)
      columns.push(toCopied([column, other], dialectsOf(source, target), field))
    else
      omissions.push(`${name}.${column.name} is not copied, because the target has no such column.`)
  }
  return {
    name,
    sourceName,
    columns,
    key: toKey(from, columns),
    targetKey: toKey(to, columns),
    references: foreignKeys.map(({ columns: referring, table, foreignColumns }) => ({
      columns: referring,
      table,
      foreignColumns,
      isCircular: false,
    })),
  }
}

/** @returns an empty list if a part of the key is not copied */
function toKey({ primaryKey = [] }: ActualTable, columns: readonly CopiedColumn[]) {
  const isCopied = primaryKey.every((part) => columns.some(({ name }) => name === part))
  return isCopied ? primaryKey : []
}

function dialectsOf(source: CopySide, target: CopySide): readonly [Dialect, Dialect] {
  return [source.database.context.dialect, target.database.context.dialect]
}

function toCopied(
  [source, target]: readonly [ActualColumn, ActualColumn],
  [from, to]: readonly [Dialect, Dialect],
  field: Column | undefined,
): CopiedColumn {
  const digits = [from.bulk.exchange.digitsOf(source), to.bulk.exchange.digitsOf(target)]
  const isCounted = [source, target].some(
    ({ increment, preset }) => increment === true || preset?.startsWith('nextval(') === true,
  )
  return {
    name: source.name,
    source,
    target,
    digits: Math.min(...digits.map((one) => one ?? 0)),
    list: field?.isArray === true ? field : undefined,
    isFormatted: from.bulk.exchange.formatsJson(source) || to.bulk.exchange.formatsJson(target),
    isCounted,
  }
}

/** Puts tables behind those that they refer to. Where tables refer to each other in a circle, it marks the references. */
function orderTables(tables: readonly CopiedTable[]): CopiedTable[] {
  const waiting = new Map(tables.map((table) => [table.name, table]))
  const ordered: CopiedTable[] = []
  const isReady = ({ name, references }: CopiedTable): boolean =>
    references.every(({ table }) => table === name || !waiting.has(table))
  while (waiting.size > 0) {
    const ready = [...waiting.values()].filter(isReady)
    // Any table of the circle may be the first one.
    const next = ready.length > 0 ? ready : [...waiting.values()].slice(0, 1)
    for (const table of next) {
      waiting.delete(table.name)
      ordered.push(markCircular(table, waiting))
    }
  }
  return ordered
}

function markCircular(table: CopiedTable, waiting: ReadonlyMap<string, CopiedTable>): CopiedTable {
  const references = table.references.map((one) => ({
    ...one,
    isCircular: one.table === table.name || waiting.has(one.table),
  }))
  return { ...table, references }
}
