/** Writes the statement that inserts rows: their values, what it returns, and how the key's sequence continues. */
import type { Dialect } from '../../engines/contract/engine.js'
import type { Column } from '../../engines/contract/table.js'
import type { Table } from '../model/table.js'
import { quote } from '../../engines/ddl.js'
import { Slot, type RawBuilder, type Sql, type StatementFacts } from './builder.js'

type Fragment = RawBuilder<unknown>

export interface InsertParts {
  readonly table: Table
  readonly sql: Sql
  readonly dialect: Dialect
  /** The columns of a whole row. */
  readonly answered: Fragment
}

interface Inserted extends InsertParts {
  readonly columns: readonly Column[]
  readonly returns: 'nothing' | 'key' | 'row'
}

/**
 * New rows wait for others only where a value must be unique or refers to another row: the one who has written or deleted that
 * must end first.
 */
export function insertFacts(table: Table, columns: readonly Column[]): StatementFacts {
  const { name, key, indexes, relations } = table
  const isKeyed = columns.includes(key) && key.generated !== 'uuid'
  const mayWait =
    isKeyed ||
    indexes.some(({ unique }) => unique) ||
    [...relations.values()].some(({ kind }) => kind === 'belongsTo')
  return { table: name, kind: 'insert', mayWait }
}

/** Values: those of `columns`, once for every row. */
export function writeInsert(inserted: Inserted, rows: number): Fragment {
  const { table, sql, columns } = inserted
  if (columns.length === 0) {
    const into = sql`insert into ${sql.table(table.name)} default values`
    return sql`${into}${writeReturning(inserted)}`
  }
  const lists = Array.from({ length: rows }, (_, row) => {
    const slots = columns.map((_, column) => new Slot(row * columns.length + column))
    return sql`(${sql.join(slots.map((slot) => sql.val(slot)))})`
  })
  return writeAnswered(inserted, sql`values ${sql.join(lists)}`)
}

/**
 * Values: a list for each of `columns`.
 *
 * @param types the types of those columns in the database
 */
export function writeInsertLists(inserted: Inserted, types: readonly string[]): Fragment {
  const { sql, dialect } = inserted
  if (dialect.lists === undefined) throw new TypeError('The database does not accept lists.')
  const [before, behind] = dialect.lists.rows
  const lists = types.map((type, place) => {
    const around = dialect.lists?.list(type) ?? ['', '']
    return sql`${sql.raw(around[0])}${new Slot(place)}${sql.raw(around[1])}`
  })
  return writeAnswered(
    inserted,
    sql`select * from ${sql.raw(before)}${sql.join(lists)}${sql.raw(behind)}`,
  )
}

function writeAnswered(inserted: Inserted, source: Fragment): Fragment {
  const { table, sql, dialect, columns, returns } = inserted
  const names = sql.join(columns.map(({ name }) => sql.ref(name)))
  const insert = sql`insert into ${sql.table(table.name)} (${names}) ${source}`
  const pass = columns.includes(table.key) ? writePass(table, dialect) : undefined
  if (pass === undefined) return sql`${insert}${writeReturning(inserted)}`
  // A column that is returned as text must keep its name, because the rows are selected from there.
  const stored =
    returns === 'row'
      ? sql.join(table.columns.map(({ name }) => sql.ref(name)))
      : sql.ref(table.key.name)
  const answer =
    returns === 'nothing' ? sql`select 1 from passed` : sql`select stored.* from stored, passed`
  return sql`with stored as (${insert} returning ${stored}), passed as (${sql.raw(pass)}) ${answer}`
}

function writeReturning({ sql, table, returns, answered }: Inserted): Fragment {
  const returned = { nothing: undefined, key: sql.ref(table.key.name), row: answered }[returns]
  return returned === undefined ? sql`` : sql` returning ${returned}`
}

/** In the same statement as the keys: it saves a round trip, and a failure cannot leave only half of it. */
function writePass({ name, key }: Table, dialect: Dialect): string | undefined {
  if (key.generated !== 'increment') return undefined
  return dialect.passKeys?.(quote(name), quote(key.name))
}
