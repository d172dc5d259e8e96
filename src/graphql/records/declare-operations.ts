/** Declares the queries and mutations of a record. */

import type { Instance } from '../../records/model/table.js'
import type { MaybePromise } from '../../core/maybe-promise.js'
import { hasKey } from '../../engines/contract/table.js'
import type { ListOptions } from '../../records/filters/list-options.js'
import { type Caller, withGuards } from '../../records/rights/caller.js'
import { defaultLimit } from '../../records/clients/operation-inputs.js'
import { ClientView } from '../../records/policy/client-view.js'
import { callerOf } from '../operation-caller.js'
import {
  type FieldArguments,
  type GraphqlField,
  type TypeDeclaration,
  generatedKey,
} from '../declarations.js'
import { type RecordModel, hasInput, type GeneratedField, type PagePart } from './model.js'
import { QueryReader, withShardArgument } from './query-reader.js'
import { type RecordServices, resolveCount, resolveList, resolveOne } from './resolve-records.js'
import { declareAggregate } from './declare-aggregates.js'
import { declareArguments, hasUnplannedInput, readUnplannedInputs } from './declare-arguments.js'
import {
  edgesOf,
  endCursor,
  resolvePage,
  startCursor,
  type ResolvedEdge,
  type ResolvedPage,
} from './pages.js'
import { declareKey, readKey } from './row-keys.js'
import { RecordWriter, resultExtensions } from './write-records.js'

/**
 * Resolves a list with arguments that no planned statement reads, by the record's own list.
 *
 * @throws {HttpError} 400 `VALIDATION`; 401 or 403 for fields that the caller may not read
 */
function resolveByRecord(
  model: RecordModel,
  services: RecordServices,
  args: FieldArguments,
  context: unknown,
): MaybePromise<Instance[]> {
  return withGuards(model.table, callerOf(context), (caller) =>
    readByRecord(model, services, args, caller),
  )
}

function readByRecord(
  model: RecordModel,
  { database, listMax }: RecordServices,
  args: FieldArguments,
  caller: Caller,
): Promise<Instance[]> {
  const { where, orderBy, limit, offset } = args
  const openDatabase = database()
  const reader = new QueryReader({ database: openDatabase, caller, listMax })
  const options = {
    ...(isPresent(where) && { where: reader.translate(model, where) }),
    ...(isPresent(orderBy) && { orderBy: reader.orderTerms(model, orderBy) }),
    ...readUnplannedInputs(model, args),
    limit: reader.readLimit('limit', limit ?? defaultLimit),
    offset: offset ?? 0,
    view: new ClientView({ context: openDatabase.context, caller, log: openDatabase.log }),
  }
  const { request } = caller
  const records =
    request === undefined
      ? openDatabase.records(model.type)
      : openDatabase.recordsFor(model.type, request)
  return records.list(options as unknown as ListOptions<object>)
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null
}

type Declarations = [string, GraphqlField][]

export function declareQueries(model: RecordModel, services: RecordServices): Declarations {
  const { name, singular, plural, simplePlural, access } = model
  const list: GraphqlField = {
    type: `[${name}!]`,
    args: declareArguments(model, 'list'),
    access,
    extensions: generatedExtensions({ kind: 'list', model }),
    resolve: (_root, args, context) => {
      const resolve = hasUnplannedInput(args) ? resolveByRecord : resolveList
      return resolve(model, services, args, context)
    },
  }
  const one = withShardArgument(model, {
    type: name,
    args: declareArguments(model, 'find'),
    access,
    extensions: generatedExtensions({ kind: 'one', model }),
    resolve: (_root, args, context) =>
      resolveOne(model, services, readKey(model, args).key, context),
  })
  // Without a key, no query finds one row, and no cursor is exact.
  const keyed = (...queries: Declarations): Declarations => (hasKey(model.table) ? queries : [])
  const queries: Declarations = [
    ...keyed([singular, one]),
    [plural, list],
    [
      `${singular}Count`,
      {
        type: 'Int',
        args: declareArguments(model, 'count'),
        access,
        extensions: generatedExtensions({ kind: 'count', model }),
        resolve: (_root, args, context) => resolveCount(model, services, args.where, context),
      },
    ],
    ...keyed([`${plural}Page`, declarePage(model, services)]),
    declareAggregate(model, services),
  ]
  if (simplePlural !== undefined)
    queries.push([simplePlural, { ...list, deprecated: `Use ${plural}.` }])
  return queries
}

function declarePage(model: RecordModel, services: RecordServices): GraphqlField {
  const { name, access } = model
  return {
    type: `${name}Connection`,
    args: declareArguments(model, 'page'),
    access,
    extensions: generatedExtensions({ kind: 'page', model }),
    resolve: (_root, args, context) => resolvePage(model, services, args, context),
  }
}

export function declareMutations(model: RecordModel, { database }: RecordServices): Declarations {
  const { name, writes } = model
  const input: Readonly<Record<string, string>> = hasInput(model) ? { input: `${name}Input` } : {}
  const version: Readonly<Record<string, string>> =
    model.table.version === undefined ? {} : { expectedVersion: 'Int' }
  const writer = (context: unknown): RecordWriter => new RecordWriter(database(), callerOf(context))
  const mutations: Declarations = []
  if (writes.create !== false)
    mutations.push([
      `create${name}`,
      {
        type: name,
        args: input,
        access: writes.create,
        extensions: {
          ...generatedExtensions({ kind: 'create', model }),
          ...resultExtensions(model, 'create'),
        },
        resolve: (_root, args, context) => writer(context).create(model, args.input),
      },
    ])
  if (writes.update !== false)
    mutations.push([
      `update${name}`,
      withShardArgument(model, {
        type: name,
        args: { ...declareKey(model), ...input, ...version },
        access: writes.update,
        extensions: {
          ...generatedExtensions({ kind: 'update', model }),
          ...resultExtensions(model, 'update'),
        },
        resolve: (_root, args, context) =>
          writer(context).update(model, readKey(model, args), args.input, args.expectedVersion),
      }),
    ])
  if (writes.delete !== false)
    mutations.push([
      `delete${name}`,
      withShardArgument(model, {
        type: 'Boolean',
        args: { ...declareKey(model), ...version },
        access: writes.delete,
        extensions: generatedExtensions({ kind: 'delete', model }),
        resolve: (_root, args, context) =>
          writer(context).delete(model, readKey(model, args), args.expectedVersion),
      }),
    ])
  return mutations
}

/** `ProductConnection` and `ProductEdge`. */
export function declareConnection(model: RecordModel): [string, TypeDeclaration][] {
  if (!hasKey(model.table)) return []
  const part = (part: PagePart): GraphqlField['extensions'] =>
    generatedExtensions({ kind: 'part', part, model })
  return [
    [
      `${model.name}Connection`,
      {
        kind: 'object',
        description: `A page of ${model.name}.`,
        fields: {
          edges: {
            type: `[${model.name}Edge!]`,
            extensions: part('edges'),
            resolve: (page) => edgesOf(page as ResolvedPage),
          },
          pageInfo: { type: 'PageInfo!', extensions: part('pageInfo'), resolve: (page) => page },
          totalCount: {
            type: 'Int',
            extensions: part('totalCount'),
            resolve: (page) => (page as ResolvedPage).total(),
          },
        },
      },
    ],
    [
      `${model.name}Edge`,
      {
        kind: 'object',
        description: `A ${model.name} in a page.`,
        fields: {
          node: {
            type: model.name,
            extensions: part('node'),
            resolve: (edge) => (edge as ResolvedEdge).node,
          },
          cursor: {
            type: 'String!',
            extensions: part('cursor'),
            resolve: (edge) => (edge as ResolvedEdge).cursor,
          },
        },
      },
    ],
  ]
}

/** `PageInfo`, shared by all records. */
export function declarePageInfo(model: RecordModel): TypeDeclaration {
  const field = (
    part: PagePart,
    type: string,
    read: (page: ResolvedPage) => unknown,
  ): GraphqlField => ({
    type,
    extensions: generatedExtensions({ kind: 'part', part, model }),
    resolve: (page) => read(page as ResolvedPage),
  })
  return {
    kind: 'object',
    description: 'The position of a page among all rows.',
    fields: {
      hasNextPage: field('hasNextPage', 'Boolean!', ({ hasNext }) => hasNext),
      hasPreviousPage: field('hasPreviousPage', 'Boolean!', ({ hasPrevious }) => hasPrevious),
      startCursor: field('startCursor', 'String', startCursor),
      endCursor: field('endCursor', 'String', endCursor),
    },
  }
}

function generatedExtensions(generated: GeneratedField): Readonly<Record<string, unknown>> {
  return { [generatedKey]: generated }
}
