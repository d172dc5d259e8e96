/**
 * The order of the rows of one call that refer to each other by a `belongsTo` to their own record. A row is written
 * after the rows that it refers to. Rows of a circle are written without the reference, which is set at the end.
 */
import type { MaybePromise } from '../../core/maybe-promise.js'
import { storedColumnsOf, type Column } from '../../engines/contract/table.js'
import { columnValuesOf } from '../model/codec.js'
import { idOf, keyOf, noKeyOf } from '../model/record-key.js'
import { arrangeValues } from '../../sql/write-statement.js'
import type { Table, Instance } from '../model/table.js'
import { toClientError } from './client-errors.js'
import type { Source } from './source.js'
import { toKeyText } from './write-tree.js'

/** The foreign keys of a record that name rows of the same record. */
export function selfReferencesOf(table: Table): readonly Column[] {
  if (table.shard !== undefined) return none
  let columns = cachedColumns.get(table)
  if (columns === undefined) {
    const found = [...table.relations.values()]
      .filter(({ kind, target }) => kind === 'belongsTo' && target === table)
      .map(({ local }) => local)
    columns = found.length === 0 ? none : found
    cachedColumns.set(table, columns)
  }
  return columns
}

const none: readonly Column[] = Object.freeze([])
const cachedColumns = new WeakMap<Table, readonly Column[]>()

/** A row of the call: its index, and the references that can only be set after all rows are written. */
export interface OrderedRow {
  readonly index: number
  readonly postponed: readonly Column[]
}

/**
 * @param valueOf the value of a column in a row; null or undefined if it has none
 * @returns `undefined` if the rows can be written in their own order
 */
export function orderByReferences<R>(
  table: Table,
  rows: readonly R[],
  valueOf: (row: R, column: Column) => unknown,
): readonly OrderedRow[] | undefined {
  const columns = selfReferencesOf(table)
  if (columns.length === 0) return undefined
  const indexes = new Map<string, number>()
  for (const [index, row] of rows.entries()) {
    const key = valueOf(row, table.key) ?? undefined
    if (key !== undefined) indexes.set(toKeyText(key), index)
  }
  if (indexes.size === 0) return undefined
  /** The row of the call to which a row refers. */
  const referredRow = (index: number, column: Column): number | undefined => {
    const value = valueOf(rows[index] as R, column) ?? undefined
    const found = value === undefined ? undefined : indexes.get(toKeyText(value))
    return found === index ? undefined : found
  }
  const isInOrder = rows.every((_, index) =>
    columns.every((column) => (referredRow(index, column) ?? -1) < index),
  )
  return isInOrder ? undefined : sortRows(rows.length, columns, referredRow)
}

/** Depth first and without recursion, because chains can be long. */
function sortRows(
  count: number,
  columns: readonly Column[],
  referredRow: (index: number, column: Column) => number | undefined,
): OrderedRow[] {
  const ordered: OrderedRow[] = []
  const states = new Array<'open' | 'done' | undefined>(count)
  for (let first = 0; first < count; first++) {
    const path = [first]
    while (path.length > 0) {
      const index = path.at(-1) as number
      const referred = columns.map((column) => referredRow(index, column))
      const next = referred.find((one) => one !== undefined && states[one] === undefined)
      if (states[index] === undefined && next !== undefined) {
        states[index] = 'open'
        path.push(next)
      } else if (states[index] === 'open' && next !== undefined) path.push(next)
      else {
        path.pop()
        if (states[index] === 'done') continue
        states[index] = 'done'
        // A key that cannot be null stays, because some databases accept circles within one statement.
        const postponed = columns.filter(({ nullable }, position) => {
          const one = referred[position]
          return nullable && one !== undefined && states[one] !== 'done'
        })
        ordered.push({ index, postponed })
      }
    }
  }
  return ordered
}

/** Writes references that could not be set with their rows. Versions stay. */
export class PostponedReferences {
  readonly #table: Table
  readonly #source: Source
  readonly #values: { readonly column: Column; readonly key: unknown; readonly value: unknown }[] =
    []

  constructor(table: Table, source: Source) {
    this.#table = table
    this.#source = source
  }

  /** @param key in the driver's form, as the value is */
  add(column: Column, key: unknown, value: unknown): void {
    this.#values.push({ column, key, value })
  }

  /** @throws {HttpError} 409 `CONFLICT` if a row is missing */
  async write(): Promise<void> {
    const plans = this.#source.context.plansOf(this.#table)
    const codec = this.#source.context.codecOf(this.#table)
    for (const { column, key, value } of this.#values.splice(0)) {
      const plan = plans.replace(storedColumnsOf(column))
      const values = [...columnValuesOf(column, value, codec), key]
      try {
        await this.#source.runner().run(plan.statement, arrangeValues(plan, values), 'count')
      } catch (error) {
        throw toClientError(error, this.#table, 'write')
      }
    }
  }
}

/** How the rows of a call are read and created. */
export interface RowCreation<R, C> {
  /** The values of a row by property. */
  readonly valuesOf: (row: R) => Instance
  /** Creates a row. `values` are its own, or a copy without the references that are set at the end. */
  readonly create: (row: R, values: Instance, index: number) => MaybePromise<C>
}

/**
 * Creates rows one by one, each after the rows that it refers to. It must run in a transaction.
 *
 * @returns the records in the order of the rows
 */
export async function createInOrder<R, C extends object>(
  table: Table,
  source: Source,
  rows: readonly R[],
  { valuesOf, create }: RowCreation<R, C>,
): Promise<C[]> {
  const ordered = orderByReferences(table, rows, (row, column) => keyOf(column, valuesOf(row)))
  const created = new Array<C>(rows.length)
  if (ordered === undefined) {
    for (const [index, row] of rows.entries())
      created[index] = await create(row, valuesOf(row), index)
    return created
  }
  const codec = source.context.codecOf(table)
  const references = new PostponedReferences(table, source)
  for (const { index, postponed } of ordered) {
    const row = rows[index] as R
    const own = valuesOf(row)
    const emptied = Object.assign({}, ...postponed.map(noKeyOf)) as Instance
    const record = await create(row, postponed.length === 0 ? own : { ...own, ...emptied }, index)
    created[index] = record
    const key = codec.key.encode(idOf(table, record))
    for (const column of postponed) {
      const value = keyOf(column, own)
      references.add(column, key, codec.byProperty.get(column.property)?.encode(value))
      for (const { property } of storedColumnsOf(column))
        Object.assign(record, { [property]: own[property] })
    }
  }
  await references.write()
  return created
}
