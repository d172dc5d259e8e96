/**
 * Creates, updates or deletes many rows with one statement, if no row needs its own check. If such a statement fails, the
 * caller writes the rows one by one, which finds the row of the error. Source: decisions, Records: writes.
 */
import { type MaybePromise, after, isThenable, promise, attempt } from '../../core/maybe-promise.js'
import type { Row } from '../../engines/contract/engine.js'
import { EngineError } from '../../engines/contract/engine-error.js'
import type { Id } from '../filters/list-options.js'
import { columnValuesOf, toKey } from '../model/codec.js'
import { storedColumnsOf, type Column } from '../../engines/contract/table.js'
import { idOf, writeKeyText } from '../model/record-key.js'
import type { Table, Instance } from '../model/table.js'
import { isObject, namesRelations } from './read-tree.js'
import { arrangeValues, type Plan } from '../../sql/write-statement.js'
import { readColumnTypes, type ColumnTypes } from './column-types.js'
import { isolationToDelete, mustReadBeforeDelete } from './delete-rows.js'
import { deleteGroup } from './delete-with-dependents.js'
import type { Writer } from './hooks.js'
import { toRecords } from './read-records.js'
import { isInTransaction } from './transaction-runners.js'
import { currentShard, shardOf, withoutShard, withShard } from './shard.js'
import { readSums } from './additions.js'
import { withAnnouncement, valuesToInsert, valuesToUpdate } from './write-row.js'
import { referencesToMarked } from './marked-references.js'
import { toIds, withReadKeys } from './row-keys.js'
import type { Source } from './source.js'
import { toUnavailable } from './client-errors.js'
import { removeIdentity } from './write-options.js'
import { maxRows } from './write-parts.js'

/** Adds the names of a row to an error about its values. */
export type ErrorOfRow = (error: unknown, index: number) => unknown

/** @returns the records in order; `undefined` if the rows must be written one by one */
export function createWithOneStatement(
  table: Table,
  source: Source,
  rows: readonly object[],
  errorOf: ErrorOfRow,
): MaybePromise<Instance[] | undefined> {
  return after(readNewRows(table, source, rows, errorOf), (statementValues) => {
    // References to soft-deleted rows have their own check.
    if (statementValues === undefined || mayReferToDeleted(table, statementValues)) return undefined
    const { columns, rowValues } = statementValues
    const run = (here: Source): MaybePromise<Instance[]> =>
      after(typesOf(table, here, columns), (types) => {
        const plan = here.context.plansOf(table).insert(columns, types, 'row')
        return after(runForRows(here, plan, statementValues), (found) => {
          const records = toRecords(table, here.context, found)
          const positions = storedColumnsOf(table.key).map((column) => columns.indexOf(column))
          const keysOfRows = (): string[] => rowValues.map((row) => keyAt(table, row, positions))
          const ordered = positions.includes(-1)
            ? records
            : inOrderOfKeys(table, records, keysOfRows())
          reportChanges(table, here, 'created', ordered)
          return ordered
        })
      })
    return tryStatement(table, source, run)
  })
}

/**
 * @param rows changes of rows, each with the key under its own name. Those of a sharded table are in the current shard
 * @returns as `createWithOneStatement`; also `undefined` if a row does not exist
 */
export function updateWithOneStatement(
  table: Table,
  source: Source,
  rows: readonly Instance[],
  errorOf: ErrorOfRow,
): MaybePromise<Instance[] | undefined> {
  return after(readUpdates(table, source, rows, errorOf), (statementValues) => {
    if (statementValues === undefined || mayReferToDeleted(table, statementValues)) return undefined
    const { columns, keys, rowValues, sums, hasVersions } = statementValues
    const keyCount = storedColumnsOf(table.key).length
    const extraColumns = 2 * sums.length + (hasVersions ? 1 : 0)
    const run = (here: Source): MaybePromise<Instance[] | undefined> =>
      after(typesOf(table, here, columns), (types) => {
        const writtenColumns = columns.slice(keyCount, columns.length - extraColumns)
        const plan = here.context
          .plansOf(table)
          .updateEach(writtenColumns, types, sums, hasVersions)
        const { shard } = table
        const count = rowValues.length
        const rest = shard === undefined ? [count] : [count, shardOf(table, here.context, shard)]
        return after(runForRows(here, plan, statementValues, rest), (found) => {
          // Nothing was changed. Changing the rows one by one finds the row that is missing or invalid.
          if (found.length < rowValues.length) return undefined
          const ordered = inOrderOfKeys(table, toRecords(table, here.context, found), keys)
          reportChanges(table, here, 'updated', ordered)
          return ordered
        })
      })
    return tryStatement(table, source, run)
  })
}

/**
 * @param writer the writer for hooks; undefined: the caller of the current request
 * @returns the number of rows that existed; `undefined` if the rows must be deleted one by one
 */
export function deleteWithOneStatement(
  table: Table,
  source: Source,
  ids: readonly Id[],
  writer: Writer | undefined,
): MaybePromise<number | undefined> {
  const { context } = source
  if (ids.length < 2 || table.shard !== undefined) return undefined
  const codec = context.codecOf(table)
  const found = ids.map((id) => toKey(codec, id)).filter((key) => key !== undefined)
  const keys = [...new Set(found)]
  const group = { table, keys }
  if (mustReadBeforeDelete(table, context)) {
    const work = (here: Source): Promise<number> => deleteGroup(group, here, { writer })
    return source.atomically(work, isolationToDelete(table, context)).catch((error: unknown) => {
      // Deleting the rows one by one finds the row that cannot be deleted.
      if (error instanceof EngineError && error.kind === 'reference') return undefined
      throw toUnavailable(error)
    })
  }
  const run = async (here: Source): Promise<number> => {
    // Listeners must also learn which other rows were deleted.
    if (await here.feed.isFollowed(here.runner()))
      return here.atomically((inner) => deleteGroup(group, inner, { writer }))
    const list = context.dialect.lists.encode(table.key, keys)
    const deletionTime =
      table.deletedAt === undefined ? [] : [new Date(context.now()).toISOString()]
    const plan = context.plansOf(table).removeEach()
    const deletedRows = await here
      .runner()
      .run(plan.statement, arrangeValues(plan, [...deletionTime, list]), 'rows')
    if (deletedRows.length > 0) {
      const deletedIds = toIds(table, withReadKeys(table, here, deletedRows))
      here.changed({ event: 'deleted', table, ids: deletedIds })
    }
    return deletedRows.length
  }
  return tryStatement(table, source, run)
}

/** The values of one statement. */
interface StatementValues {
  readonly columns: readonly Column[]
  /** Each row's values of the columns. */
  readonly rowValues: readonly (readonly unknown[])[]
}

/** Some row may refer to a soft-deleted one. */
function mayReferToDeleted(table: Table, { columns, rowValues }: StatementValues): boolean {
  return referencesToMarked(table).some(({ local }) => {
    const positions = storedColumnsOf(local).map((column) => columns.indexOf(column))
    return positions.some(
      (position) => position >= 0 && rowValues.some((row) => row[position] !== null),
    )
  })
}

/**
 * The columns are those of the key, the written columns, two bounds for each sum, and the version. A sum is written only if
 * the stored value is within its bounds.
 */
interface UpdateValues extends StatementValues {
  /** The text of each row's key. */
  readonly keys: readonly string[]
  readonly sums: readonly Column[]
  readonly hasVersions: boolean
}

/** Calls `read` for each row, one after the other. @returns false as soon as `read` returns false */
function readInOrder<R>(
  rows: readonly R[],
  read: (row: R, index: number) => MaybePromise<boolean>,
  from = 0,
): MaybePromise<boolean> {
  for (let index = from; index < rows.length; index++) {
    const continues = read(rows[index] as R, index)
    if (isThenable(continues))
      return continues.then((isContinued) => isContinued && readInOrder(rows, read, index + 1))
    if (!continues) return false
  }
  return true
}

/** @returns `undefined` if the rows have different fields, or must be written one by one */
function readNewRows(
  table: Table,
  { context }: Source,
  rows: readonly object[],
  errorOf: ErrorOfRow,
): MaybePromise<StatementValues | undefined> {
  if (rows.length < 2 || rows.length > maxRows) return undefined
  if (table.hasWriteHooks || context.dialect.bulk.lists === undefined) return undefined
  // Values that are not objects are refused row by row.
  if (rows.some((row) => !isObject(row) || namesRelations(table, row))) return undefined
  const codec = context.codecOf(table)
  const { create } = context.checksOf(table)
  const rowValues: unknown[][] = []
  let commonColumns: readonly Column[] | undefined
  const read = (row: object, index: number): MaybePromise<boolean> =>
    after(
      inRow(index, errorOf, () => create(withShard(table, row))),
      (record) => {
        if (table.version !== undefined) record[table.version.property] = 1
        const { columns, values } = valuesToInsert(table, codec, record)
        commonColumns ??= columns
        rowValues.push(values)
        return columns.length === commonColumns.length && columns.length > 0
      },
    )
  return after(readInOrder(rows, read), (haveSameColumns) =>
    haveSameColumns && commonColumns !== undefined
      ? { columns: commonColumns, rowValues }
      : undefined,
  )
}

/** @returns values that begin with the key; `undefined` if the rows have different fields, or one must be read first */
function readUpdates(
  table: Table,
  { context }: Source,
  rows: readonly Instance[],
  errorOf: ErrorOfRow,
): MaybePromise<UpdateValues | undefined> {
  if (rows.length < 2 || rows.length > maxRows) return undefined
  const checks = context.checksOf(table)
  if (table.hasWriteHooks || checks.row !== undefined) return undefined
  if (table.shard !== undefined && currentShard(table) === undefined) return undefined
  if (context.dialect.bulk.lists === undefined) return undefined
  const codec = context.codecOf(table)
  const rowValues: unknown[][] = []
  const seenKeys = new Set<unknown>()
  const keyColumns = storedColumnsOf(table.key)
  let commonColumns: readonly Column[] | undefined
  let summed: readonly Column[] | undefined
  let versions: number | undefined
  const readRow = (row: Instance): MaybePromise<boolean> => {
    if (!isObject(row)) return false
    const key = toKey(codec, table.key.parts === undefined ? row[table.key.property] : row)
    if (key === undefined || seenKeys.has(key) || namesRelations(table, row)) return false
    seenKeys.add(key)
    const ownRow = withoutShard(table, row)
    const { values: changes, expected = [] } = removeIdentity(table, codec, key, ownRow)
    const added = readSums(table, codec, context.dialect, changes)
    if (added === undefined) return false
    const { sums } = added
    return after(checks.update(added.values), (record) => {
      const { columns, values } = valuesToUpdate(table, codec, record, context, {
        values: [...columnValuesOf(table.key, key, codec)],
        sums,
      })
      commonColumns ??= columns
      summed ??= sums.map(({ column }) => column)
      versions ??= expected.length
      if (columns.length === 0 || expected.length !== versions || !areSame(columns, commonColumns))
        return false
      if (
        !areSame(
          sums.map(({ column }) => column),
          summed,
        )
      )
        return false
      for (const { before } of sums) values.push(before.low, before.high)
      values.push(...expected)
      rowValues.push(values)
      return true
    })
  }
  const read = (row: Instance, index: number): MaybePromise<boolean> =>
    inRow(index, errorOf, () => readRow(row))
  return after(readInOrder(rows, read), (haveSameColumns) => {
    if (!haveSameColumns || commonColumns === undefined) return undefined
    const { version } = table
    const sums = summed ?? []
    const hasVersions = versions === 1 && version !== undefined
    const bounds = sums.flatMap((column) => [column, column])
    const columns = [...keyColumns, ...commonColumns, ...bounds, ...(hasVersions ? [version] : [])]
    return { columns, keys: [...seenKeys].map(String), rowValues, sums, hasVersions }
  })
}

/** Adds the names of a row to an error of reading it. */
function inRow<R>(
  index: number,
  errorOf: ErrorOfRow,
  read: () => MaybePromise<R>,
): MaybePromise<R> {
  return attempt(read, (error) => {
    throw errorOf(error, index)
  })
}

function areSame(columns: readonly Column[], otherColumns: readonly Column[]): boolean {
  if (columns.length !== otherColumns.length) return false
  for (let position = 0; position < columns.length; position++)
    if (columns[position] !== otherColumns[position]) return false
  return true
}

/**
 * Runs a statement for many rows in a part of the transaction that can be rolled back.
 *
 * @returns `undefined` if the work returns it, or the database refused the statement
 */
function tryStatement<R>(
  table: Table,
  source: Source,
  work: (here: Source) => MaybePromise<R | undefined>,
): MaybePromise<R | undefined> {
  const hasTransaction = isInTransaction(source.runner())
  return attempt<R | undefined>(
    () =>
      hasTransaction
        ? source.atomically((part) => promise(() => work(part)))
        : withAnnouncement<R | undefined>(table, source, work),
    (error) => {
      if (!mayWriteOneByOne(error, hasTransaction)) throw toUnavailable(error)
      source.context.plansOf(table).types = undefined
      return undefined
    },
  )
}

/**
 * Whether the rows can be written one by one after an error of a single row, of a changed column type, or of other
 * transactions, for which single writes wait. Within a transaction, a conflict ends the complete transaction.
 */
function mayWriteOneByOne(error: unknown, hasTransaction: boolean): boolean {
  if (!(error instanceof EngineError) || error.kind === 'unavailable') return false
  return error.kind !== 'conflict' || !hasTransaction
}

/** The columns' types in the database. They are read once, and again after a failed statement. */
function typesOf(
  table: Table,
  here: Source,
  columns: readonly Column[],
): MaybePromise<readonly string[]> {
  const plans = here.context.plansOf(table)
  plans.types ??= readTypes(table, here)
  return after(plans.types, (types) => columns.map(({ name }) => types.get(name) ?? 'text'))
}

/** A failed query is not cached, so that the next write repeats it. */
function readTypes(table: Table, here: Source): Promise<ColumnTypes> {
  const plans = here.context.plansOf(table)
  const { lists } = here.context.dialect.bulk
  const reading = readColumnTypes(table, here.runner(), lists?.types ?? '')
  const keep = (types: ColumnTypes | undefined): void => {
    if (plans.types === reading) plans.types = types
  }
  reading.then(keep, () => {
    keep(undefined)
  })
  return reading
}

/** @param rest the values after the lists */
function runForRows(
  here: Source,
  plan: Plan,
  { columns, rowValues }: StatementValues,
  rest: readonly unknown[] = [],
): MaybePromise<readonly Row[]> {
  const { lists } = here.context.dialect.bulk
  const values: unknown[] = columns.map((_, position) => lists?.write(rowValues, position))
  values.push(...rest)
  return here.runner().run(plan.statement, arrangeValues(plan, values), 'rows')
}

/** The text of the key in a row of values. @param positions of the columns of the key */
function keyAt({ key }: Table, row: readonly unknown[], positions: readonly number[]): string {
  const values = positions.map((position) => row[position])
  return key.parts === undefined ? String(values[0]) : writeKeyText(key, values)
}

/** The records in the order of the texts of keys; undefined for a missing record. */
function inOrderOfKeys(
  table: Table,
  records: readonly Instance[],
  keys: readonly string[],
): Instance[] {
  const keyOfRecord = (record: Instance): string => String(idOf(table, record))
  const isOrdered = (record: Instance, index: number): boolean =>
    keyOfRecord(record) === keys[index]
  if (records.length === keys.length && records.every(isOrdered)) return records as Instance[]
  const byKey = new Map(records.map((record) => [keyOfRecord(record), record]))
  return keys.map((key) => byKey.get(key) as Instance)
}

function reportChanges(
  table: Table,
  here: Source,
  event: 'created' | 'updated',
  records: readonly Instance[],
): void {
  here.changed({ event, table, ids: records.map((record) => idOf(table, record)) })
}
