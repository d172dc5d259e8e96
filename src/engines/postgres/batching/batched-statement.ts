/**
 * Writes statements that combine many calls of another statement: they join the values of all calls, one row for each,
 * with the other statement. Source: PostgreSQL, LATERAL Subqueries; Table Functions, WITH ORDINALITY; PREPARE.
 */
import type { Engine, Statement } from '../../contract/engine.js'
import { EngineError } from '../../contract/engine-error.js'
import type { AnyOfSql, OneRowChange, ValueSqlAt } from '../../contract/statement.js'
import { postgresLists } from '../bulk-insert.js'

export interface BatchedStatement {
  /** Returns the rows of all calls. The last column is the number of the call, from 1. */
  readonly statement: Statement
  /** The maximum number of calls. Undefined: any number. */
  readonly maxCalls?: number
  /** Converts the values of the calls to one list for each placeholder. */
  readonly toLists: (calls: readonly (readonly unknown[])[]) => readonly unknown[]
}

/** Writes a batched statement with the types of the placeholders. */
export type WriteBatch = (
  statement: Statement,
  types: readonly string[],
) => BatchedStatement | undefined

/**
 * Creates the batched statement, after the statement itself has run once. Never rejects.
 *
 * @returns `never` if the statement cannot be batched, `unknown` if the database was unavailable
 */
export async function prepareBatch(
  statement: Statement,
  engine: Engine,
  write: WriteBatch,
): Promise<BatchedStatement | 'never' | 'unknown'> {
  try {
    if (engine.batching === undefined) return 'never'
    return write(statement, await engine.batching.parameterTypes(statement)) ?? 'never'
  } catch (error) {
    return error instanceof EngineError && error.kind === 'unavailable' ? 'unknown' : 'never'
  }
}

/** @returns `undefined` if the statement has no placeholders, or cannot be printed with other values */
export function writeBatchedRead(
  { print, tables, partitions }: Statement,
  types: readonly string[],
): BatchedStatement | undefined {
  if (print === undefined || types.length === 0) return undefined
  if (partitions?.areFew === true) return writeBatchedFind(print, tables, types)
  const callRows = callRowsSql(types, { expectsOne: partitions === undefined })
  const calls = `${callRows} cross join lateral (${print(callValues(types), isInList(types))})`
  return { statement: readOfCalls(calls, tables), toLists: toColumnLists(types) }
}

/**
 * Finds one row for each call in a table with partitions, by a statement that the server plans once. Partitions without a row
 * of any call are left out when the statement starts, and the others for each call. Without that, each partition costs as
 * much as a find.
 */
function writeBatchedFind(
  print: NonNullable<Statement['print']>,
  tables: readonly string[],
  types: readonly string[],
): BatchedStatement {
  const compared = new ComparedValues(types)
  const found = print(callValues(types), compared.isAnyOf)
  return {
    statement: readOfCalls(`${callRowsSql(types)} cross join lateral (${found})`, tables),
    maxCalls: maxCompared,
    toLists: compared.after(toColumnLists(types)),
  }
}

/** The maximum number of calls in partitions. More comparisons would cost more than further statements. */
const maxCompared = 16

/**
 * Comparisons with a placeholder for each call, after those of the lists. By them, partitions are left out when a statement
 * starts, which is impossible by a list. Source: PostgreSQL, Partition Pruning.
 */
class ComparedValues {
  readonly #types: readonly string[]
  readonly #write: (value: string) => string
  /** The positions of the values that are compared for each call. */
  readonly #positions: number[] = []

  constructor(types: readonly string[], write = (value: string) => value) {
    this.#types = types
    this.#write = write
  }

  readonly isAnyOf: AnyOfSql = (column, position) => {
    if (!this.#positions.includes(position)) this.#positions.push(position)
    const first = this.#types.length + this.#positions.indexOf(position) * maxCompared + 1
    const values = Array.from({ length: maxCompared }, (_, index) =>
      this.#write(`$${first + index}::${this.#types[position - 1] ?? ''}`),
    )
    // Two lists, because an index would be searched for all values of one.
    const lists = [values.slice(1), values.slice(0, 1)]
    return `(${lists.map((list) => `${column} = any(array[${list.join(', ')}])`).join(' or ')})`
  }

  after(toLists: BatchedStatement['toLists']): BatchedStatement['toLists'] {
    return (calls) => [
      ...toLists(calls),
      ...this.#positions.flatMap((position) =>
        Array.from({ length: maxCompared }, (_, call) => calls[call]?.[position - 1] ?? null),
      ),
    ]
  }
}

/** @param calls SQL of the rows of the calls, joined with the rows that each of them reads */
function readOfCalls(calls: string, tables: readonly string[]): Statement {
  return Object.freeze({
    sql: `select filigree_rows.*, ${callNumberSql} from ${calls} as filigree_rows`,
    kind: 'select',
    tables,
    mayWait: false,
    for: 'client',
    together: 'calls',
  })
}

/**
 * Updates the row of each call. Rows that are locked or missing are skipped, so that the statement never waits. Source:
 * PostgreSQL, SELECT, The Locking Clause.
 */
export function writeBatchedUpdate(
  { tables, oneRow }: Statement,
  types: readonly string[],
): BatchedStatement | undefined {
  if (oneRow === undefined) return undefined
  const { table, own, partitions, print, returning } = oneRow
  const isFew = partitions?.areFew === true
  const compared = new ComparedValues(types, hiddenValue)
  const isAnyOf = isFew ? compared.isAnyOf : isInList(types)
  const isKey = `${isKeySql(oneRow, types)}${inPartitionsSql(oneRow, isAnyOf)}`
  const callRows = callRowsSql(types, { expectsOne: partitions?.areFew !== false })
  const lockedRows = `select filigree_call.* from ${callRows}, ${table} where ${isKey} for no key update of ${own} skip locked`
  const { head, condition } = print(callValues(types), isAnyOf)
  return {
    statement: Object.freeze({
      sql: `${head} from (${lockedRows}) as filigree_call where ${condition}${returning}, ${callNumberSql}`,
      kind: 'update',
      tables,
      mayWait: false,
      for: 'client',
    }),
    ...(isFew && { maxCalls: maxCompared }),
    toLists: compared.after(toColumnLists(types)),
  }
}

/**
 * Hides a value from the planner, so that a plan for given values never seems cheaper than one for all values: the server then
 * plans the statement once.
 */
const hiddenValue = (value: string): string => `case when now() is null then null else ${value} end`

function isKeySql({ own, key }: OneRowChange, types: readonly string[]): string {
  const valueAt = callValues(types)
  return key.map(({ column, position }) => `${own}.${column} = ${valueAt(position)}`).join(' and ')
}

/** Partitions are left out only by the values of all calls. @returns an empty text if there are no partitions */
function inPartitionsSql({ own, key, partitions }: OneRowChange, isAnyOf: AnyOfSql): string {
  const part = partitions === undefined ? undefined : key[partitions.part]
  return part === undefined ? '' : ` and ${isAnyOf(`${own}.${part.column}`, part.position)}`
}

/**
 * Updates the rows of each call, if none of them is locked, so that the statement never waits. The lists of the calls
 * are joined as text.
 */
export function writeBatchedRowUpdates({ tables, rows }: Statement): BatchedStatement | undefined {
  if (rows === undefined) return undefined
  const { together, order, lists, sizeOf } = rows
  return {
    statement: Object.freeze({
      sql: together,
      kind: 'update',
      tables,
      mayWait: false,
      for: 'client',
    }),
    toLists: (calls) => {
      const values: unknown[] = []
      for (let position = 0; position < lists; position++)
        values.push(`{${calls.map((call) => (call[position] as string).slice(1, -1)).join()}}`)
      values.push(...callNumbersOf(calls.map(sizeOf)))
      return order.map((index) => values[index])
    },
  }
}

/** The call of each row, and the number of rows of that call. */
function callNumbersOf(sizes: readonly number[]): readonly [calls: string, sizes: string] {
  const each = (text: (call: number) => number): string =>
    `{${sizes.map((size, call) => `${text(call)},`.repeat(size).slice(0, -1)).join()}}`
  return [each((call) => call + 1), each((call) => sizes[call] ?? 0)]
}

/**
 * Combines a sequence of updates of single rows, all from one caller, to one update of several rows. It updates all
 * rows or, if one is missing or locked, none. Rows are updated in the order of the calls, as triggers expect. Returned
 * rows end with their position and the number of their call.
 */
export function writeOrderedUpdates(
  { tables, oneRow }: Statement,
  types: readonly string[],
): BatchedStatement | undefined {
  if (oneRow === undefined) return undefined
  const { table, own, key, partitions, print, returning } = oneRow
  const { head, condition } = print(callValues(types))
  const inPartitions = inPartitionsSql(oneRow, isInList(types))
  const callRows = callRowsSql(types, {
    expectsOne: partitions === undefined,
    numbers: ['filigree_group', 'filigree_size'],
  })
  const lockedRows = `select filigree_call.* from ${callRows}, ${table} where ${condition}${inPartitions} for no key update of ${own} skip locked`
  const completeCalls = `select filigree_held.*, count(*) over (partition by filigree_group order by filigree_place rows between unbounded preceding and unbounded following) as filigree_found from (${lockedRows}) as filigree_held`
  const together = `${head} from (${completeCalls}) as filigree_call where ${isKeySql(oneRow, types)} and filigree_found = filigree_size${inPartitions}${returning}, ${callNumberSql}, filigree_group`
  const toRows = toColumnLists(types)
  return {
    statement: Object.freeze({
      sql: together,
      kind: 'update',
      tables,
      mayWait: false,
      for: 'client',
      rows: {
        together,
        order: Array.from({ length: types.length + 2 }, (_, index) => index),
        lists: types.length,
        keys: key.map(({ position }) => position - 1),
        sizeOf: (values: readonly unknown[]) => (values[types.length] as string).split(',').length,
      },
    }),
    toLists: (rows) => [...toRows(rows), ...callNumbersOf([rows.length])],
  }
}

/** Milliseconds that a batched insert may wait for a lock. After that, each row is inserted separately. */
const insertLockTimeout = 100

/**
 * Inserts one row for each call and returns them in order, or none if a trigger of the table has skipped one. Source:
 * PostgreSQL, INSERT; Configuration Settings Functions.
 */
export function writeBatchedInsert(
  { tables, newRow, mayWait }: Statement,
  types: readonly string[],
): BatchedStatement | undefined {
  if (newRow === undefined || types.length === 0) return undefined
  const valueAt = callValues(types)
  const values = types.map((_, index) => valueAt(index + 1))
  const lockTimeoutSql = `(select set_config('lock_timeout', '${insertLockTimeout}', true) as is_set) as filigree_patience`
  const insertSql = `${newRow.head} select ${values.join(', ')} from ${callRowsSql(types)}, ${lockTimeoutSql} where is_set <> '' order by filigree_call.filigree_place${newRow.returning}`
  const isComplete = `(select case when count(*) = cardinality($1) then 1 else 0 end from filigree_made)`
  return {
    statement: Object.freeze({
      sql: `with filigree_made as (${insertSql}) select * from filigree_made where 1 / ${isComplete} = 1`,
      kind: 'insert',
      tables,
      mayWait,
      for: 'client',
    }),
    toLists: toColumnLists(types),
  }
}

const callNumberSql = 'filigree_call.filigree_place::integer'

interface CallRows {
  /**
   * Whether a test that all rows pass makes the planner expect one call, whatever their number is. Otherwise a plan for a few
   * calls seems cheaper than one for any number, so that the server plans the statement each time, and one for any number
   * reads all rows of a table with some thousands. Not for partitions that are left out by a list: the planner would search
   * each of them for the whole list again for each call.
   */
  readonly expectsOne?: boolean
  /** Names of further columns, of integers. */
  readonly numbers?: readonly string[]
}

/**
 * SQL of the values: one row for each call. Sources: PostgreSQL, PREPARE; plancache.c; DEFAULT_RANGE_INEQ_SEL in selfuncs.h.
 */
function callRowsSql(
  types: readonly string[],
  { expectsOne = true, numbers = [] }: CallRows = {},
): string {
  const listTypes = [
    ...types.map((type) => (isList(type) ? 'text' : type)),
    ...numbers.map(() => 'integer'),
  ]
  const lists = listTypes.map((type, index) => `$${index + 1}::${type}[]`)
  const names = [...types.map((_, index) => `filigree_p${index + 1}`), ...numbers]
  const calls = `unnest(${lists.join(', ')}) with ordinality as filigree_call(${names.join(', ')}, filigree_place)`
  if (!expectsOne) return calls
  return `(select * from ${calls} where filigree_place between 1 and 1000000) as filigree_call`
}

/** The values of a call, in place of the placeholders. */
function callValues(types: readonly string[]): ValueSqlAt {
  return (position) => {
    const type = types[position - 1] ?? ''
    const value = `filigree_call.filigree_p${position}`
    return isList(type) ? `cast(${value} as ${type})` : value
  }
}

/** Tests that a column has a value of any call, by the list of them. */
function isInList(types: readonly string[]): AnyOfSql {
  return (column, position) => `${column} = any($${position}::${types[position - 1] ?? ''}[])`
}

function toColumnLists(types: readonly string[]): BatchedStatement['toLists'] {
  return (calls) =>
    types.map((type, position) =>
      postgresLists.write(
        isList(type) ? calls.map((values) => toArrayText(values, position)) : calls,
        isList(type) ? 0 : position,
      ),
    )
}

/** Nested lists may have different lengths, so each is sent as text. */
function toArrayText(values: readonly unknown[], position: number): readonly unknown[] {
  const value = values[position]
  if (!Array.isArray(value)) return [value]
  return [
    postgresLists.write(
      value.map((item: unknown) => [item]),
      0,
    ),
  ]
}

function isList(type: string): boolean {
  return type.endsWith('[]')
}
