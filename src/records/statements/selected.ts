/** A column in a statement's result: some engines must return a value as text, or it loses digits. */
import type { Dialect } from '../../engines/contract/engine.js'
import type { Column } from '../../engines/contract/table.js'
import type { RawBuilder, Sql } from './builder.js'

/** @param alias the alias of the column's table, if the statement has one */
export function selected(
  column: Column,
  { sql, dialect }: { readonly sql: Sql; readonly dialect: Dialect },
  alias?: string,
): RawBuilder<unknown> {
  const name = sql.ref(alias === undefined ? column.name : `${alias}.${column.name}`)
  const around = dialect.answered(column)
  return around === undefined ? name : sql`${sql.raw(around[0])}${name}${sql.raw(around[1])}`
}
