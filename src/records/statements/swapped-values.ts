/**
 * Lets rows of one call exchange unique values. Databases check unique values row by row, so `[{ id: 1, position: 2 },
 * { id: 2, position: 1 }]` fails at its first row. Then the call is rolled back and runs again: each row gets
 * placeholders for its unique values, and all rows get their values at the end. The same lets `updateWhere` shift positions.
 */

import { randomBytes, randomUUID } from 'node:crypto'
import type { Column } from '../../engines/contract/table.js'
import type { Table } from '../model/table.js'
import { causesOf } from '../../errors/http-error.js'
import { promise } from '../../core/maybe-promise.js'
import { EngineError } from '../../engines/contract/engine-error.js'
import type { Runner } from '../../engines/contract/engine.js'
import { arrangeValues } from '../../sql/write-statement.js'
import { transactionOf } from './transaction-runners.js'
import { keyValues } from './shard.js'
import type { RecordsContext, Source } from './source.js'

/**
 * A placeholder stands for a unique value while rows exchange their values. It obeys the rules that the database
 * checks: `min`, `max` and `maxLength`. A field without bounds gets a placeholder where values are rare, because no row
 * may have it.
 *
 * @returns a value of the property that hardly any row has; `undefined` if the field has none
 */
function makePlaceholder({ relations }: Table, column: Column): unknown {
  const { field, storage } = column
  for (const { kind, local } of relations.values())
    if (kind === 'belongsTo' && local === column) return undefined
  // A type of its own may accept other values than the kind.
  if (column.isBoolean || field.rules.oneOf !== undefined || column.type !== undefined)
    return undefined
  if (column.isUuid) return randomUUID()
  const { maxLength = longest } = field.rules
  const length = Math.min(maxLength, longest)
  switch (storage) {
    case 'text':
      return randomBytes(longest).toString('hex').slice(0, length)
    case 'bytes':
      return randomBytes(length)
    case 'integer':
      return Number(between(boundsOf(field.rules, BigInt, 2n ** 48n)))
    case 'wide':
      return String(between(boundsOf(field.rules, BigInt, 2n ** 62n)))
    case 'real':
      return Number(between(boundsOf(field.rules, toBigInt, 2n ** 48n)))
    case 'decimal':
      return decimalOf(column)
    case 'date':
    case 'timestamp':
      return timestampOf(column)
    case 'time':
      return timeOf(field.rules)
    default:
      return undefined
  }
}

const longest = 32

interface IntegerRange {
  readonly min: bigint
  readonly max: bigint
}

/**
 * The range of placeholders: far below zero without a `min`, otherwise far above it.
 *
 * @param read converts a bound to a whole number
 * @param far the size of a range without a bound
 */
function boundsOf(
  { min, max }: Column['field']['rules'],
  read: (bound: string | number) => bigint,
  far: bigint,
): IntegerRange {
  if (min === undefined) {
    const highest = max === undefined ? -far / 2n : smaller(read(max), -far / 2n)
    return { min: highest - far / 2n, max: highest }
  }
  const lowest = read(min)
  if (max !== undefined) return { min: lowest, max: read(max) }
  return { min: lowest + far / 2n, max: lowest + far }
}

function smaller(one: bigint, other: bigint): bigint {
  return one < other ? one : other
}

/** A random number, both bounds included. */
function between({ min: lowest, max: highest }: IntegerRange): bigint {
  const count = highest - lowest + 1n
  return count <= 1n ? lowest : lowest + (BigInt(`0x${randomBytes(16).toString('hex')}`) % count)
}

function toBigInt(bound: string | number): bigint {
  return BigInt(Math.trunc(Number(bound)))
}

/** A decimal, computed in units of its last digit. */
function decimalOf({ field }: Column): string {
  const { precision, scale } = field.entry.digits ?? { precision: 18, scale: 2 }
  const units = (bound: string | number): bigint => {
    const [integerPart = '0', fraction = ''] = String(bound).split('.')
    return BigInt(integerPart + fraction.padEnd(scale, '0').slice(0, scale))
  }
  const largest = 10n ** BigInt(precision) - 1n
  const { min, max } = field.rules
  const number = between({
    min: min === undefined ? -largest : units(min),
    max: max === undefined ? (min === undefined ? -largest / 2n : largest) : units(max),
  })
  const digits = String(number < 0n ? -number : number).padStart(scale + 1, '0')
  const point = digits.length - scale
  const text = scale === 0 ? digits : `${digits.slice(0, point)}.${digits.slice(point)}`
  return number < 0n ? `-${text}` : text
}

/** A timestamp in the first centuries of the calendar, unless the field has bounds. */
function timestampOf({ field, storage }: Column): string {
  const { min, max } = field.rules
  const read = (bound: string | number): bigint => BigInt(Date.parse(String(bound)))
  const [first, last] = min === undefined ? ['0001-01-02', '0999-12-31'] : [min, '9998-12-31']
  const lowest = read(first)
  const highest = max === undefined ? read(last) : read(max)
  const timestamp = new Date(
    Number(between({ min: smaller(lowest, highest), max: highest })),
  ).toISOString()
  return storage === 'date' ? timestamp.slice(0, 10) : timestamp
}

function timeOf({ min = '00:00:00', max = '23:59:59' }: Column['field']['rules']): string {
  const read = (time: string | number): bigint =>
    BigInt(Date.parse(`1970-01-01T${String(time)}Z`) / 1000)
  const seconds = Number(between({ min: read(min), max: read(max) }))
  return new Date(seconds * 1000).toISOString().slice(11, 19)
}

/** Begins a transaction, or a part of the open one, and runs work in it. */
type BeginForSwap<R> = (work: (source: Source) => Promise<R>) => Promise<R>

export async function allowingSwaps<R>(
  begin: BeginForSwap<R>,
  work: (source: Source) => Promise<R>,
): Promise<R> {
  try {
    return await begin(work)
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    return begin((source) => withPlaceholders(source, work)).catch(() => {
      throw error
    })
  }
}

async function withPlaceholders<R>(
  source: Source,
  work: (source: Source) => Promise<R>,
): Promise<R> {
  const runner = source.runner()
  const transaction = transactionOf(runner)
  if (transaction === undefined || placeholdersOf.has(transaction)) return work(source)
  const placeholders = new Placeholders(source.context)
  placeholdersOf.set(transaction, placeholders)
  try {
    const result = await work(source)
    await placeholders.replace(runner)
    return result
  } finally {
    placeholdersOf.delete(transaction)
  }
}

/** By the runner of the whole transaction. */
const placeholdersOf = new WeakMap<Runner, Placeholders>()

/** @returns `undefined` unless values of the transaction are exchanged */
export function findPlaceholders(runner: Runner): Placeholders | undefined {
  const transaction = transactionOf(runner)
  return transaction && placeholdersOf.get(transaction)
}

export function isUniqueViolation(error: unknown): boolean {
  for (const cause of causesOf(error))
    if (cause instanceof EngineError) return cause.kind === 'unique'
  return false
}

interface DeferredValues {
  readonly table: Table
  readonly columns: readonly Column[]
  /** In the driver's form: the values, then the key. */
  readonly values: readonly unknown[]
}

export class Placeholders {
  readonly #context: RecordsContext
  readonly #deferred: DeferredValues[] = []

  constructor(context: RecordsContext) {
    this.#context = context
  }

  /**
   * @param key in the driver's form, as the values are
   * @returns values with placeholders, and the columns that have one
   */
  put(
    table: Table,
    key: unknown,
    columns: readonly Column[],
    values: readonly unknown[],
  ): { readonly values: unknown[]; readonly columns: readonly Column[] } {
    const codec = this.#context.codecOf(table)
    const put: Column[] = []
    const deferredValues: unknown[] = []
    const next = values.map((value, index) => {
      const column = columns[index] as Column
      if (value === null || !isInUniqueIndex(table, column)) return value
      const placeholder = column.nullable ? null : makePlaceholder(table, column)
      if (placeholder === undefined) return value
      put.push(column)
      deferredValues.push(value)
      return placeholder === null
        ? null
        : codec.byProperty.get(column.property)?.encode(placeholder)
    })
    if (put.length > 0)
      this.#deferred.push({
        table,
        columns: put,
        values: [...deferredValues, ...keyValues(table, this.#context, key)],
      })
    return { values: next, columns: put }
  }

  /** Writes the values. The versions of the rows stay. */
  async replace(runner: Runner): Promise<void> {
    for (const { table, columns, values } of this.#deferred.splice(0)) {
      const plan = this.#context.plansOf(table).replace(columns)
      await promise(() => runner.run(plan.statement, arrangeValues(plan, values), 'count'))
    }
  }
}

export function isInUniqueIndex({ indexes }: Table, column: Column): boolean {
  return indexes.some(({ unique, columns }) => unique && columns.includes(column))
}
