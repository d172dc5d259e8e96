/**
 * Declares and resolves `Node`, `node(id)` and `nodes(ids)`, which read any record by its global id. Source: GraphQL
 * Server Specification of Relay, Object Identification; decisions, GraphQL.
 */
import type { Instance, Table } from '../../records/model/table.js'
import { after, type MaybePromise } from '../../core/maybe-promise.js'
import { invalid } from '../../records/filters/query-errors.js'
import { toKey } from '../../records/model/codec.js'
import { keyOf } from '../../records/model/record-key.js'
import { readRecords } from '../../records/statements/read-records.js'
import { boundToShard } from '../../records/statements/shard.js'
import type { Source } from '../../records/statements/source.js'
import { allOf, isOneOf } from '../../sql/condition.js'
import { byKey } from '../../sql/order.js'
import { admitted } from '../../records/rights/caller.js'
import { callerOf } from '../operation-caller.js'
import { type GraphqlField, type TypeDeclaration, generatedKey } from '../declarations.js'
import { fromGlobalId } from './global-ids.js'
import type { RecordModel } from './model.js'
import type { QueryReader } from './query-reader.js'
import { openReading, resolveOne, type RecordServices } from './resolve-records.js'

type ModelsByName = ReadonlyMap<string, RecordModel>

/** The interface of all types with a global id. */
export const nodeName = 'Node'

export function declareNode(models: ModelsByName): TypeDeclaration {
  const names = new Map([...models.values()].map(({ type, name }) => [type, name]))
  return {
    kind: 'interface',
    description: 'A record that can be read by its global id.',
    fields: {
      id: { type: 'ID!', description: 'The global id. Clients must not interpret it.' },
    },
    typeOf: (record) => names.get((record as Instance).constructor as never),
  }
}

export function declareNodeQueries(
  models: ModelsByName,
  services: RecordServices,
): [string, GraphqlField][] {
  return [
    [
      'node',
      {
        type: nodeName,
        description:
          'The record with a global id. Null if it does not exist or the caller may not see it.',
        args: { id: { type: 'ID!', description: 'The id of a record.' } },
        extensions: { [generatedKey]: { kind: 'node', models } },
        resolve: (_root, { id }, context) => resolveNode(models, services, id, context),
      },
    ],
    [
      'nodes',
      {
        type: `[${nodeName}]!`,
        description: `The records with these global ids, in the same order, with null for missing records. At most ${services.listMax}.`,
        args: { ids: { type: '[ID!]!', description: 'The ids of records.' } },
        extensions: { [generatedKey]: { kind: 'nodes', models } },
        resolve: (_root, { ids }, context) =>
          resolveNodes(models, services, ids as readonly unknown[], context),
      },
    ],
  ]
}

/** The type of record of a global id, without checking access; undefined for an invalid id. */
export function modelOf(models: ModelsByName, id: unknown): RecordModel | undefined {
  const found = fromGlobalId(id)
  return found && models.get(found.type)
}

function resolveNode(
  models: ModelsByName,
  services: RecordServices,
  id: unknown,
  context: unknown,
): MaybePromise<Instance | null> {
  const model = modelOf(models, id)
  if (model === undefined) return null
  return admitted([model.access], callerOf(context), () =>
    resolveOne(model, services, model.ids.read(id), context),
  )
}

/** Runs one statement for each type. If the caller may not read a type, only the elements of that type fail. */
async function resolveNodes(
  models: ModelsByName,
  services: RecordServices,
  ids: readonly unknown[],
  context: unknown,
): Promise<unknown[]> {
  const { listMax } = services
  if (ids.length > listMax) throw invalid('ids', 'maxItems', `must have at most ${listMax} items`)
  const positions = new Map<RecordModel, number[]>()
  for (const [position, id] of ids.entries()) {
    const model = modelOf(models, id)
    if (model !== undefined) positions.set(model, [...(positions.get(model) ?? []), position])
  }
  const found: unknown[] = ids.map(() => null)
  await Promise.all(
    [...positions].map(async ([model, modelPositions]) => {
      try {
        const rows = await readNodes(
          model,
          services,
          modelPositions.map((position) => ids[position]),
          context,
        )
        for (const [index, position] of modelPositions.entries()) found[position] = rows[index]
      } catch (error) {
        for (const position of modelPositions) found[position] = error
      }
    }),
  )
  return found
}

async function readNodes(
  model: RecordModel,
  services: RecordServices,
  ids: readonly unknown[],
  context: unknown,
): Promise<readonly (Instance | null)[]> {
  const caller = callerOf(context)
  return admitted([model.access], caller, () => {
    const { source, reader } = openReading(services, caller)
    const codec = source.context.codecOf(model.table)
    const keys = ids.map((id) => toKey(codec, model.ids.read(id)))
    const uniqueKeys = [...new Set(keys.filter((key) => key !== undefined))]
    return after(readByKeys(model.table, uniqueKeys, reader, source), (rows) =>
      keys.map((key) => rows.get(String(key)) ?? null),
    )
  })
}

/** Reads rows by their keys in the driver's form. @returns the records by the text of the key */
function readByKeys(
  table: Table,
  keys: readonly unknown[],
  reader: QueryReader,
  source: Source,
): MaybePromise<Map<string, Instance>> {
  const { context } = source
  const rowFilter = reader.rowFilter(table)
  const packed = context.dialect.lists.encode(table.key, keys)
  const byKeys = isOneOf(table.key, reader.values.push(packed) - 1)
  const condition = boundToShard(table, context, reader, allOf(byKeys, rowFilter))
  const { key, values } = reader
  const filter = { condition, key: `b${key}`, count: values.length, withDeleted: false }
  const plan = context.plansOf(table).list(filter, byKey(table), {})
  const found = readRecords(table, source, { plan, values, additions: undefined })
  return after(
    found,
    (records) => new Map(records.map((record) => [String(keyOf(table.key, record)), record])),
  )
}
