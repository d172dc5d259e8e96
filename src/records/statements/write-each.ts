/** Writes rows one after the other inside one transaction, and says of a fault which row it was. */
import { HttpError } from '../../errors/http-error.js'
import type { Later } from '../../core/later.js'
import { invalid } from '../filters/invalid.js'
import type { Id } from '../filters/list-options.js'
import type { Table } from '../model/table.js'
import { atRow } from './insert-many.js'

/** A change of a row that is named by its key, under the key's own name. */
export type ChangedRow = Readonly<Record<string, unknown>>

export async function createEach<T extends object>(
  rows: readonly Partial<T>[],
  records: { create(values: Partial<T>): Later<T> },
): Promise<T[]> {
  if (!Array.isArray(rows)) throw invalid('', 'type', 'must be a list of records')
  const created: T[] = []
  for (const [index, row] of (rows as readonly Partial<T>[]).entries())
    created.push(await numbered(index, () => records.create(row)))
  return created
}

/** @throws {HttpError} 404 `NOT_FOUND` */
export async function changeEach<T extends object>(
  { key, type }: Table<T>,
  rows: readonly ChangedRow[],
  records: { update(id: Id, values: Partial<T>): Later<T | null> },
): Promise<T[]> {
  if (!Array.isArray(rows)) throw invalid('', 'type', 'must be a list of changes')
  const changed: T[] = []
  for (const [index, row] of (rows as readonly ChangedRow[]).entries()) {
    const { [key.property]: id, ...values } = row
    if (id === undefined || id === null)
      throw invalid(`${index}.${key.property}`, 'required', 'must be given')
    const record = await numbered(index, () => records.update(id as Id, values as Partial<T>))
    if (record === null) throw notThere(type.name, id)
    changed.push(record)
  }
  return changed
}

export function notThere(name: string, id: unknown): HttpError {
  const text = String(id)
  const shown = text.length <= 50 ? text : `${text.slice(0, 50)}…`
  return new HttpError(404, `There is no ${name} ${shown}.`, { code: 'NOT_FOUND' })
}

/** Says of a fault which row it was. */
export async function numbered<R>(index: number, work: () => Later<R>): Promise<R> {
  try {
    return await work()
  } catch (error) {
    throw atRow(error, index)
  }
}
