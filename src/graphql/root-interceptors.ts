/**
 * Custom decorators on root fields: `addQuery('x', { use: [Throttle('3/m')] })`. Decorators of a record class apply to
 * the fields generated from it. A decorator runs around the complete operation, once for each root field and alias.
 */
import { openAccess } from '../auth/access.js'
import { HttpError } from '../errors/http-error.js'
import type { RouteInfo } from '../routing/route.js'
import { readInterceptors, type DecoratorEntry } from '../extensions/interceptor.js'
import { type RequestedOperation, readOperationRequest } from './operation-request.js'
import { accessOf } from './build-schema.js'
import type { GraphQL } from './graphql.js'
import { RefusedDocument } from './operations.js'
import { plainArguments } from './measure.js'
import { modelOf } from './records/declare-node.js'
import { generatedOf, type RecordModel } from './records/model.js'
import { interceptorsExtension } from './declarations.js'

/** A root field with decorators. */
export interface InterceptedRoot {
  /** The description of the field for decorators. */
  readonly info: RouteInfo
  /** The outermost first. */
  readonly interceptors: readonly DecoratorEntry[]
}

const kinds = ['Query', 'Mutation', 'Subscription'] as const

/** Builds the schema and finds all root fields with decorators. @returns the fields by name: `Query.items` */
export function interceptedRoots(graphql: GraphQL): ReadonlyMap<string, InterceptedRoot> {
  const roots = new Map<string, InterceptedRoot>()
  const { schema } = graphql.schema.build()
  for (const kind of kinds) {
    const type = {
      Query: schema.getQueryType(),
      Mutation: schema.getMutationType(),
      Subscription: schema.getSubscriptionType(),
    }[kind]
    for (const field of Object.values(type?.getFields() ?? {})) {
      const interceptors = interceptorsOf(field)
      if (interceptors.length === 0) continue
      const name = `${kind}.${field.name}`
      const access = accessOf(field.extensions) ?? openAccess
      roots.set(name, { info: toInfo(kind, name, access, interceptors), interceptors })
    }
  }
  return roots
}

function interceptorsOf(field: {
  readonly extensions: Readonly<Record<string, unknown>>
}): readonly DecoratorEntry[] {
  const handWritten = field.extensions[interceptorsExtension] as
    readonly DecoratorEntry[] | undefined
  const generated = generatedOf(field)
  if (generated === undefined || !('model' in generated)) return handWritten ?? []
  const { onClass } = readInterceptors(generated.model.table.type, '')
  return onClass.flatMap((interceptor) => ('decorator' in interceptor ? [interceptor] : []))
}

function toInfo(
  kind: (typeof kinds)[number],
  name: string,
  access: { readonly open: boolean; readonly roles: readonly string[] },
  interceptors: readonly DecoratorEntry[],
): RouteInfo {
  return Object.freeze({
    method: kind === 'Mutation' ? 'POST' : 'GET',
    path: name,
    name,
    controller: undefined,
    record: undefined,
    arguments: Object.freeze([]),
    body: undefined,
    secured: !access.open,
    roles: access.roles,
    metadata: Object.freeze({
      get: (decorator: object) =>
        interceptors.find((interceptor) => interceptor.decorator === decorator)?.args as never,
    }),
  })
}

const noField = Object.freeze({})

/** `node` and `nodes` count as one query for each type of record in their ids. */
function nodeQueries(
  models: ReadonlyMap<string, RecordModel>,
  { id, ids }: Readonly<Record<string, unknown>>,
): string[] {
  const names = new Set<string>()
  for (const one of Array.isArray(ids) ? (ids as unknown[]) : [ids ?? id]) {
    const model = modelOf(models, one)
    if (model !== undefined) names.add(`Query.${model.singular}`)
  }
  return [...names]
}

/** An operation with the names of its root fields (`Query.items`), one for each alias. */
export interface NamedOperation extends Omit<RequestedOperation, 'roots'> {
  readonly roots: readonly string[]
}

/** @returns undefined for an invalid request */
export function readNamedOperation(graphql: GraphQL, body: unknown): NamedOperation | undefined {
  try {
    const { query, operationName, variables } = readOperationRequest(body, graphql.documents())
    const operation = graphql.executor().find(query, operationName)
    if (operation instanceof RefusedDocument) return undefined
    const kind = operation.node.operation as RequestedOperation['kind']
    const type = kinds.find((one) => one.toLowerCase() === kind)
    const roots = [...operation.everyRoot().values()].flatMap(([node]) => {
      const generated = generatedOf(operation.definition(node) ?? noField)
      return generated !== undefined && 'models' in generated
        ? nodeQueries(generated.models, plainArguments(node, operation.readVariables(variables)))
        : `${type}.${node.name.value}`
    })
    return { kind, text: query, name: operationName, variables, roots }
  } catch (error) {
    // The endpoint reports the error.
    if (error instanceof HttpError) return undefined
    throw error
  }
}
