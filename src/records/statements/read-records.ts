/**
 * Runs queries of rows, and turns the rows into records with their counts and related rows. Programs, REST and resolvers read
 * records here. Source: decisions, Records: queries.
 */
import { after, attempt, type MaybePromise } from '../../core/maybe-promise.js'
import type { Row } from '../../engines/contract/engine.js'
import { HttpError } from '../../errors/http-error.js'
import { allOf, isOneOf } from '../../sql/condition.js'
import { derivedColumnsOf, type RelationStep } from '../../sql/derived.js'
import type { Order } from '../../sql/order.js'
import { isApart } from '../../sql/table.js'
import type { RelatedRowsOf, RelationValue, Selection } from '../../sql/tree.js'
import { arrangeValues, type Plan } from '../../sql/write-statement.js'
import { rememberDerived } from '../filters/cursors.js'
import type { ListTotal, RelatedRows, Slots } from '../filters/list-options.js'
import type { Instance, Relation, Table } from '../model/table.js'
import { toClientError } from './client-errors.js'
import { keyInValues } from '../model/codec.js'
import { keyOf } from '../model/record-key.js'
import { refusedOfStatement } from './refused-values.js'
import { boundToShard, keyValues } from './shard.js'
import { withReadKeys } from './row-keys.js'
import type { RecordsContext, Source } from './source.js'

/** A statement that reads records. */
export interface RecordsQuery {
  readonly plan: Plan
  readonly values: readonly unknown[]
  /** Undefined if the rows have only the columns of their table. */
  readonly additions: RowAdditions | undefined
}

/** The values of each row after the columns of its table: those of its order, the total, then those of the selection. */
export interface RowAdditions {
  /** The order of the rows. Cursors need its values from other tables. */
  readonly order: Order
  /** Counts, and relations, whose rows are JSON. */
  readonly selection?: Selection<Relation> | undefined
  /** The maximum number of related rows of one relation, if they are limited. */
  readonly maxRows?: number | undefined
  /** Receives every related row. */
  readonly found?: RelatedRows['found'] | undefined
  readonly total?: ListTotal | undefined
}

/** @throws {HttpError} the database's error, converted for clients */
export function readRecords(
  table: Table,
  source: Source,
  { plan, values, additions }: RecordsQuery,
): MaybePromise<Instance[]> {
  return after(readRows(table, source, plan, values), (rows) => {
    const records = toRecords(table, source.context, rows)
    if (additions !== undefined) setAdditions(table, source.context, { records, rows, additions })
    return records
  })
}

/** Makes records of rows that begin with the columns of their table. */
export function toRecords(table: Table, context: RecordsContext, rows: readonly Row[]): Instance[] {
  const { readRow } = context.codecOf(table)
  const records = new Array<Instance>(rows.length)
  for (let index = 0; index < rows.length; index++)
    records[index] = readRow(rows[index] as Row) as Instance
  return records
}

/** Runs a query. @throws {HttpError} the database's error, converted for clients */
export function readRows(
  table: Table,
  source: Source,
  plan: Plan,
  values: readonly unknown[],
): MaybePromise<readonly Row[]> {
  const sent = arrangeValues(plan, values)
  return attempt<readonly Row[]>(
    () => source.runner().run(plan.statement, sent, 'rows'),
    (error) => {
      throw toClientError(error, table, 'read', {
        refused: refusedOfStatement(source, plan.statement, sent),
      })
    },
  )
}

/** Runs a query that counts rows. @throws as `readRows` */
export function readNumber(
  table: Table,
  source: Source,
  plan: Plan,
  values: readonly unknown[],
): MaybePromise<number> {
  return after(readRows(table, source, plan, values), ([row]) => Number(row?.[0]))
}

function setAdditions(
  table: Table,
  context: RecordsContext,
  {
    records,
    rows,
    additions,
  }: {
    readonly records: readonly object[]
    readonly rows: readonly Row[]
    readonly additions: RowAdditions
  },
): void {
  const { order, selection, total } = additions
  const reading = { ...additions, context }
  const first = table.columns.length
  const afterOrder = first + derivedColumnsOf(order).length
  if (rows[0] !== undefined) total?.found(Number(rows[0][afterOrder]))
  for (const [index, record] of records.entries()) {
    const row = rows[index] as Row
    if (afterOrder > first)
      rememberDerived(record, order, row.slice(first, afterOrder), (of) => context.codecOf(of))
    if (selection !== undefined) setSelected(record, row, selection, reading)
  }
}

interface SelectionContext extends Pick<RowAdditions, 'maxRows' | 'found'> {
  readonly context: RecordsContext
}

/** Sets the values of a selection on a record. They are the last ones of its row. */
function setSelected(
  record: object,
  row: Row,
  selection: Selection<Relation>,
  reading: SelectionContext,
): void {
  const first = row.length - selection.length
  for (const [index, entry] of selection.entries()) {
    const value = row[first + index]
    if (entry.kind === 'count') Object.assign(record, { [entry.key]: Number(value) })
    if (entry.kind !== 'relation') continue
    const json: unknown = typeof value === 'string' ? JSON.parse(value) : value
    Object.assign(record, { [entry.key]: fromJson(json, entry, reading) })
  }
}

function fromJson(
  value: unknown,
  { relation, selection }: RelationValue<Relation>,
  reading: SelectionContext,
): Instance | Instance[] | null {
  const { target, kind } = relation
  if (reading.maxRows !== undefined && isTooMany(kind, value)) throw tooManyRelated(relation)
  const { readRow } = reading.context.codecOf(target)
  const bytes = target.columns.flatMap(({ storage }, index) => (storage === 'bytes' ? [index] : []))
  const read = (lists: readonly Row[]): Instance => {
    const row = lists.flat()
    for (const index of bytes)
      if (typeof row[index] === 'string') row[index] = Buffer.from(row[index], 'base64')
    const record = readRow(row) as Instance
    setSelected(record, row, selection, reading)
    reading.found?.(target, record)
    return record
  }
  if (kind !== 'belongsTo') return (value as Row[][]).map(read)
  return value === null || value === undefined ? null : read(value as Row[])
}

function isTooMany(kind: Relation['kind'], value: unknown): boolean {
  return kind === 'belongsTo' ? Array.isArray(value) && value.length === 0 : value === null
}

export function tooManyRelated({ name }: Relation): HttpError {
  const message = `The relation ${name} has more rows than one response may include. Request fewer rows, or request the related rows on their own.`
  const errors = [{ path: 'with', code: 'TOO_COSTLY', message }]
  return new HttpError(400, message, { code: 'TOO_COSTLY', errors })
}

/** Which related rows of each record are read. The values of their conditions come first in the statement. */
export interface RelatedQueryOfKeys {
  /** Equal for queries that differ only in values. */
  readonly key: string
  readonly values: readonly unknown[]
  /** Default: all rows, by key. */
  readonly rows?: RelatedRowsOf
}

const allRelated: RelatedQueryOfKeys = { key: '', values: [] }

/**
 * Reads the related rows of many records with one statement.
 *
 * @param keys values of the relation's `local` column for the driver, without duplicates
 * @returns the related records by the text of the key. A row that two keys lead to is one object
 * @throws {HttpError} 400 `VALIDATION` for a sharded relation without the shard of the call; as `readRows`
 */
export function readRelated(
  relation: Relation,
  keys: readonly unknown[],
  source: Source,
  { key, values: conditionValues, rows }: RelatedQueryOfKeys = allRelated,
): MaybePromise<Map<string, Instance[]>> {
  const { table, target, local, shards } = relation
  const { context } = source
  const packed = context.dialect.lists.encode(local, keys)
  const values = [...conditionValues, ...(packed === undefined ? keys : [packed])]
  if (shards !== undefined) values.push(...keyValues(target, context, undefined).slice(1))
  const count = packed === undefined ? keys.length : undefined
  const plan = context
    .plansOf(table)
    .related(relation, count, { key, rows, first: conditionValues.length })
  return after(readRows(target, source, plan, values), (found) =>
    toRecordsByKey(relation, found, context),
  )
}

/** @param rows each after the key that refers to it */
function toRecordsByKey(
  { table, target, local, join }: Relation,
  rows: readonly Row[],
  context: RecordsContext,
): Map<string, Instance[]> {
  const codec = context.codecOf(target)
  const { readRow } = codec
  const composite = local.parts && context.codecOf(table).byProperty.get(local.property)
  // Only rows of a join table are found by several keys.
  const records = join && new Map<unknown, Instance>()
  const byKey = new Map<string, Instance[]>()
  for (const [referringKey, ...row] of rows) {
    const id = join && keyInValues(target.key, target.columns, row, codec)
    const record = records?.get(id) ?? (readRow(row) as Instance)
    records?.set(id, record)
    const keyText = String(composite === undefined ? referringKey : composite.decode(referringKey))
    const list = byKey.get(keyText)
    if (list === undefined) byKey.set(keyText, [record])
    else list.push(record)
  }
  return byKey
}

/** The text of a record's key in the results of `readRelated`. UUIDs are stored and compared in lower case. */
export function keyTextOf({ local }: Relation, record: Instance): string {
  const text = String(keyOf(local, record))
  return local.isUuid ? text.toLowerCase() : text
}

/**
 * Counts the related rows of many records.
 *
 * @param keys the keys of the records for the driver, without duplicates
 * @param where which related rows are counted; its values are in `slots`
 * @returns the counts by the text of the record's key
 */
export function countRelated(
  relation: Relation,
  keys: readonly unknown[],
  source: Source,
  { where, slots }: { readonly where: RelationStep['where']; readonly slots: Slots },
): MaybePromise<Map<string, number>> {
  const { table, name } = relation
  const { context } = source
  const packed = context.dialect.lists.encode(table.key, keys)
  if (isApart(relation, context.dialect))
    return countApart(relation, packed, source, { where, slots })
  const byKeys = isOneOf(table.key, slots.values.push(packed) - 1)
  const condition = boundToShard(table, context, slots, byKeys)
  const plan = context.plansOf(table).get(`#${name}|${slots.key}`, () => ({
    query: 'rows',
    // The records themselves were read already.
    rows: { table, where: condition, withDeleted: true },
    stored: [table.key],
    derived: [{ path: [{ relation, where }], column: undefined }],
  }))
  return after(
    readRows(table, source, plan, slots.values),
    (rows) =>
      new Map(
        withReadKeys(table, source, rows).map(([key, count]) => [String(key), Number(count)]),
      ),
  )
}

/** Counts related rows in shards, where the database does not count them for each row. */
function countApart(
  { name, table, target, foreign }: Relation,
  keys: unknown,
  source: Source,
  { where, slots }: { readonly where: RelationStep['where']; readonly slots: Slots },
): MaybePromise<Map<string, number>> {
  const byKeys = isOneOf(foreign, slots.values.push(keys) - 1)
  const count = { column: undefined }
  const plan = source.context.plansOf(table).get(`#${name}|${slots.key}`, () => ({
    query: 'aggregate',
    rows: { table: target, where: allOf(byKeys, where) },
    aggregates: { groups: [{ column: foreign }], measures: [count], having: [], order: [] },
  }))
  return after(
    readRows(target, source, plan, slots.values),
    (rows) => new Map(rows.map(([key, found]) => [String(key), Number(found)])),
  )
}
