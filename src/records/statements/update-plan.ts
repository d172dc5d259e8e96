/** The statement that changes one row by its key. */
import type { Dialect } from '../../engines/contract/engine.js'
import type { OneRowChange } from '../../engines/contract/one-row-change.js'
import type { Column } from '../../engines/contract/table.js'
import type { Table } from '../model/table.js'
import { Slot, type Builder, type Plan, type RawBuilder } from './builder.js'
import { counted } from './plan-parts.js'

type Fragment = RawBuilder<unknown>

export interface UpdateParts {
  readonly table: Table
  readonly builder: Builder
  readonly dialect: Dialect
  readonly columns: readonly Column[]
  /** The place of the first column's value; the key's is behind the last. */
  readonly first: number
  readonly isMeant: Fragment
  readonly answered: Fragment
}

export function planUpdate(parts: UpdateParts): Plan {
  const { table, builder, dialect, columns, first, isMeant, answered } = parts
  const { sql } = builder
  const sets = columns.map(({ name }, index) => sql`${sql.ref(name)} = ${new Slot(first + index)}`)
  sets.push(...counted(table, sql))
  const head = sql`update ${sql.table(table.name)} set ${sql.join(sets)}`
  const fragment = sql`${head} where ${isMeant} returning ${answered}`
  const facts = { table: table.name, kind: 'update', bound: 1 } as const
  if (dialect.isLocal || table.shard !== undefined || !areOwn(table, columns))
    return builder.compile(fragment, facts)
  const oneRow: OneRowChange = {
    table: builder.write(sql.table(table.name)),
    key: builder.write(sql.ref(table.key.name)),
    keyPlace: columns.length + 1,
    head: builder.write(head).length,
  }
  return builder.compile(fragment, { ...facts, oneRow })
}

/** A value that must be unique or that refers to another row can be a reason to wait for what others have written. */
function areOwn({ indexes, relations }: Table, columns: readonly Column[]): boolean {
  const isUnique = (column: Column): boolean =>
    indexes.some(({ unique, columns: indexed }) => unique && indexed.includes(column))
  const refers = (column: Column): boolean =>
    [...relations.values()].some(({ kind, local }) => kind === 'belongsTo' && local === column)
  return !columns.some((column) => column.isKey || isUnique(column) || refers(column))
}
