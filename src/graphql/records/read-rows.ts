/** Runs the queries of resolvers: lists, counts, single rows and related rows, with one statement each. */
import { type MaybePromise, after, attempt } from '../../core/maybe-promise.js'
import type { Row } from '../../engines/contract/engine.js'
import type { Condition, Instance, Relation, Table } from '../../records/model/table.js'
import { rememberDerived } from '../../records/filters/cursors.js'
import { isOneOf, allOf, equals } from '../../sql/condition.js'
import { derivedColumnsOf } from '../../sql/derived.js'
import { byKey } from '../../sql/order.js'
import { arrangeValues, type Plan } from '../../sql/write-statement.js'
import type { Source } from '../../records/statements/source.js'
import {
  boundToShard,
  checkShard,
  noShard,
  shardCondition,
} from '../../records/statements/shard.js'
import { toClientError } from '../../records/statements/client-errors.js'
import type { ListQuery, QueryReader } from './query-reader.js'

/** Reads the rows of a list. Remembers the values of derived columns, which cursors need. */
export function readList(
  table: Table,
  query: ListQuery,
  reader: QueryReader,
  source: Source,
): MaybePromise<Instance[]> {
  checkShard(table, query.where)
  const { context } = source
  const { order } = query
  const columns = derivedColumnsOf(order)
  const plan = context
    .plansOf(table)
    .get(`q${reader.key}${query.offset === undefined ? '' : 'O'}`, () => ({
      query: 'rows',
      rows: { table, ...query },
      derived: columns.map(({ derived }) => derived),
    }))
  return after(run(plan, reader.values, table, source), (rows) => {
    const records = instances(table, rows, source)
    if (columns.length === 0) return records
    for (const [index, record] of records.entries()) {
      const values = (rows[index] ?? []).slice(table.columns.length)
      rememberDerived(record, order, values, (one) => context.codecOf(one))
    }
    return records
  })
}

/** Reads the first row that matches a condition. */
export function readFirst(
  table: Table,
  condition: Condition,
  { key, values }: { readonly key: string; readonly values: readonly unknown[] },
  source: Source,
): MaybePromise<Instance | undefined> {
  checkShard(table, condition)
  const selection = { condition, key, count: values.length, withDeleted: false }
  const plan = source.context.plansOf(table).list(selection, byKey(table), { hasLimit: true })
  return after(
    run(plan, [...values, 1], table, source),
    (rows) => instances(table, rows, source)[0],
  )
}

export function readCount(
  table: Table,
  condition: Condition | undefined,
  { key, values }: { readonly key: string; readonly values: readonly unknown[] },
  source: Source,
): MaybePromise<number> {
  checkShard(table, condition)
  const selection = { condition, key, count: values.length, withDeleted: false }
  const plan = source.context.plansOf(table).count(selection)
  return after(run(plan, values, table, source), ([row]) => Number(row?.[0]))
}

/** Creates the condition for one key, and adds it to the cache key and the values of the reader. */
export function keyCondition({ key }: Table, value: unknown, reader: QueryReader): Condition {
  reader.key += '='
  return equals(key, reader.values.push(value) - 1)
}

/**
 * Reads the related rows of many records, each with the order and the limit of its list.
 *
 * @param keys values of the relation's `local` column for the driver, without duplicates
 * @returns the rows by the text of the key
 */
export function readRelated(
  relation: Relation,
  keys: readonly unknown[],
  query: ListQuery,
  reader: QueryReader,
  source: Source,
): MaybePromise<Map<string, Instance[]>> {
  const { context } = source
  const { values } = reader
  const packed = values.push(context.dialect.lists.encode(relation.local, keys)) - 1
  if (
    relation.shards !== undefined &&
    shardCondition(relation.table, context, reader) === undefined
  )
    throw noShard(relation.table)
  const shard = relation.shards && values.length - 1
  const plan = context.plansOf(relation.table).get(`R${relation.name}|${reader.key}`, () => ({
    query: 'relatedRows',
    relation: relation,
    keys: [packed],
    isPacked: true,
    shard,
    rows: query,
  }))
  return after(run(plan, values, relation.target, source), (rows) =>
    grouped(relation, rows, source),
  )
}

/** Reads rows by their keys. @returns the rows by the text of the key */
export function readByKey(
  target: Table,
  keys: readonly unknown[],
  reader: QueryReader,
  source: Source,
): MaybePromise<Map<string, Instance>> {
  const { context } = source
  const rows = reader.rows(target)
  const packed = context.dialect.lists.encode(target.key, keys)
  const byKeys = isOneOf(target.key, reader.values.push(packed) - 1)
  const { values } = reader
  const condition = boundToShard(target, context, reader, allOf<Relation>(byKeys, rows))
  const selection = { condition, key: `b${reader.key}`, count: values.length, withDeleted: false }
  const plan = context.plansOf(target).list(selection, byKey(target), {})
  return after(run(plan, values, target, source), (found) => {
    const owners = new Map<string, Instance>()
    for (const owner of instances(target, found, source))
      owners.set(String(owner[target.key.property]), owner)
    return owners
  })
}

/** Counts the related rows of many records. @returns the counts by the text of the record's key */
export function readRelationCounts(
  relation: Relation,
  keys: readonly unknown[],
  reader: QueryReader,
  source: Source,
): MaybePromise<Map<string, number>> {
  const { context } = source
  const { table, target, name } = relation
  const derived = { path: [{ relation, where: reader.rows(target) }], column: undefined }
  const packed = context.dialect.lists.encode(table.key, keys)
  const byKeys = isOneOf(table.key, reader.values.push(packed) - 1)
  const where = boundToShard(table, context, reader, byKeys)
  const plan = context.plansOf(table).get(`#${name}|${reader.key}`, () => ({
    query: 'rows',
    // The records themselves were read already.
    rows: { table, where, withDeleted: true },
    stored: [table.key],
    derived: [derived],
  }))
  return after(
    run(plan, reader.values, table, source),
    (rows) => new Map(rows.map(([key, count]) => [String(key), Number(count)])),
  )
}

function grouped(
  { target }: Relation,
  rows: readonly Row[],
  source: Source,
): Map<string, Instance[]> {
  const { readRow } = source.context.codecOf(target)
  const byKeyText = new Map<string, Instance[]>()
  for (const [keyValue, ...row] of rows) {
    const key = String(keyValue)
    const list = byKeyText.get(key)
    if (list === undefined) byKeyText.set(key, [readRow(row) as Instance])
    else list.push(readRow(row) as Instance)
  }
  return byKeyText
}

function run(
  plan: Plan,
  values: readonly unknown[],
  table: Table,
  source: Source,
): MaybePromise<readonly Row[]> {
  return attempt(
    () => source.runner().run(plan.statement, arrangeValues(plan, values), 'rows'),
    (error) => {
      throw toClientError(error, table, 'read')
    },
  )
}

function instances(table: Table, rows: readonly Row[], source: Source): Instance[] {
  const { readRow } = source.context.codecOf(table)
  return rows.map((row) => readRow(row) as Instance)
}
