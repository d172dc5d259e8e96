/** Parts that the statements of a table share: keys under which they are kept, and the condition for undeleted rows. */
import type { Builder, RawBuilder } from './builder.js'
import type { Selection } from './plans.js'
import type { Column } from '../../engines/contract/table.js'
import type { Table } from '../model/table.js'

type Fragment = RawBuilder<unknown>

export function namesOf(columns: readonly Column[]): string {
  return columns.map(({ name }) => name).join(',')
}

export function selectionKey({ key, withDeleted }: Selection): string {
  return withDeleted ? `${key}D` : key
}

export function living({ deletedAt }: Table, sql: Builder['sql']): Fragment {
  return deletedAt === undefined ? sql`` : sql` and ${sql.ref(`t.${deletedAt.name}`)} is null`
}

/** Increments the version, if the table has one. */
export function counted({ version }: Table, sql: Builder['sql']): Fragment[] {
  if (version === undefined) return []
  return [sql`${sql.ref(version.name)} = ${sql.ref(version.name)} + 1`]
}
