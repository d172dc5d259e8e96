/**
 * Which tables are copied, in which order, and which columns they have: the tables of the records, their join tables, and the
 * framework's own tables. A table follows the tables that it refers to.
 */
import type { Catalogue, ActualColumn, ActualTable } from '../../engines/contract/table-schema.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import type { Database } from '../database.js'
import { toSchema } from '../schema/schema.js'

export interface CopiedColumn {
  readonly name: string
  readonly source: ActualColumn
  readonly target: ActualColumn
  /** The digits of the fractions of seconds that both columns can hold. 0 for other columns. */
  readonly digits: number
  /** Whether texts of equal JSON may differ. */
  readonly isFormatted: boolean
  /** Whether the database generates numbers for it. */
  readonly isCounted: boolean
}

export interface CopiedTable {
  readonly name: string
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
  /^filigree_(?:migration|migration_batch|schema_lock|listener|change(?:_.*)?|scan_advice|copy|search_.*)$/
const framework = /^filigree_/

/** @returns the framework's own tables with rows that are copied */
export function ownTablesOf(catalogue: Catalogue): ActualTable[] {
  return [...catalogue.values()].filter(
    ({ name, isForeign }) => framework.test(name) && !uncopied.test(name) && isForeign !== true,
  )
}

export function planCopy(source: CopySide, target: CopySide): CopyPlan {
  const { database } = target
  const schemas = toSchema(database.tables, database.context.dialect, 0)
  const computed = new Set(
    [...database.tables].flatMap(({ name, columns }) =>
      columns.filter((one) => one.isComputed).map((one) => `${name}.${one.name}`),
    ),
  )
  const names = new Set(schemas.map(({ name }) => name))
  const [omissions, missing]: [string[], string[]] = [[], []]
  const own = ownTablesOf(source.catalogue).filter(({ name }) => !names.has(name))
  const listed = [
    ...schemas.map(({ name, columns, foreignKeys }) => ({
      name,
      declared: columns.map((column) => column.name),
      foreignKeys,
    })),
    ...own.map(({ name }) => ({ name, declared: [] as string[], foreignKeys: [] })),
  ]
  const tables: CopiedTable[] = []
  for (const { name, declared, foreignKeys } of listed) {
    const [from, to] = [source.catalogue.get(name), target.catalogue.get(name)]
    if (from?.isForeign === true || to?.isForeign === true) continue
    if (from === undefined || to === undefined) {
      missing.push(`Table ${name} is missing.`)
      continue
    }
    for (const column of declared)
      if (!from.columns.has(column)) missing.push(`${name}.${column} is missing.`)
    const columns: CopiedColumn[] = []
    for (const column of from.columns.values()) {
      const other = to.columns.get(column.name)
      if (column.isComputed === true || other?.isComputed === true) continue
      if (computed.has(`${name}.${column.name}`)) continue
      if (other === undefined)
        omissions.push(
          `${name}.${column.name} is not copied, because the target has no such column.`,
        )
      else columns.push(toCopied(column, other, dialectsOf(source, target)))
    }
    tables.push({
      name,
      columns,
      key: from.primaryKey ?? [],
      targetKey: to.primaryKey ?? [],
      references: foreignKeys.map(({ columns: referring, table, foreignColumns }) => ({
        columns: referring,
        table,
        foreignColumns,
        isCircular: false,
      })),
    })
    names.add(name)
  }
  for (const { name, isForeign } of source.catalogue.values())
    if (!names.has(name) && isForeign !== true && !framework.test(name))
      omissions.push(`Table ${name} is not copied, because it belongs to no record.`)
  return { tables: orderTables(tables), omissions, missing }
}

function dialectsOf(source: CopySide, target: CopySide): readonly [Dialect, Dialect] {
  return [source.database.context.dialect, target.database.context.dialect]
}

function toCopied(
  source: ActualColumn,
  target: ActualColumn,
  [from, to]: readonly [Dialect, Dialect],
): CopiedColumn {
  const digits = [from.exchange.digitsOf(source), to.exchange.digitsOf(target)]
  const isCounted = [source, target].some(
    ({ increment, preset }) => increment === true || preset?.startsWith('nextval(') === true,
  )
  return {
    name: source.name,
    source,
    target,
    digits: Math.min(...digits.map((one) => one ?? 0)),
    isFormatted: from.exchange.formatsJson(source) || to.exchange.formatsJson(target),
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
