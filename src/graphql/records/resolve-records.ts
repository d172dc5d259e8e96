/**
 * Resolvers of generated fields, for operations that the planner cannot compile, such as operations with hand-written
 * resolvers, and for results with errors. Relations are read in batches, one statement for each level.
 */
import type { GraphQLResolveInfo } from 'graphql'
import { type MaybePromise, after } from '../../core/maybe-promise.js'
import type { Database } from '../../records/database.js'
import { toKey } from '../../records/model/codec.js'
import { keyOf } from '../../records/model/record-key.js'
import type { Instance, Table } from '../../records/model/table.js'
import {
  countRelated,
  readNumber,
  readRecords,
  readRelated,
} from '../../records/statements/read-records.js'
import { toSelected } from '../../records/statements/select-rows.js'
import { checkShard, inShard } from '../../records/statements/shard.js'
import type { Source } from '../../records/statements/source.js'
import type { FieldArguments } from '../declarations.js'
import { admitted, type Caller, withGuards } from '../../records/rights/caller.js'
import { allOf } from '../../sql/condition.js'
import { derivedColumnsOf } from '../../sql/derived.js'
import { byKey } from '../../sql/order.js'
import type { RelatedRowsOf } from '../../sql/tree.js'
import { callerOf } from '../operation-caller.js'
import { isShared, readBelow } from './shared-reads.js'
import { inBatch, executionInShard } from './key-batches.js'
import type { RecordModel, RelationModel } from './model.js'
import { type ListQuery, QueryReader } from './query-reader.js'

/** The services of resolvers. */
export interface RecordServices {
  readonly database: () => Database
  /** A schema can be built without a database. */
  readonly findDatabase: () => Database | undefined
  readonly listMax: number
  /** The maximum number of changes that wait for a subscriber. Called when a subscription is opened. */
  readonly maxEvents: () => number
  /** Milliseconds since 1970, from the application's clock. */
  readonly now: () => number
}

/** @returns null if there is no record with this key or the caller may not see it */
export function resolveOne(
  model: RecordModel,
  services: RecordServices,
  key: unknown,
  context: unknown,
): MaybePromise<Instance | null> {
  const { source, reader } = openReading(services, callerOf(context))
  return readOne(model, source, reader, key)
}

/**
 * As `resolveOne`.
 *
 * @param reader a new reader, which has read nothing yet
 */
export function readOne(
  model: RecordModel,
  source: Source,
  reader: QueryReader,
  id: unknown,
): MaybePromise<Instance | null> {
  const codec = source.context.codecOf(model.table)
  const key = id === undefined ? undefined : toKey(codec, id)
  if (key === undefined) return null
  const { table } = model
  const rowFilter = reader.rowFilter(table)
  const condition = allOf(reader.keyCondition(table, key), rowFilter)
  checkShard(table, condition)
  const { filter, values } = toSelected(condition, reader)
  const plan = source.context.plansOf(table).list(filter, byKey(table), { hasLimit: true })
  const query = { plan, values: [...values, 1], additions: undefined }
  return after(readRecords(table, source, query), ([record]) => record ?? null)
}

/** Reads the rows of a list. Cursors of the records are available for its order. */
export function readList(
  table: Table,
  query: ListQuery,
  reader: QueryReader,
  source: Source,
): MaybePromise<Instance[]> {
  checkShard(table, query.where)
  const { order, offset } = query
  const derived = derivedColumnsOf(order).map((column) => column.derived)
  const plan = source.context
    .plansOf(table)
    .get(`q${reader.key}${offset === undefined ? '' : 'O'}`, () => ({
      query: 'rows',
      rows: { table, ...query },
      derived,
    }))
  const additions = derived.length === 0 ? undefined : { order }
  return readRecords(table, source, { plan, values: reader.values, additions })
}

export function resolveList(
  model: RecordModel,
  services: RecordServices,
  args: FieldArguments,
  context: unknown,
): MaybePromise<Instance[]> {
  return withGuards(model.table, callerOf(context), (caller) => {
    const { source, reader } = openReading(services, caller)
    return readList(model.table, reader.list(model, args), reader, source)
  })
}

export function resolveCount(
  model: RecordModel,
  services: RecordServices,
  where: unknown,
  context: unknown,
): MaybePromise<number> {
  return withGuards(model.table, callerOf(context), (caller) => {
    const { source, reader } = openReading(services, caller)
    const { table } = model
    const condition = reader.condition(model, where)
    checkShard(table, condition)
    const { filter, values } = toSelected(condition, reader)
    return readNumber(table, source, source.context.plansOf(table).count(filter), values)
  })
}

/** The resolver of a relation's field. */
export function relationResolver(
  relation: RelationModel,
  services: RecordServices,
): (record: unknown, args: FieldArguments, context: unknown, info: GraphQLResolveInfo) => unknown {
  const { rules } = relation
  const resolve = relation.isList ? resolveMany : resolveBelongsTo
  return (record, args, context, info) => {
    const caller = callerOf(context)
    return admitted(rules, caller, () =>
      resolve({ relation, services, caller, args, info }, record as Instance),
    )
  }
}

/** The resolver of the number of related rows. */
export function countResolver(
  relation: RelationModel,
  services: RecordServices,
): (record: unknown, args: FieldArguments, context: unknown, info: GraphQLResolveInfo) => unknown {
  return (record, args, context, info) => {
    const caller = callerOf(context)
    return admitted(relation.rules, caller, () =>
      resolveRelationCount({ relation, services, caller, args, info }, record as Instance),
    )
  }
}

function resolveRelationCount(request: RelationRequest, record: Instance): MaybePromise<number> {
  const { relation, services, caller } = request
  const { table } = relation.relation
  const batch = batchOf<number>(request, record, (keys) => {
    const { source, reader } = openBelow(record, services, caller)
    const where = reader.rowFilter(relation.relation.target)
    const counts = countRelated(relation.relation, keys, source, { where, slots: reader })
    return after(counts, (found) => (key) => found.get(String(key)) ?? 0)
  })
  return batch.get(encode(relation, keyOf(table.key, record)))
}

interface RelationRequest {
  readonly relation: RelationModel
  readonly services: RecordServices
  readonly caller: Caller
  readonly args: FieldArguments
  readonly info: GraphQLResolveInfo
}

function resolveBelongsTo(
  request: RelationRequest,
  record: Instance,
): MaybePromise<Instance | null> {
  const { relation, services, caller } = request
  const value = keyOf(relation.relation.local, record)
  if (value === undefined || value === null) return null
  const batch = batchOf<Instance | null>(request, record, (keys) => {
    const { target } = relation.relation
    const reading = openBelow(record, services, caller)
    const rows = { where: reading.reader.rowFilter(target) }
    const found = readRows(request, record, keys, reading, rows)
    return after(found, (records) => (key) => records.get(String(key))?.[0] ?? null)
  })
  return batch.get(encode(relation, value))
}

function resolveMany(request: RelationRequest, record: Instance): MaybePromise<Instance[]> {
  const { relation, services, caller, args } = request
  const value = keyOf(relation.relation.local, record)
  if (value === undefined || value === null) return []
  const batch = batchOf<Instance[]>(request, record, (keys) =>
    withGuards(relation.target.table, caller, () => {
      const reading = openBelow(record, services, caller)
      const rows = reading.reader.list(relation.target, args)
      const lists = readRows(request, record, keys, reading, rows)
      return after(lists, (found) => (key: unknown) => found.get(String(key)) ?? [])
    }),
  )
  return batch.get(encode(relation, value))
}

/** The batch of a field: all records, or the records of one shard. */
function batchOf<V>(
  { relation, info }: RelationRequest,
  record: Instance,
  load: (keys: readonly unknown[]) => MaybePromise<(key: unknown) => V>,
): { get(key: unknown): Promise<V> } {
  const { shards, table } = relation.relation
  const { variableValues, fieldNodes } = info
  if (shards === undefined) return inBatch(variableValues, fieldNodes[0], load)
  const value = record[shards.local.property]
  return inBatch(executionInShard(variableValues, value), fieldNodes[0], (keys) =>
    inShard(table, value, () => load(keys)),
  )
}

/** UUID keys are stored and compared in lower case. */
function encode({ relation }: RelationModel, value: unknown): unknown {
  return relation.local.isUuid ? String(value).toLowerCase() : value
}

/** Reads related rows, once for all subscribers that share the record. */
function readRows(
  { relation: { relation } }: RelationRequest,
  record: Instance,
  keys: readonly unknown[],
  { source, reader }: ReturnType<typeof openReading>,
  rows: RelatedRowsOf,
): MaybePromise<Map<string, Instance[]>> {
  const { key, values } = reader
  return readBelow(record, relation, keys, reader, () =>
    readRelated(relation, keys, source, { key, values, rows }),
  )
}

/** Shared reads do not belong to the request of one client, which may end earlier. */
function openBelow(
  record: Instance,
  services: RecordServices,
  caller: Caller,
): { source: Source; reader: QueryReader } {
  const reading = openReading(services, caller)
  return isShared(record) ? { ...reading, source: services.database() } : reading
}

/** The source and reader for the reads of a client. */
export function openReading(
  { database, listMax }: RecordServices,
  caller: Caller,
): { source: Source; reader: QueryReader } {
  const reading = database()
  const source = reading.forClient(caller.request)
  return { source, reader: new QueryReader({ database: reading, caller, listMax }) }
}
