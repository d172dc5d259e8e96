/**
 * What a deletion does to other rows by the `onDelete` of their relations, as far as the declarations tell. The database
 * applies these rules itself. The framework reads the rows where the database's rule would not be enough: hooks run for
 * them, they count their changes, or the database cannot delete as many rows below each other. Source: decisions,
 * Records: transactions and isolation.
 */
import type { Isolation } from '../../core/transaction.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import { referencesTo } from '../model/relations.js'
import type { Relation, Table } from '../model/table.js'
import { isolationOf } from '../model/write-hooks.js'

/** The parts of `RecordsContext` that decide. */
export interface RulesContext {
  readonly tables: ReadonlySet<Table>
  readonly dialect: Pick<Dialect, 'tables'>
}

export interface ReferenceRules {
  /** The relations of other rows to rows of this table, without those that refuse a deletion. */
  readonly dependents: readonly Relation[]
  /** Rows must be read before they are deleted. */
  readonly mustRead: boolean
  /** The relations by which a deletion can come back to a table, directly or through other tables. */
  readonly cycles: readonly Relation[]
  /** The isolation that the hooks need which a deletion runs. Undefined: none runs. */
  readonly isolation: Isolation | undefined
}

/** The rules for deletions of a table's rows. They are cached for the number of known tables. */
export function referenceRulesOf(table: Table, context: RulesContext): ReferenceRules {
  const { tables } = context
  const cached = cachedRules.get(table)
  if (cached?.tables === tables && cached.size === tables.size) return cached.rules
  const rules = readRules(table, context)
  cachedRules.set(table, { tables, size: tables.size, rules })
  return rules
}

const cachedRules = new WeakMap<
  Table,
  {
    readonly tables: ReadonlySet<Table>
    readonly size: number
    readonly rules: ReferenceRules
  }
>()

function readRules(table: Table, { tables, dialect }: RulesContext): ReferenceRules {
  const deletedTables = tablesDeletedWith(table, tables)
  const references = [...deletedTables].flatMap((one) => referencesTo(tables, one))
  const clearedTables = references
    .filter(({ onDelete }) => onDelete === 'setNull')
    .map((relation) => relation.table)
  const hookedTables = [...deletedTables].filter(({ hasDeleteHooks }) => hasDeleteHooks)
  const cycles = references.filter(
    (relation) =>
      relation.onDelete === 'cascade' &&
      tablesDeletedWith(relation.table, tables).has(relation.target),
  )
  const ownReferences = referencesTo(tables, table)
  return Object.freeze({
    dependents: ownReferences.filter(({ onDelete }) => onDelete !== 'restrict'),
    mustRead:
      hookedTables.length > 0 ||
      (table.deletedAt === undefined
        ? clearedTables.some(countsChanges) ||
          (dialect.tables.maxCascadeDepth !== undefined && cycles.length > 0)
        : ownReferences.length > 0),
    cycles,
    isolation: isolationOf([
      ...hookedTables,
      ...clearedTables.filter(({ hasWriteHooks }) => hasWriteHooks),
    ]),
  })
}

/** The table, and the tables whose rows are deleted with its rows, directly or indirectly. */
function tablesDeletedWith(table: Table, tables: ReadonlySet<Table>): ReadonlySet<Table> {
  const found = new Set([table])
  // The set grows during the loop.
  for (const one of found)
    for (const { onDelete, table: referrer } of referencesTo(tables, one))
      if (onDelete === 'cascade') found.add(referrer)
  return found
}

/** Whether a change of a row has effects that the database's own rule leaves out. */
export function countsChanges({ version, updatedAt, hasWriteHooks }: Table): boolean {
  return version !== undefined || updatedAt !== undefined || hasWriteHooks
}
