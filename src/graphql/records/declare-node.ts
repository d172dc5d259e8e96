/**
 * Declares and resolves `Node`, `node(id)` and `nodes(ids)`, which read any record by its global id. Source: GraphQL
 * Server Specification of Relay, Object Identification; decisions, GraphQL.
 */
import type { Instance } from '../../records/model/table.js'
import { after, type MaybePromise } from '../../core/maybe-promise.js'
import { invalid } from '../../records/filters/query-errors.js'
import { toKey } from '../../records/model/codec.js'
import { admitted } from '../../records/rights/caller.js'
import { callerOf } from '../operation-caller.js'
import { type GraphqlField, type TypeDeclaration, generatedKey } from '../declarations.js'
import { fromGlobalId, type RecordModel } from './model.js'
import { readByKey } from './read-rows.js'
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
  return admitted([model.access], callerOf(context), () => resolveOne(model, services, id, context))
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
    return after(readByKey(model.table, uniqueKeys, reader, source), (rows) =>
      keys.map((key) => rows.get(String(key)) ?? null),
    )
  })
}
