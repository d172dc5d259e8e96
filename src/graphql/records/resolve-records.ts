/**
 * Resolvers of what is generated, for operations that the planner leaves to graphql-js: beside fields with resolvers of
 * their own, and wherever an answer has errors. Relations are read in batches, one statement a level.
 */

import type { GraphQLResolveInfo } from 'graphql'
import { type MaybePromise, after } from '../../core/maybe-promise.js'
import type { Database } from '../../records/database.js'
import { toKey } from '../../records/model/codec.js'
import type { Table } from '../../records/model/table.js'
import { inShard } from '../../records/statements/shard.js'
import type { Source } from '../../records/statements/source.js'
import type { Arguments } from '../declarations.js'
import { admitted, type Caller, withGuards } from '../../records/rights/caller.js'
import { allOf } from '../../sql/condition.js'
import { callerOf } from '../caller.js'
import { isShared, readBelow } from './shared-reads.js'
import type { RecordModel, RelationModel } from './model.js'
import { QueryReader } from './query-reader.js'
import {
  keyCondition,
  readByKey,
  readCount,
  readFirst,
  readList,
  readRelated,
  readRelationCounts,
  type Instance,
} from './read-rows.js'

/**
 * Gathers the requests of all resolvers of one execution before reading: a relation of a hundred records costs one
 * statement, not a hundred.
 */

interface Waiting<K, V> {
  readonly key: K
  readonly resolve: (value: V) => void
  readonly reject: (error: unknown) => void
}

/** The keys that one field of a document loads in one execution. */
class Batch<K, V> {
  readonly #load: (keys: readonly K[]) => MaybePromise<(key: K) => V>
  #waiting: Waiting<K, V>[] = []

  constructor(load: (keys: readonly K[]) => MaybePromise<(key: K) => V>) {
    this.#load = load
  }

  get(key: K): Promise<V> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ key, resolve, reject })
      // Behind the promises that are being kept: their resolvers ask within this turn too.
      if (this.#waiting.length === 1)
        void Promise.resolve().then(() => {
          process.nextTick(() => void this.#run())
        })
    })
  }

  async #run(): Promise<void> {
    const waiting = this.#waiting
    this.#waiting = []
    try {
      const valueOf = await this.#load([...new Set(waiting.map(({ key }) => key))])
      for (const { key, resolve } of waiting) resolve(valueOf(key))
    } catch (error) {
      for (const { reject } of waiting) reject(error)
    }
  }
}

/** By execution (its own object of variables), then by field. */
const executions = new WeakMap<object, Map<unknown, Batch<unknown, unknown>>>()

/**
 * @param execution an object that belongs to one execution alone
 * @param field the field that loads; it must always pass the same `load`
 */
function inBatch<K, V>(
  execution: object,
  field: unknown,
  load: (keys: readonly K[]) => MaybePromise<(key: K) => V>,
): { get(key: K): Promise<V> } {
  let batches = executions.get(execution)
  if (batches === undefined)
    executions.set(execution, (batches = new Map<unknown, Batch<unknown, unknown>>()))
  let batch = batches.get(field)
  if (batch === undefined) {
    batch = new Batch<K, V>(load) as Batch<unknown, unknown>
    batches.set(field, batch)
  }
  return batch as Batch<K, V>
}

const parts = new WeakMap<object, Map<unknown, object>>()

/** Stands for an execution where what it asks for is read in parts, e.g. by shards. */
function partOf(execution: object, part: unknown): object {
  let partsOfExecution = parts.get(execution)
  if (partsOfExecution === undefined)
    parts.set(execution, (partsOfExecution = new Map<unknown, object>()))
  let one = partsOfExecution.get(part)
  if (one === undefined) partsOfExecution.set(part, (one = {}))
  return one
}

/** What resolvers work with. */
export interface RecordServices {
  readonly database: () => Database
  readonly listMax: number
  /** Changes that may wait for a subscriber. Asked when there is one. */
  readonly maxEvents: () => number
  /** Milliseconds since 1970, by the application's clock. */
  readonly now: () => number
}

/** One record, or null where the caller may see none of that key. */
export function resolveOne(
  model: RecordModel,
  services: RecordServices,
  id: unknown,
  context: unknown,
): MaybePromise<Instance | null> {
  const { source, reader } = openReading(services, callerOf(context))
  return readOne(model, source, reader, model.ids.read(id))
}

/** The same by a reader of one's own, which has read nothing yet. */
export function readOne(
  model: RecordModel,
  source: Source,
  reader: QueryReader,
  id: unknown,
): MaybePromise<Instance | null> {
  const codec = source.context.codecOf(model.table)
  const key = toKey(codec, id)
  if (key === undefined) return null
  const rows = reader.rows(model.table)
  const condition = keyCondition(model.table, key, reader)
  const found = readFirst(model.table, allOf(condition, rows) ?? condition, reader, source)
  return after(found, (record) => record ?? null)
}

export function resolveList(
  model: RecordModel,
  services: RecordServices,
  args: Arguments,
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
    return readCount(model.table, reader.condition(model, where), reader, source)
  })
}

/** The resolver of a relation's field. */
export function relationResolver(
  relation: RelationModel,
  services: RecordServices,
): (record: unknown, args: Arguments, context: unknown, info: GraphQLResolveInfo) => unknown {
  const { rules } = relation
  const resolve = relation.isList ? resolveMany : resolveOwner
  return (record, args, context, info) => {
    const caller = callerOf(context)
    return admitted(rules, caller, () =>
      resolve({ relation, services, caller, args, info }, record as Instance),
    )
  }
}

/** The resolver of the number of a relation's rows. */
export function countResolver(
  relation: RelationModel,
  services: RecordServices,
): (record: unknown, args: Arguments, context: unknown, info: GraphQLResolveInfo) => unknown {
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
    const counts = readRelationCounts(relation.relation, keys, reader, source)
    return after(counts, (found) => (key) => found.get(String(key)) ?? 0)
  })
  return batch.get(encode(relation, record[table.key.property]))
}

interface RelationRequest {
  readonly relation: RelationModel
  readonly services: RecordServices
  readonly caller: Caller
  readonly args: Arguments
  readonly info: GraphQLResolveInfo
}

function resolveOwner(request: RelationRequest, record: Instance): MaybePromise<Instance | null> {
  const { relation, services, caller } = request
  const { local } = relation.relation
  const value = record[local.property]
  if (value === undefined || value === null) return null
  const batch = batchOf<Instance | null>(request, record, (keys) => {
    const { target } = relation.relation
    const { source, reader } = openBelow(record, services, caller)
    const read = (): MaybePromise<Map<string, Instance>> => readByKey(target, keys, reader, source)
    const owners = isShared(record)
      ? readBelow(record, relation.relation, keys, rightsOf(target, services, caller), read)
      : read()
    return after(owners, (found) => (key) => found.get(String(key)) ?? null)
  })
  return batch.get(encode(relation, value))
}

function resolveMany(request: RelationRequest, record: Instance): MaybePromise<Instance[]> {
  const { relation, services, caller, args } = request
  const value = record[relation.relation.local.property]
  if (value === undefined || value === null) return []
  const batch = batchOf<Instance[]>(request, record, (keys) =>
    withGuards(relation.target.table, caller, () => {
      const { source, reader } = openBelow(record, services, caller)
      const query = reader.list(relation.target, args)
      const lists = readBelow(record, relation.relation, keys, reader, () =>
        readRelated(relation.relation, keys, query, reader, source),
      )
      return after(lists, (found) => (key: unknown) => found.get(String(key)) ?? [])
    }),
  )
  return batch.get(encode(relation, value))
}

/** The records of one place of the document that are read together: all, or those of one shard. */
function batchOf<V>(
  { relation, info }: RelationRequest,
  record: Instance,
  load: (keys: readonly unknown[]) => MaybePromise<(key: unknown) => V>,
): { get(key: unknown): Promise<V> } {
  const { shards, table } = relation.relation
  const { variableValues, fieldNodes } = info
  if (shards === undefined) return inBatch(variableValues, fieldNodes[0], load)
  const value = record[shards.local.property]
  return inBatch(partOf(variableValues, value), fieldNodes[0], (keys) =>
    inShard(table, value, () => load(keys)),
  )
}

/** Keys of UUIDs are compared in the form in which they are kept. */
function encode({ relation }: RelationModel, value: unknown): unknown {
  return relation.local.isUuid ? String(value).toLowerCase() : value
}

/** What the caller sees of a record, read by itself. */
function rightsOf(target: Table, services: RecordServices, caller: Caller): QueryReader {
  const { reader } = openReading(services, caller)
  reader.rows(target)
  return reader
}

/** What is shared belongs to no client's request, which may end before the others'. */
function openBelow(
  record: Instance,
  services: RecordServices,
  caller: Caller,
): { source: Source; reader: QueryReader } {
  const reading = openReading(services, caller)
  return isShared(record) ? { ...reading, source: services.database() } : reading
}

/** What a client's rows are read with. */
export function openReading(
  { database, listMax }: RecordServices,
  caller: Caller,
): { source: Source; reader: QueryReader } {
  const reading = database()
  const source = reading.forClient(caller.request)
  return { source, reader: new QueryReader({ database: reading, caller, listMax }) }
}
