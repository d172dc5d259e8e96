/** Writes rows one after the other in one transaction, and adds the row's number to errors. */
import { HttpError } from '../../errors/http-error.js'
import { attempt, type MaybePromise } from '../../core/maybe-promise.js'
import { invalid } from '../filters/invalid.js'
import type { Id } from '../filters/list-options.js'
import type { Table } from '../model/table.js'
import { atRow } from './insert-many.js'
import type { NewValues } from './nested-input.js'

/** The changes of a row, with its key under the key's own name. */
export type ChangedRow = Readonly<Record<string, unknown>>

/** The records whose rows are written with a program's row: the record of the row, and the records of nested rows. */
export function* tablesWritten(table: Table, row: unknown): Generator<Table> {
  yield table
  if (typeof row !== 'object' || row === null) return
  for (const [name, nested] of Object.entries(row)) {
    const target = table.relations.get(name)?.target
    if (target === undefined || typeof nested !== 'object' || nested === null) continue
    // A list of rows, or `{ create: [...], update: [...], connect: [...] }`.
    for (const one of Object.values(nested as object).flat()) yield* tablesWritten(target, one)
  }
}

export async function createEach<T extends object>(
  rows: readonly NewValues<T>[],
  records: { create(values: NewValues<T>): MaybePromise<T> },
): Promise<T[]> {
  demandList('createMany', 'records', rows)
  const created: T[] = []
  for (const [index, row] of rows.entries())
    created.push(await withRowNumber(index, () => records.create(row)))
  return created
}

/** @throws {HttpError} 400 for a value that is not a list */
export function demandList(method: string, itemName: string, value: unknown): void {
  if (Array.isArray(value)) return
  const message = `${method} takes a list of ${itemName}`
  throw new HttpError(400, message, {
    code: 'VALIDATION',
    errors: [{ path: '', code: 'type', message }],
  })
}

/** @throws {HttpError} 404 `NOT_FOUND` */
export async function changeEach<T extends object>(
  { key, type }: Table<T>,
  rows: readonly ChangedRow[],
  records: { update(id: Id, values: Partial<T>): MaybePromise<T | null> },
): Promise<T[]> {
  demandList('updateMany', 'changes, { id, … }', rows)
  const changed: T[] = []
  for (const [index, row] of rows.entries()) {
    const { [key.property]: id, ...values } = row
    if (id === undefined || id === null)
      throw invalid(`${index}.${key.property}`, 'required', 'must be given')
    const record = await withRowNumber(index, () => records.update(id as Id, values as Partial<T>))
    if (record === null) throw noSuchRow(type.name, id)
    changed.push(record)
  }
  return changed
}

export function noSuchRow(name: string, id: unknown): HttpError {
  const text = String(id)
  const shortened = text.length <= 50 ? text : `${text.slice(0, 50)}…`
  return new HttpError(404, `There is no ${name} ${shortened}.`, { code: 'NOT_FOUND' })
}

/** Adds the row's number to an error. */
export function withRowNumber<R>(index: number, work: () => MaybePromise<R>): MaybePromise<R> {
  return attempt(work, (error) => {
    throw atRow(error, index)
  })
}
