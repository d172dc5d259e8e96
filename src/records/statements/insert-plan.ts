/** Writes the statement that inserts rows: their values, what it answers, and the keys that the database counts on behind. */
import type { Dialect } from '../engines/engine.js'
import type { Column, Table } from '../model/table.js'
import { quote } from '../schema/ddl.js'
import { Slot, type RawBuilder, type Sql } from './builder.js'

type Fragment = RawBuilder<unknown>

export interface InsertParts {
  readonly table: Table
  readonly sql: Sql
  readonly dialect: Dialect
}

interface Inserted extends InsertParts {
  readonly columns: readonly Column[]
  readonly rows: number
  readonly returns: 'nothing' | 'key' | 'row'
  /** The columns of a whole row. */
  readonly answered: Fragment
}

/** Values: those of `columns`, once for every row. */
export function writeInsert({ table, sql, dialect, columns, rows, returns, answered }: Inserted) {
  const key = sql.ref(table.key.name)
  const into = sql`insert into ${sql.table(table.name)}`
  const returned = { nothing: undefined, key, row: answered }[returns]
  const returning = returned === undefined ? sql`` : sql` returning ${returned}`
  if (columns.length === 0) return sql`${into} default values${returning}`
  const lists = Array.from({ length: rows }, (_, row) => {
    const slots = columns.map((_, column) => new Slot(row * columns.length + column))
    return sql`(${sql.join(slots.map((slot) => sql.val(slot)))})`
  })
  const names = sql.join(columns.map(({ name }) => sql.ref(name)))
  const insert = sql`${into} (${names}) values ${sql.join(lists)}`
  const pass = columns.includes(table.key) ? writePass(table, dialect) : undefined
  if (pass === undefined) return sql`${insert}${returning}`
  // What is answered as text must keep its name: the rows are answered from there.
  const stored = returns === 'row' ? sql.join(table.columns.map(({ name }) => sql.ref(name))) : key
  const answer =
    returns === 'nothing' ? sql`select 1 from passed` : sql`select stored.* from stored, passed`
  return sql`with stored as (${insert} returning ${stored}), passed as (${sql.raw(pass)}) ${answer}`
}

/** In the statement that writes the keys: one journey, and no gap in which a fault leaves half. */
function writePass({ name, key }: Table, dialect: Dialect): string | undefined {
  if (key.generated !== 'increment') return undefined
  return dialect.passKeys?.(quote(name), quote(key.name))
}
