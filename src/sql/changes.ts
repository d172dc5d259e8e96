/** Writes what changes rows. Versions count on here, and of tables that soft-delete the rows stay. */
import { quote } from '../engines/contract/ddl.js'
import { join, name, raw, slot, sql, within, type Sql } from '../engines/contract/sql-text.js'
import type { Dialect } from '../engines/contract/dialect.js'
import type { Column } from '../engines/contract/table.js'
import { answeredOf, columnsOf, type RowsWriter } from './rows.js'
import type { SqlTable } from './table.js'
import type { Change, InsertChange } from './tree.js'
import { living, ref, type Writing } from './writing.js'

/** The name for the lists of values; no table has it. */
const rowsName = 'filigree_rows'
/** The same for rows that are held while they change. */
const heldName = 'filigree_held'

type Update = Extract<Change, { change: 'update' }>
type UpdateEach = Extract<Change, { change: 'updateEach' }>
type Delete = Extract<Change, { change: 'delete' }>

export function writeChange(change: Change, writer: RowsWriter): Sql {
  switch (change.change) {
    case 'insert':
      return writeInsert(change, writer)
    case 'update':
      return writeUpdate(change, writer)
    case 'updateEach':
      return writeUpdateEach(change, writer)
    case 'delete':
      return writeDelete(change, writer)
    case 'tie':
    case 'untie': {
      const { join: pairs } = change
      const [from, to] = [name(pairs.from), name(pairs.to)]
      const table = writer.writing.named(pairs.name)
      return change.change === 'untie'
        ? sql`delete from ${table} where ${from} = ${slot(0)} and ${to} = ${slot(1)}`
        : sql`insert into ${table} (${from}, ${to}) values (${slot(0)}, ${slot(1)}) on conflict do nothing`
    }
  }
}

/** `update … set …` */
export function updateHead({ table, columns, sums, first }: Update, { writing }: RowsWriter): Sql {
  const sets = columns.map((column, index) =>
    set(column, added(table, sums, column, slot(first + index))),
  )
  return sql`update ${writing.named(table.name)} set ${join([...sets, ...counted(table)])}`
}

/** A value, or the stored value with it added. */
function added(
  table: SqlTable,
  sums: readonly Column[] | undefined,
  column: Column,
  value: Sql,
): Sql {
  return sums?.includes(column) === true ? sql`${ref(table.name, column)} + ${value}` : value
}

function writeUpdate(change: Update, writer: RowsWriter): Sql {
  const { table, answers, fits, sums = [] } = change
  const { dialect } = writer.writing
  const update = sql`${updateHead(change, writer)}${updateRest(change, writer)}`
  if (fits === undefined || answers === 'row') return update
  const tests = sums.map((column, index) => {
    const [low, high] = [slot(fits[2 * index] as number), slot(fits[2 * index + 1] as number)]
    return sql`${ref(table.name, column)} between ${low} and ${high}`
  })
  const fit = sql`coalesce(${join(tests, ' and ')}, 1 = 0)`
  if (answers === 'key') return sql`${update}, ${fit}`
  if (dialect.isLocal) return sql`${update} returning ${fit}`
  const changed = name('filigree_changed')
  return sql`with ${changed} as (${update} returning ${fit} as fits) select count(*), count(*) filter (where not fits) from ${changed}`
}

function updateRest({ table, where, answers, before = [] }: Update, writer: RowsWriter): Sql {
  const { writing } = writer
  const returned =
    answers === 'nothing'
      ? undefined
      : sql` returning ${answers === 'key' ? ref(table.name, table.key) : answeredOf(table, table.name, writing)}`
  const meant = writer.where({ table, where }, table.name)
  if (before.length === 0) return sql`${meant}${returned}`
  // Held first, so that nobody changes it between what it was and what it becomes.
  const { key } = table
  const past = before.map((column, place) => [column, `filigree_p${place}`] as const)
  const read = past.map(([column, as]) => sql`, ${ref(table.name, column)} as ${name(as)}`)
  const held = sql`select ${ref(table.name, key)} as filigree_key${join(read, '')} from ${writing.named(table.name)}${meant} ${raw(writing.dialect.lists?.held ?? '')}`
  const isHeld = sql`${ref(table.name, key)} = ${name(heldName, 'filigree_key')}`
  const told = past.map(([, as]) => sql`, ${name(heldName, as)}`)
  return sql` from (${held}) as ${name(heldName)} where ${isHeld}${returned}${join(told, '')}`
}

function set({ name: column }: Column, value: Sql): Sql {
  return sql`${name(column)} = ${value}`
}

/** Increments the version, if the table has one. Where two rows have the column, the table must be named. */
function counted({ name: table, version }: SqlTable): Sql[] {
  return version === undefined ? [] : [set(version, sql`${name(table, version.name)} + 1`)]
}

function writeUpdateEach(change: UpdateEach, { writing }: RowsWriter): Sql {
  const { table, types } = change
  const { own, key, alive, head, columns, list, lists, tests } = eachOf(change, writing)
  const given = within(lists.rows, join(types.map((type, place) => list(type, place))))
  const rows = sql`${given} as ${name(rowsName)} (${join(columns)})`
  const found =
    tests.length === 0
      ? sql`${own} where ${key} = any(${list(types[0], 0)})${alive}`
      : sql`${own}, ${rows} where ${key} = ${name(rowsName, 'k')}${alive} and ${join(tests, ' and ')}`
  const held = sql`select 1 from ${found} order by ${key} ${raw(lists.held)} of ${name(table.name)}`
  const areThere = sql`(select count(*) from (${held}) as ${name(heldName)}) = ${slot(types.length)}`
  return sql`${head} from ${rows} where ${key} = ${name(rowsName, 'k')}${alive} and ${areThere} returning ${answeredOf(table, table.name, writing)}`
}

/**
 * The same for the rows of several calls: each call's rows are changed if all of them are there and nobody holds one, and
 * none of them else. It answers a call's number behind each row. Values: lists of keys and of the columns' values, of the
 * numbers of their calls and of how many rows those have, then the keys again.
 */
export function writeUpdateCalls(change: UpdateEach, { writing }: RowsWriter): Sql {
  const { table, types } = change
  const { own, key, alive, head, columns, list, lists } = eachOf(change, writing)
  const [call, size, found] = [name('filigree_call'), name('filigree_size'), name('filigree_found')]
  const values = [...types, 'integer', 'integer'].map((type, place) => list(type, place))
  const given = sql`${within(lists.rows, join(values))} as filigree_given (${join([...columns, call, size])})`
  const held = sql`select ${key} as filigree_key from ${own} where ${key} = any(${list(types[0], 0)})${alive} ${raw(lists.held)} skip locked`
  const rows = sql`select filigree_given.*, count(*) over (partition by ${call}) as ${found} from ${given} join (${held}) as ${name(heldName)} on filigree_key = ${name('k')}`
  return sql`${head} from (${rows}) as ${name(rowsName)} where ${key} = ${name(rowsName, 'k')}${alive} and ${found} = ${size} returning ${answeredOf(table, table.name, writing)}, ${call}`
}

/** The parts of both: the columns of a row of values are `k` and `c0`, `c1` … */
function eachOf({ table, columns, sums = [], hasVersions }: UpdateEach, writing: Writing) {
  const { lists } = writing.dialect
  if (lists === undefined) throw new TypeError('The database does not accept lists.')
  const own = writing.named(table.name)
  const lives = living(table, table.name)
  const named = columns.map((_, place) => `c${place}`)
  const sets = columns.map((column, place) =>
    set(column, added(table, sums, column, name(rowsName, `c${place}`))),
  )
  const tests = sums.map((column, place) => {
    const [low, high] = [`l${place}`, `h${place}`]
    named.push(low, high)
    return sql`${ref(table.name, column)} between ${name(rowsName, low)} and ${name(rowsName, high)}`
  })
  if (hasVersions === true && table.version !== undefined) {
    named.push('v')
    tests.push(sql`${ref(table.name, table.version)} = ${name(rowsName, 'v')}`)
  }
  return {
    lists,
    own,
    key: ref(table.name, table.key),
    alive: lives && sql` and ${lives}`,
    head: sql`update ${own} set ${join([...sets, ...counted(table)])}`,
    columns: ['k', ...named].map((one) => name(one)),
    tests,
    list: (type: string | undefined, place: number) => within(lists.list(type ?? ''), slot(place)),
  }
}

function writeDelete({ table, where, at, answers }: Delete, writer: RowsWriter): Sql {
  const { deletedAt } = table
  const own = writer.writing.named(table.name)
  const head =
    deletedAt === undefined
      ? sql`delete from ${own}`
      : sql`update ${own} set ${set(deletedAt, slot(at))}`
  const returned =
    answers.length === 0 ? undefined : sql` returning ${columnsOf(answers, table.name)}`
  return sql`${head}${writer.where({ table, where }, table.name)}${returned}`
}

function writeInsert(insert: InsertChange, { writing }: RowsWriter): Sql {
  const { table, columns, of, answers, or } = insert
  const returning = insertTail(insert, writing)
  if (columns.length === 0)
    return sql`insert into ${writing.named(table.name)} default values${returning}`
  const inserted = sql`${insertHead(insert, writing)} ${valuesOf(columns, of, writing.dialect.lists)}`
  if (or !== undefined) {
    const sets = or.changes.map((column) => set(column, name('excluded', column.name)))
    return sql`${inserted} on conflict (${join(or.by.map((column) => name(column.name)))}) do update set ${join([...sets, ...counted(table)])}${returning}`
  }
  const pass = passOf(insert, writing.dialect)
  if (pass === undefined) return sql`${inserted}${returning}`
  // A column that is returned as text must keep its name, because the rows are selected from there.
  const stored =
    answers === 'row' ? columnsOf(table.columns, table.name) : ref(table.name, table.key)
  const answer =
    answers === 'nothing' ? sql`select 1 from passed` : sql`select stored.* from stored, passed`
  return sql`with stored as (${inserted} returning ${stored}), passed as (${pass}) ${answer}`
}

/** `insert into … (…)` */
export function insertHead({ table, columns }: InsertChange, writing: Writing): Sql {
  const names = join(columns.map((column) => name(column.name)))
  return sql`insert into ${writing.named(table.name)} (${names})`
}

/** ` returning …`; `undefined` where nothing is answered. */
export function insertTail({ table, answers }: InsertChange, writing: Writing): Sql | undefined {
  if (answers === 'nothing') return undefined
  const key = ref(table.name, table.key)
  return sql` returning ${answers === 'key' ? key : answeredOf(table, table.name, writing)}`
}

function valuesOf(
  columns: readonly Column[],
  of: InsertChange['of'],
  lists: RowsWriter['writing']['dialect']['lists'],
): Sql {
  if (typeof of === 'number') {
    const rows = Array.from({ length: of }, (_, row) => {
      const slots = columns.map((_, column) => slot(row * columns.length + column))
      return sql`(${join(slots)})`
    })
    return sql`values ${join(rows)}`
  }
  if (lists === undefined) throw new TypeError('The database does not accept lists.')
  const values = of.map((type, place) => within(lists.list(type), slot(place)))
  return sql`select * from ${within(lists.rows, join(values))}`
}

/** In the same statement as the keys: it saves a round trip, and a failure cannot leave only half of it. */
export function passOf(
  { table, columns }: InsertChange,
  { passKeys }: Pick<Dialect, 'passKeys'>,
): Sql | undefined {
  const { key } = table
  if (!columns.includes(key) || key.generated !== 'increment' || passKeys === undefined)
    return undefined
  return raw(passKeys(quote(table.name), quote(key.name)))
}
