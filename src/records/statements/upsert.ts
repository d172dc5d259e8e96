/**
 * Changes the row that has a unique value, or creates it. If another caller creates it at the same moment, that row is
 * changed, so that concurrent calls make one row. Uses `update` and `create`, with their rules.
 */
import { didYouMean } from '../../errors/did-you-mean.js'
import { HttpError } from '../../errors/http-error.js'
import { clip } from '../../fields/faults.js'
import { EngineFault } from '../../engines/contract/engine-fault.js'
import { invalid } from '../filters/invalid.js'
import type { Id, ListOptions } from '../filters/list-options.js'
import type { Column } from '../../engines/contract/table.js'
import { isolationOf } from '../model/isolation.js'
import type { Table } from '../model/table.js'
import { refuseUnknownOptions } from '../../errors/refuse-options.js'
import { inShardOf, knownShard, noShard } from './shard.js'
import type { Source } from './source.js'
import { upsertTogether } from './upsert-together.js'

export interface UpsertOptions<T> {
  /** A unique field, or the key. */
  readonly by: keyof T & string
}

/** The two ways of writing. */
export interface UpsertWays<T extends object> {
  list(options: ListOptions<T>): Promise<T[]>
  create(values: Partial<T>): Promise<T>
  update(id: Id, values: Partial<T>): Promise<T | null>
}

/** More attempts would not help in a transaction that cannot see later writes of others. */
const mostAttempts = 5

/** @throws {HttpError} 400 if the field is not unique, or the values do not contain it */
export async function upsert<T extends object>(
  table: Table<T>,
  values: Partial<T>,
  options: UpsertOptions<T>,
  source: Source,
  on: (source: Source) => UpsertWays<T>,
): Promise<T> {
  refuseUnknownOptions('upsert', options, optionNames)
  const column = readBy(table, options, false)
  const where = { [column.property]: await storedForm(table, source, column, values) }
  const together = await upsertTogether(table, source, column, values)
  if (together !== undefined) return together as T
  for (let attempt = 1; ; attempt++) {
    try {
      return await inShardOf(table, values, () =>
        upsertOnce(table, { values, where, by: column.property }, source, on),
      )
    } catch (error) {
      if (!isOvertaken(error, column)) throw error
      if (attempt >= mostAttempts) throw unseen(error)
    }
  }
}

const optionNames: ReadonlySet<string> = new Set(['by'])

/** The value in the form that rows have: trimmed, lower-cased, as the field's rules say. */
export async function storedForm(
  table: Table,
  { context }: Pick<Source, 'context'>,
  { property, isKey }: Column,
  values: object,
): Promise<unknown> {
  const value = (values as Record<string, unknown>)[property]
  if (value === undefined || value === null)
    throw invalid(property, 'required', 'must be given: the row is found by it')
  if (isKey) return value
  return (await context.checksOf(table).update({ [property]: value }))[property]
}

interface Upserted<T> {
  readonly values: Partial<T>
  readonly where: object
  readonly by: string
}

async function upsertOnce<T extends object>(
  table: Table<T>,
  { values, where, by }: Upserted<T>,
  source: Source,
  on: (source: Source) => UpsertWays<T>,
): Promise<T> {
  const ways = on(source)
  if (table.shard !== undefined && knownShard(table) === undefined) throw noShard(table)
  const [found] = await ways.list({ where, limit: 1 })
  if (found !== undefined) {
    const id = (found as Record<string, unknown>)[table.key.property] as Id
    const others = Object.entries(values).filter(([name]) => name !== by)
    const changed = await ways.update(id, Object.fromEntries(others) as Partial<T>)
    if (changed !== null) return changed
  }
  // In a part of its own, because a failure would end the transaction.
  return source.atomically((inner) => on(inner).create(values), isolationOf([table]))
}

/** @throws {HttpError} 400 */
function readBy(table: Table, options: unknown, isClient: boolean): Column {
  const by =
    typeof options === 'object' && options !== null && 'by' in options ? options.by : undefined
  // For a client the message only names fields that it may use.
  const names = uniqueColumns(table, true).map(({ property }) => property)
  const column = uniqueColumns(table, isClient).find(({ property }) => property === by)
  if (column !== undefined) return column
  const meant = typeof by === 'string' ? didYouMean(clip(by), names) : ''
  throw invalid('by', 'unique', `must name a unique field: ${names.join(', ')}. ${meant}`.trim())
}

/** Columns whose value at most one (undeleted) row has. */
export function uniqueColumns({ columns, indexes, shard }: Table, isClient: boolean): Column[] {
  return columns.filter(
    (column) =>
      !(isClient && column.field.hidden) &&
      (column.isKey ||
        indexes.some(
          ({ unique, columns: [first, second, third] }) =>
            unique &&
            (shard === undefined
              ? first === column && second === undefined
              : first === shard && second === column && third === undefined),
        )),
  )
}

/** The transaction may run again from its beginning, and then sees the row. */
export function unseen(error: HttpError): HttpError {
  const cause = new EngineFault('conflict', 'The row of an upsert is not seen here.', error)
  return new HttpError(409, error.message, { code: error.code, errors: error.errors, cause })
}

/** Another caller has created the row since it was looked up. */
export function isOvertaken(error: unknown, { property }: Column): error is HttpError {
  if (!(error instanceof HttpError) || error.status !== 409) return false
  const { cause } = error
  if (!(cause instanceof EngineFault) || cause.kind !== 'unique') return false
  return error.errors === undefined || error.errors.some(({ path }) => path === property)
}
