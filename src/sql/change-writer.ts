/** Writes inserts, updates and deletes. Updates increment versions, and deletes keep soft-deleted rows. */
import { quote, quoteTable } from '../engines/contract/quote.js'
import { filled, join, name, raw, slot, sql, wrap, type Sql } from '../engines/contract/sql-text.js'
import type { Dialect } from '../engines/contract/dialect.js'
import { storedColumnsOf, type Column } from '../engines/contract/table.js'
import { definedParts } from './condition-writer.js'
import { areEqual, keyColumns, keySlots, partitionPartOf } from './key-columns.js'
import { returnedColumns, columnsOf, storedValues, type RowWriter } from './row-writer.js'
import type { SqlTable } from './table.js'
import type { Change, InsertChange } from './tree.js'
import { notDeleted, ref, type WriteContext } from './write-context.js'

/** The alias of the lists of values. No table has this name. */
const valuesName = 'filigree_rows'
/** The alias of rows that are locked while they change. */
const lockedName = 'filigree_held'

type UpdateOfRows = Extract<Change, { change: 'update' }>
type UpdateEach = Extract<Change, { change: 'updateEach' }>
type Delete = Extract<Change, { change: 'delete' }>

export function writeChange(change: Change, writer: RowWriter): Sql {
  switch (change.change) {
    case 'insert':
      return writeInsert(change, writer)
    case 'update':
      return writeUpdate(change, writer)
    case 'updateEach':
      return writeUpdateEach(change, writer)
    case 'delete':
      return writeDelete(change, writer)
    case 'link':
    case 'unlink': {
      const { join: pairs } = change
      const ends = [pairs.from, pairs.to]
      const columns = ends.flatMap((end) => end.columns.map((column) => name(column)))
      const values = ends.flatMap(({ key }, index) => keySlots(key, index))
      const table = writer.context.tableName(pairs.name)
      return change.change === 'unlink'
        ? sql`delete from ${table} where ${areEqual(columns, values)}`
        : sql`insert into ${table} (${join(columns)}) values (${join(values)}) on conflict do nothing`
    }
  }
}

/** `update … set …` */
export function updateHead(
  { table, columns, sums, firstSlot }: UpdateOfRows,
  { context }: RowWriter,
): Sql {
  const own = context.changedName(table.name)
  const sets = columns.map((column, index) =>
    set(column, addedValue(own, sums, column, context.valueOf(column, firstSlot + index))),
  )
  return sql`update ${context.tableName(table.name)} set ${join([...sets, ...versionIncrement(table, own)])}`
}

/** A value, or its sum with the stored value. */
function addedValue(
  tableName: string,
  sums: readonly Column[] | undefined,
  column: Column,
  value: Sql,
): Sql {
  return sums?.includes(column) === true ? sql`${ref(tableName, column)} + ${value}` : value
}

function writeUpdate(change: UpdateOfRows, writer: RowWriter): Sql {
  const { table, returns, boundSlots, sums = [] } = change
  const { dialect } = writer.context
  const update = sql`${updateHead(change, writer)}${updateRest(change, writer)}`
  if (boundSlots === undefined || returns === 'row') return update
  const own = writer.context.changedName(table.name)
  const tests = sums.map((column, index) => {
    const [low, high] = [
      slot(boundSlots[2 * index] as number),
      slot(boundSlots[2 * index + 1] as number),
    ]
    return sql`${ref(own, column)} between ${low} and ${high}`
  })
  const fit = sql`coalesce(${join(tests, ' and ')}, 1 = 0)`
  if (returns === 'key') return sql`${update}, ${fit}`
  if (!dialect.can.writesInWith) return sql`${update} returning ${fit}`
  const changed = name('filigree_changed')
  return sql`with ${changed} as (${update} returning ${fit} as fits) select count(*), count(*) filter (where not fits) from ${changed}`
}

function updateRest(
  { table, where, returns, previousColumns = [] }: UpdateOfRows,
  writer: RowWriter,
): Sql {
  const { context } = writer
  const own = context.changedName(table.name)
  const returned =
    returns === 'nothing'
      ? undefined
      : sql` returning ${returns === 'key' ? storedValues([table.key], own, context) : returnedColumns(table, own, context)}`
  const whereSql = writer.where({ table, where }, own)
  if (previousColumns.length === 0) return sql`${whereSql}${returned}`
  // Locked first, so that no other transaction changes the row between reading and writing it.
  const { key } = table
  const previous = previousColumns.map((column, index) => [column, `filigree_p${index}`] as const)
  const read = previous.map(([column, as]) => sql`, ${ref(own, column)} as ${name(as)}`)
  const keyNames = key.parts?.map((_, index) => `filigree_key${index}`) ?? ['filigree_key']
  const keys = keyColumns(own, key)
  const keyParts = keys.map((column, index) => sql`${column} as ${raw(keyNames[index] as string)}`)
  const locked = sql`select ${join(keyParts)}${join(read, '')} from ${context.tableName(table.name)}${whereSql} ${raw(context.dialect.bulk.lists?.lockClause ?? '')}`
  const isLocked = areEqual(
    keys,
    keyNames.map((one) => name(lockedName, one)),
  )
  const previousValues = previous.map(([, as]) => sql`, ${name(lockedName, as)}`)
  return sql` from (${locked}) as ${name(lockedName)} where ${isLocked}${returned}${join(previousValues, '')}`
}

function set({ name: column }: Column, value: Sql): Sql {
  return sql`${name(column)} = ${value}`
}

/** Increments the version, if the table has one. The table is named, because other tables in the statement may have it too. */
function versionIncrement({ version }: SqlTable, own: string): Sql[] {
  return version === undefined ? [] : [set(version, sql`${ref(own, version)} + 1`)]
}

function writeUpdateEach(change: UpdateEach, { context }: RowWriter): Sql {
  const { table, types } = change
  const { own, tableName, isKey, isAmong, andFilter, head, columns, list, lists, tests } =
    updateEachParts(change, context)
  const rowsOfValues = wrap(lists.rows, join(types.map((type, index) => list(type, index))))
  const rows = sql`${rowsOfValues} as ${name(valuesName)} (${join(columns)})`
  const found =
    isAmong !== undefined && tests.length === 0
      ? sql`${tableName} where ${isAmong}${andFilter}`
      : sql`${tableName}, ${rows} where ${join([isKey, ...tests], ' and ')}${andFilter}`
  const order = join(keyColumns(own, table.key))
  const locked = sql`select 1 from ${found} order by ${order} ${raw(lists.lockClause)} of ${name(own)}`
  const allExist = sql`(select count(*) from (${locked}) as ${name(lockedName)}) = ${slot(types.length)}`
  return sql`${head} from ${rows} where ${isKey}${andFilter} and ${allExist} returning ${returnedColumns(table, own, context)}`
}

/**
 * Writes an `updateEach` of several calls as one statement. The rows of a call are changed if all of them exist and none is
 * locked, otherwise none of them is. The number of the call follows each returned row. Values: lists of keys, of the values of
 * the columns, of call numbers and of row counts of those calls.
 */
export function writeUpdateOfCalls(change: UpdateEach, { context }: RowWriter): Sql {
  const { table, types } = change
  const { own, tableName, isKey, isAmong, andFilter, head, columns, list, lists } = updateEachParts(
    change,
    context,
  )
  const [call, size, count] = [name('filigree_call'), name('filigree_size'), name('filigree_count')]
  const values = [...types, 'integer', 'integer'].map((type, index) => list(type, index))
  const rowsOfValues = sql`${wrap(lists.rows, join(values))} as ${name(valuesName)} (${join([...columns, call, size])})`
  const lock = raw(`${lists.lockClause} of ${quote(own)} skip locked`)
  const found =
    isAmong === undefined
      ? sql`${rowsOfValues}, ${tableName} where ${isKey}${andFilter} ${lock}`
      : sql`${rowsOfValues} join (select ${ref(own, table.key)} as filigree_key from ${tableName} where ${isAmong}${andFilter} ${lock}) as filigree_found on filigree_key = ${name('k0')}`
  const locked = sql`select ${name(valuesName)}.* from ${found}`
  const rows = sql`select *, count(*) over (partition by ${call}) as ${count} from (${locked}) as ${name(lockedName)}`
  return sql`${head} from (${rows}) as ${name(valuesName)} where ${isKey}${andFilter} and ${count} = ${size} returning ${returnedColumns(table, own, context)}, ${call}`
}

/** The common parts of both. The columns of the lists of values are `k0` …, `c0`, `c1` … */
function updateEachParts(
  { table, columns, types, sums = [], hasVersions }: UpdateEach,
  context: WriteContext,
) {
  const { lists } = context.dialect.bulk
  if (lists === undefined) throw new TypeError('The database does not accept lists.')
  const tableName = context.tableName(table.name)
  const own = context.changedName(table.name)
  const isNotDeleted = notDeleted(table, own)
  const isInShard = table.shard && sql`${ref(own, table.shard)} = ${slot(types.length + 1)}`
  const filter = definedParts(isNotDeleted, isInShard)
  const columnNames = columns.map((_, index) => `c${index}`)
  const keys = keyColumns(own, table.key)
  const keyNames = keys.map((_, index) => `k${index}`)
  const itemAt = (index: number): Sql =>
    wrap(lists.item(types[keys.length + index] ?? ''), name(valuesName, `c${index}`))
  const sets = columns.map((column, index) =>
    set(column, addedValue(own, sums, column, itemAt(index))),
  )
  const tests = sums.map((column, index) => {
    const [low, high] = [`l${index}`, `h${index}`]
    columnNames.push(low, high)
    return sql`${ref(own, column)} between ${name(valuesName, low)} and ${name(valuesName, high)}`
  })
  if (hasVersions === true && table.version !== undefined) {
    columnNames.push('v')
    tests.push(sql`${ref(own, table.version)} = ${name(valuesName, 'v')}`)
  }
  const list = (type: string | undefined, index: number): Sql =>
    wrap(lists.list(type ?? ''), slot(index))
  const isThisRow = areEqual(
    keys,
    keyNames.map((one) => name(valuesName, one)),
  )
  const part = partitionPartOf(table.key, context.dialect)
  return {
    lists,
    own,
    tableName,
    // The planner leaves partitions out only by a list of values.
    isKey:
      part === undefined
        ? isThisRow
        : sql`${isThisRow} and ${keys[part]} = any(${list(types[part], part)})`,
    // By a list, an index finds all rows in one scan.
    isAmong:
      table.key.parts === undefined
        ? sql`${ref(own, table.key)} = any(${list(types[0], 0)})`
        : undefined,
    andFilter: filter.length === 0 ? undefined : sql` and ${join(filter, ' and ')}`,
    head: sql`update ${tableName} set ${join([...sets, ...versionIncrement(table, own)])}`,
    columns: [...keyNames, ...columnNames].map((one) => name(one)),
    tests,
    list,
  }
}

function writeDelete({ table, where, at, returns }: Delete, writer: RowWriter): Sql {
  const { deletedAt } = table
  const tableName = writer.context.tableName(table.name)
  const own = writer.context.changedName(table.name)
  const head =
    deletedAt === undefined
      ? sql`delete from ${tableName}`
      : sql`update ${tableName} set ${set(deletedAt, slot(at))}`
  const returned =
    returns.length === 0 ? undefined : sql` returning ${storedValues(returns, own, writer.context)}`
  return sql`${head}${writer.where({ table, where }, own)}${returned}`
}

function writeInsert(insert: InsertChange, { context }: RowWriter): Sql {
  const { table, columns, rowCountOrTypes, returns, onConflict } = insert
  const returning = insertTail(insert, context)
  const own = context.changedName(table.name)
  if (columns.length === 0)
    return sql`insert into ${context.tableName(table.name)} default values${returning}`
  const inserted = sql`${insertHead(insert, context)} ${valuesOf(columns, rowCountOrTypes, context)}`
  if (onConflict !== undefined) {
    const sets = onConflict.updates.map((column) => set(column, name('excluded', column.name)))
    const key = storedColumnsOf(table.key)
    const isKey =
      key.length === onConflict.conflictColumns.length &&
      onConflict.conflictColumns.every((column) => key.includes(column))
    const targets = onConflict.conflictColumns.map((column) =>
      isKey ? name(column.name) : conflictTarget(column, context),
    )
    return sql`${inserted} on conflict (${join(targets)}) do update set ${join([...sets, ...versionIncrement(table, own)])}${returning}`
  }
  const advance = sequenceAdvance(insert, context.dialect)
  if (advance === undefined) return sql`${inserted}${returning}`
  // A column that is returned as text must keep its name, because the rows are selected from there.
  const stored =
    returns === 'row' ? columnsOf(table.columns, own) : storedValues([table.key], own, context)
  const result =
    returns === 'nothing' ? sql`select 1 from passed` : sql`select stored.* from stored, passed`
  return sql`with stored as (${inserted} returning ${stored}), passed as (${advance}) ${result}`
}

/** A column as its unique index contains it. The primary key contains plain columns. */
function conflictTarget(column: Column, { dialect }: WriteContext): Sql {
  const template = dialect.values.comparable?.(column)
  const value = name(column.name)
  return template === undefined ? value : filled(template, { c: value })
}

/** `insert into … (…)` */
export function insertHead({ table, columns }: InsertChange, context: WriteContext): Sql {
  const names = join(columns.map((column) => name(column.name)))
  return sql`insert into ${context.tableName(table.name)} (${names})`
}

/** Writes ` returning …`, or `undefined` if nothing is returned. */
export function insertTail(
  { table, returns }: InsertChange,
  context: WriteContext,
): Sql | undefined {
  if (returns === 'nothing') return undefined
  const own = context.changedName(table.name)
  const key = storedValues([table.key], own, context)
  return sql` returning ${returns === 'key' ? key : returnedColumns(table, own, context)}`
}

function valuesOf(
  columns: readonly Column[],
  of: InsertChange['rowCountOrTypes'],
  context: WriteContext,
): Sql {
  const { lists } = context.dialect.bulk
  if (typeof of === 'number') {
    const rows = Array.from({ length: of }, (_, row) => {
      const slots = columns.map((column, index) =>
        context.valueOf(column, row * columns.length + index),
      )
      return sql`(${join(slots)})`
    })
    return sql`values ${join(rows)}`
  }
  if (lists === undefined) throw new TypeError('The database does not accept lists.')
  const values = of.map((type, index) => wrap(lists.list(type), slot(index)))
  const rows = wrap(lists.rows, join(values))
  if (of.every((type) => lists.item(type) === undefined)) return sql`select * from ${rows}`
  const names = of.map((_, index) => name(`c${index}`))
  const items = of.map((type, index) => wrap(lists.item(type), names[index] as Sql))
  return sql`select ${join(items)} from ${rows} as ${name(valuesName)} (${join(names)})`
}

/** Advances the sequence beyond inserted keys, in the same statement: no round trip, and a failure undoes both. */
export function sequenceAdvance(
  { table, columns }: InsertChange,
  { bulk: { passKeys } }: Pick<Dialect, 'bulk'>,
): Sql | undefined {
  const { key } = table
  if (!columns.includes(key) || key.generated !== 'increment' || passKeys === undefined)
    return undefined
  return raw(passKeys(quoteTable(table.name), quote(key.name)))
}
