/** The statements that insert or update one row with checked values, and their errors for clients. */
import { after, type MaybePromise, attempt, promise } from '../../core/maybe-promise.js'
import { storedColumnsOf, type Column } from '../../engines/contract/table.js'
import { idOf, keyOf } from '../model/record-key.js'
import type { Instance, Relation, Table } from '../model/table.js'
import { setUuidKey } from '../model/partitions.js'
import { keyValues } from './shard.js'
import type { Source, RecordsContext } from './source.js'
import { noSuchKey, toClientError, type StatementPurpose } from './client-errors.js'
import type { TableCodec } from '../model/codec.js'
import type { Sum } from './additions.js'
import type { PastRow } from '../changes/changes.js'
import type { Row } from '../../engines/contract/engine.js'
import { arrangeValues, type Plan } from '../../sql/write-statement.js'
import { refusedOfRow, refusedOfStatement } from './refused-values.js'
import { nameConstraint, findBrokenRelation } from './violated-constraint.js'
import { findPlaceholders } from './swapped-values.js'
import { changesPartOfReference, checkUndeleted, referencesToMarked } from './marked-references.js'
import type { VisibleRows } from './row-filter.js'

/** Values in the order of the columns. */
interface WriteValues {
  readonly columns: readonly Column[]
  readonly values: unknown[]
}

/** All written columns; without the key if the database makes it. A UUID key is set on the record here. */
export function valuesToInsert(
  table: Table,
  codec: TableCodec,
  record: Record<string, unknown>,
): WriteValues {
  const { key, writtenColumns: columns } = table
  if (key.generated === 'uuid') setUuidKey(table, record)
  checkForeignKeys(table, codec, record)
  const values = codec.writeRow(record)
  if (key.generated === undefined || record[key.property] !== undefined) return { columns, values }
  values.splice(columns.indexOf(key), 1)
  return { columns: columns.filter((column) => column !== key), values }
}

/**
 * The values of an update, with the time of the change. No columns if there are no values.
 *
 * @param values receives the values
 * @param sums sums, which are written after the values
 */
export function valuesToUpdate(
  table: Table,
  codec: TableCodec,
  record: Readonly<Record<string, unknown>>,
  clock: Pick<RecordsContext, 'now'>,
  { values = [], sums = [] }: { values?: unknown[]; readonly sums?: readonly Sum[] } = {},
): WriteValues {
  const { updatedAt } = table
  checkForeignKeys(table, codec, record)
  const columns: Column[] = []
  for (const { column, encode } of codec.columns) {
    const value = record[column.property]
    if (value === undefined || column.isComputed) continue
    columns.push(column)
    values.push(value === null ? null : encode(value))
  }
  for (const { column, addend } of sums) {
    columns.push(column)
    values.push(addend)
  }
  if (columns.length > 0 && updatedAt !== undefined && record[updatedAt.property] === undefined) {
    columns.push(updatedAt)
    values.push(new Date(clock.now()).toISOString())
  }
  return { columns, values }
}

/**
 * Refuses keys that the column cannot hold, because no row can have them.
 *
 * @throws {HttpError} 409, as the database would respond
 */
export function checkForeignKeys(
  { relations }: Table,
  { narrow }: TableCodec,
  record: Readonly<Record<string, unknown>>,
): void {
  for (const { column, canStore, encode } of narrow) {
    const value = record[column.property]
    if (value === undefined || value === null || canStore(encode(value))) continue
    for (const relation of relations.values())
      if (relation.kind === 'belongsTo' && storedColumnsOf(relation.local).includes(column))
        throw noSuchKey(relation, keyOf(relation.local, record))
  }
}

/** Runs a write, in a transaction if a message to other processes is sent with it. */
export function withAnnouncement<R>(
  table: Table,
  source: Source,
  write: (here: Source) => MaybePromise<R>,
): MaybePromise<R> {
  return after(source.announces(table), (isAnnounced) =>
    isAnnounced ? source.atomically((inner) => promise(() => write(inner))) : write(source),
  )
}

/** @returns the record as stored */
export function insertRow(table: Table, source: Source, record: Instance): MaybePromise<Instance> {
  const { context } = source
  if (table.version !== undefined) record[table.version.property] = 1
  const { columns, values } = valuesToInsert(table, context.codecOf(table), record)
  const plan = context.plansOf(table).insert(columns, 1, 'row')
  const insert = (): MaybePromise<Instance> =>
    after(runRows(table, source, { plan, values, purpose: 'write', record }), ([row]) =>
      stored(table, source, 'created', row as Row),
    )
  if (referencesToMarked(table).length === 0) return insert()
  return after(checkUndeleted(table, source, { columns, rows: [values] }), insert)
}

export interface RowUpdate extends WriteValues {
  /** In the driver's form. */
  readonly key: unknown
  readonly rowFilter: VisibleRows | undefined
  /** The columns of `columns` whose values are added to the stored ones. */
  readonly sums?: readonly Column[] | undefined
  /** By property, for messages of errors. */
  readonly record: Instance
  /** The stored row, if it was read. */
  readonly before?: Instance | undefined
}

/** @returns null if no row has the key */
export function updateRow(
  table: Table,
  source: Source,
  { columns, values, key, rowFilter, sums, record, before }: RowUpdate,
): MaybePromise<Instance | null> {
  const past = before === undefined ? pastToRead(table, source, columns) : []
  const plan = source.context.plansOf(table).update(columns, rowFilter, past, sums)
  const placed = findPlaceholders(source.runner())?.put(table, key, columns, values)
  const written = placed?.values ?? values
  const all = [...(rowFilter?.values ?? []), ...written, ...keyValues(table, source.context, key)]
  const change = (): MaybePromise<Instance | null> =>
    after(runRows(table, source, { plan, values: all, purpose: 'write', record }), (rows) => {
      const row = rows[0]
      if (row === undefined) return null
      const replaced = placed && { columns: placed.columns, record }
      return stored(table, source, 'updated', row, { before, columns, past, replaced })
    })
  if (referencesToMarked(table).length === 0) return change()
  const next =
    before !== undefined && changesPartOfReference(table, record)
      ? completeRow(table, source, record, before)
      : { columns, values }
  const demanded = checkUndeleted(
    table,
    source,
    { ...next, rows: [next.values] },
    (column, newKey) => hasValue(table, source, { key, column, newKey }),
  )
  return after(demanded, change)
}

/** The values of the changed row, so that references of several columns are complete. */
function completeRow(
  table: Table,
  { context }: Source,
  record: Instance,
  before: Instance,
): Pick<RowUpdate, 'columns' | 'values'> {
  const values = context.codecOf(table).writeRow({ ...before, ...record })
  return { columns: table.writtenColumns, values }
}

/**
 * Writes a row that is marked as deleted, without the mark. Watchers see a new row.
 *
 * @returns null if no row has the key
 * @throws {HttpError} 409 `CONFLICT` if a row that it refers to is deleted, or another row has a unique value of it
 */
export function restoreRow(
  table: Table,
  source: Source,
  {
    columns,
    values,
    key,
    record,
    before,
  }: Pick<RowUpdate, 'columns' | 'values' | 'key' | 'record' | 'before'>,
): MaybePromise<Instance | null> {
  const { context } = source
  const plan = context.plansOf(table).restore(columns)
  const all = [...values, ...keyValues(table, context, key)]
  const complete = { ...before, ...record }
  const restore = (): MaybePromise<Instance | null> =>
    after(
      runRows(table, source, { plan, values: all, purpose: 'write', record: complete }),
      ([row]) => (row === undefined ? null : stored(table, source, 'created', row)),
    )
  if (referencesToMarked(table).length === 0) return restore()
  const rows = [context.codecOf(table).writeRow(complete)]
  return after(checkUndeleted(table, source, { columns: table.columns, rows }), restore)
}

/** A key that does not change is not checked. */
function hasValue(
  table: Table,
  source: Source,
  {
    key,
    column,
    newKey,
  }: Readonly<Record<'key' | 'newKey', unknown>> & { readonly column: Column },
): MaybePromise<boolean> {
  const { context } = source
  const plan = context.plansOf(table).find
  const { readRow, byProperty } = context.codecOf(table)
  const values = arrangeValues(plan, keyValues(table, context, key))
  return after(source.runner().run(plan.statement, values, 'first'), (row) => {
    const value = row && keyOf(column, readRow(row))
    if (value === undefined || value === null) return false
    return String(byProperty.get(column.property)?.encode(value)) === String(newKey)
  })
}

/** True if the statement that changes a row can return its old values. */
export function canReturnPastValues({ shard }: Table, { context }: Source): boolean {
  return context.dialect.can.previousValues && shard === undefined
}

/** The written columns whose old values watchers need. */
function pastToRead(table: Table, source: Source, written: readonly Column[]): readonly Column[] {
  const { feed } = source
  if (!feed.needsRowValues(table) || !canReturnPastValues(table, source)) return []
  return feed
    .pastColumns(table)
    .filter((column) => column === table.version || written.includes(column))
}

type Update = Pick<RowUpdate, 'before' | 'columns'> & {
  readonly past: readonly Column[]
  /** Columns that have placeholders in the written row, and their values. */
  readonly replaced?: { readonly columns: readonly Column[]; readonly record: Instance } | undefined
}

interface Run {
  readonly plan: Plan
  readonly values: readonly unknown[]
  readonly purpose: StatementPurpose
  readonly record?: Instance
}

/** Runs a statement, and converts the database's errors for clients. */
export function runRows(
  table: Table,
  source: Source,
  { plan, values, purpose, record }: Run,
): MaybePromise<readonly Row[]> {
  return attempt<readonly Row[]>(
    () => source.runner().run(plan.statement, arrangeValues(plan, values), 'rows'),
    (error) =>
      after(nameConstraint(table, source, error), (named): MaybePromise<readonly Row[]> => {
        if (record === undefined) {
          const sent = arrangeValues(plan, values)
          const refused = refusedOfStatement(source, plan.statement, sent)
          throw toClientError(named, table, purpose, { refused })
        }
        return after(findBrokenRelation(table, source, error, record), (broken): never => {
          const writtenKey = ({ local }: Relation): unknown => keyOf(local, record)
          throw toClientError(named, table, purpose, {
            broken,
            keyOf: writtenKey,
            refused: refusedOfRow(table, source, record),
          })
        })
      }),
  )
}

/** Reads a written row, and records the change. */
function stored(
  table: Table,
  source: Source,
  event: 'created' | 'updated',
  row: Row,
  update?: Update,
): Instance {
  const { readRow } = source.context.codecOf(table)
  const record = readRow(row) as Instance
  const replaced = update?.replaced
  if (replaced !== undefined)
    for (const { property } of replaced.columns) record[property] = replaced.record[property]
  const ids = [idOf(table, record)]
  if (!source.feed.needsRowValues(table)) source.changed({ event, table, ids })
  else {
    const columns = source.feed.pastColumns(table)
    const now = valuesOf(record, columns)
    const past =
      update &&
      pastOf(table, update, columns, (pastColumns) =>
        pastColumns.length === 0
          ? now
          : valuesOf(readRow(rowBefore(table, row, pastColumns)) as Instance, columns),
      )
    source.changed({ event, table, ids, ...(past !== undefined && { past: [past] }), now: [now] })
  }
  return record
}

/** The known old values of the row. Columns that were not written keep their values. */
function pastOf(
  { version }: Table,
  { before, columns: written, past }: Update,
  columns: readonly Column[],
  read: (past: readonly Column[]) => PastRow,
): PastRow | undefined {
  if (before !== undefined) return valuesOf(before, columns)
  const isKnown = columns.every(
    (column) => past.includes(column) || (column !== version && !written.includes(column)),
  )
  return isKnown ? read(past) : undefined
}

/** @param past the columns whose old values follow the row */
function rowBefore({ columns }: Table, row: Row, past: readonly Column[]): Row {
  const before = row.slice(0, columns.length)
  for (const [index, column] of past.entries())
    before[columns.indexOf(column)] = row[columns.length + index]
  return before
}

/** By the names of columns. */
function valuesOf(record: Instance, columns: readonly Column[]): PastRow {
  return Object.fromEntries(columns.map(({ name, property }) => [name, record[property] ?? null]))
}
