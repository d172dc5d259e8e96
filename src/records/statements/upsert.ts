/**
 * Upserts: how the row is found by a unique value or by values that are unique together, and the statement that creates or
 * changes it, so that concurrent calls create one row. Source: decisions, Records: writes.
 */

import { causesOf, HttpError } from '../../errors/http-error.js'
import { storedColumnsOf, type Column } from '../../engines/contract/table.js'
import type { ColumnName } from '../model/query-names.js'
import { namesKeyOf } from '../model/record-key.js'
import type { Table, Instance } from '../model/table.js'
import { namesRelations } from './read-tree.js'
import { hasAddition } from './additions.js'
import type { Source } from './source.js'
import { withAnnouncement, runRows, valuesToInsert } from './write-row.js'
import { referencesToMarked } from './marked-references.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import { clip } from '../../core/text.js'
import { EngineError } from '../../engines/contract/engine-error.js'
import { invalid } from '../filters/query-errors.js'
import { declareOptions, type OptionsOf } from '../../options/declare-options.js'
import { option } from '../../options/option.js'
import { uniqueIndexesOf } from '../../sql/table.js'

/** @returns the row; `undefined` if it must be read first */
export async function upsertTogether(
  table: Table,
  source: Source,
  by: readonly Column[],
  input: object,
): Promise<Instance | undefined> {
  const { context } = source
  const { key, version, deletedAt } = table
  const checks = context.checksOf(table)
  const names = Object.keys(input)
  const isPlain = !table.hasWriteHooks && deletedAt === undefined && checks.row === undefined
  // Values are unique within a shard, so the row must be looked up in it.
  if (table.shard !== undefined) return undefined
  if (!isPlain || by.includes(key) || hasAddition(table, input)) return undefined
  if (namesRelations(table, input)) return undefined
  if (referencesToMarked(table).some(({ local }) => namesKeyOf(local, input))) return undefined
  if (names.some((name) => name === key.property || name === version?.property)) return undefined
  // Listeners must know whether it was created or changed.
  if (await source.feed.follows(table, source.runner())) return undefined
  const record = await draft(() => checks.create(input))
  if (record === undefined) return undefined
  if (version !== undefined) record[version.property] = 1
  const codec = context.codecOf(table)
  const { columns, values } = valuesToInsert(table, codec, record)
  const changed = namedColumns(table, input, by)
  if (changed.length === 0) return undefined
  const plan = context.plansOf(table).upsert(by, columns, changed)
  return withAnnouncement<Instance | undefined>(table, source, async (here) => {
    const [row] = await runRows(table, here, { plan, values, purpose: 'write', record })
    if (row === undefined) return undefined
    // A listener may begin to follow before the commit; this event tells it that there are more changes than can be
    // named.
    here.changed({ event: 'lost', table, ids: [] })
    return codec.readRow(row) as Instance
  })
}

/** Values that are not sufficient for a new row may still change a row. */
async function draft(create: () => Instance | Promise<Instance>): Promise<Instance | undefined> {
  try {
    return await create()
  } catch (error) {
    if (error instanceof HttpError && error.status === 400) return undefined
    throw error
  }
}

/** The columns that an existing row takes over. */
function namedColumns(table: Table, input: object, by: readonly Column[]): Column[] {
  const values: Instance = {}
  for (const column of table.columns) {
    const { property } = column
    const value = (input as Instance)[property]
    if (value !== undefined && !by.includes(column)) values[property] = value
  }
  const named = table.columns.filter(({ property }) => property in values)
  if (named.length === 0) return []
  const { updatedAt } = table
  return updatedAt === undefined || named.includes(updatedAt) ? named : [...named, updatedAt]
}

const upsertOptions = declareOptions({
  by: option.any<unknown>(),
})

export interface UpsertOptions<T> extends OptionsOf<typeof upsertOptions> {
  /** A unique field, the key, or fields that are unique together. */
  readonly by: ColumnName<T> | readonly ColumnName<T>[]
}

/**
 * @returns the columns by which the row is found
 * @throws {HttpError} 400 if the fields are not unique
 */
export function readUpsertOptions<T>(table: Table, options: UpsertOptions<T>): readonly Column[] {
  upsertOptions.check('upsert', options)
  return readBy(table, options)
}

/** A filter for the row, with its values in their stored form: trimmed or in lower case, as the fields' rules require. */
export async function storedForm(
  table: Table,
  { context }: Pick<Source, 'context'>,
  by: readonly Column[],
  values: object,
): Promise<Record<string, unknown>> {
  const where: Record<string, unknown> = {}
  for (const { property } of by) {
    const value = (values as Record<string, unknown>)[property]
    if (value === undefined || value === null)
      throw invalid(property, 'required', 'must be given: the row is found by it')
    where[property] = value
  }
  if (by.some(({ isKey }) => isKey)) return where
  const stored = await context.checksOf(table).update(where)
  return Object.fromEntries(by.map(({ property }) => [property, stored[property]]))
}

/** @throws {HttpError} 400 */
function readBy(table: Table, options: unknown): readonly Column[] {
  const by =
    typeof options === 'object' && options !== null && 'by' in options ? options.by : undefined
  const found = findUnique(uniqueKeys(table, false), by)
  if (found !== undefined) return found
  // For a client the message only names fields that it may use.
  const names = uniqueKeys(table, true).map((columns) =>
    columns.map(({ property }) => property).join(' with '),
  )
  const suggestion = typeof by === 'string' ? didYouMean(clip(by), names) : ''
  const requirement = 'must name a unique field, or fields that are unique together'
  throw invalid('by', 'unique', `${requirement}: ${names.join(', ')}. ${suggestion}`.trim())
}

/** @param by the name of a field, or a list of names in any order */
function findUnique(
  keys: readonly (readonly Column[])[],
  by: unknown,
): readonly Column[] | undefined {
  const names: ReadonlySet<unknown> = new Set(Array.isArray(by) ? by : [by])
  return keys.find(
    (columns) =>
      columns.length === names.size && columns.every(({ property }) => names.has(property)),
  )
}

/** Columns whose values are unique together among the rows that are not deleted; for a sharded record within a shard. */
export function uniqueKeys(table: Table, isClient: boolean): Column[][] {
  const { key, shard } = table
  const all = uniqueIndexesOf(table)
    .filter(({ columns }) => shard === undefined || columns[0] === shard)
    .map(({ columns }) => columns.filter((column) => column !== shard))
  return [[...storedColumnsOf(key)], ...all].filter(
    (columns) => columns.length > 0 && !(isClient && columns.some(({ field }) => field.hidden)),
  )
}

/** The transaction may run again from its beginning, and then sees the row. */
export function toConflict(error: HttpError): HttpError {
  const cause = new EngineError('conflict', 'The row of an upsert is not seen here.', error)
  return error.with({ cause })
}

/** Another caller has created the row since it was looked up. */
export function isConcurrentInsert(error: unknown, by: readonly Column[]): error is HttpError {
  // The error of the database became an error with the names of columns, and then of a client's paths.
  for (const cause of causesOf(error)) {
    if (!(cause instanceof HttpError) || !(cause.cause instanceof EngineError)) continue
    const isIts = (path: string): boolean => by.some(({ property }) => property === path)
    const isUnique = cause.status === 409 && cause.cause.kind === 'unique'
    return isUnique && (cause.errors === undefined || cause.errors.every(({ path }) => isIts(path)))
  }
  return false
}
