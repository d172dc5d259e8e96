/**
 * Custom decorators on root fields of GraphQL: planned at the start, and run around the operations that select the
 * fields.
 */
import { promise } from '../core/maybe-promise.js'
import type { Gate } from '../auth/gate.js'
import { DeclarationError, type Problem } from '../errors/declaration-error.js'
import { HttpError } from '../errors/http-error.js'
import { malformedReply } from '../graphql/endpoint.js'
import type { GraphQL } from '../graphql/graphql.js'
import { queryParts } from '../graphql/graphql-endpoints.js'
import { requestedOperation } from '../graphql/request-parts.js'
import { readNamedOperation, interceptedRoots } from '../graphql/root-interceptors.js'
import { ServerRequest } from '../http/server-request.js'
import type { RouteInfo } from '../routing/route.js'
import type { Intercept, Next } from '../extensions/interceptor.js'
import type { PipelineEntry } from '../serving/served-route.js'
import {
  createInterceptors,
  type FindInstance,
  type PlannedInterceptor,
} from '../serving/interceptors.js'
import { planDecorator } from './plan-interceptors.js'

interface PlannedRoot {
  readonly info: RouteInfo
  readonly interceptors: readonly PlannedInterceptor[]
}

/** By field, e.g. `Query.items`, for each instance with such decorators. */
export type GraphqlInterceptors = ReadonlyMap<GraphQL, ReadonlyMap<string, PlannedRoot>>

/** @param problems receives problems that decorators report; an invalid schema is reported elsewhere */
export function planGraphqlInterceptors(
  instances: readonly GraphQL[],
  problems: Problem[],
): GraphqlInterceptors {
  const all = new Map<GraphQL, ReadonlyMap<string, PlannedRoot>>()
  for (const instance of instances) {
    const roots = new Map<string, PlannedRoot>()
    for (const [name, { info, interceptors }] of readRoots(instance)) {
      roots.set(name, {
        info,
        interceptors: interceptors.flatMap(
          (one) => planDecorator(one, info, problems).planned ?? [],
        ),
      })
    }
    if (roots.size > 0) all.set(instance, roots)
  }
  return all
}

function readRoots(instance: GraphQL): ReturnType<typeof interceptedRoots> {
  try {
    return interceptedRoots(instance)
  } catch (error) {
    if (error instanceof DeclarationError) return new Map()
    throw error
  }
}

/** All decorators and interceptors, for the container. */
export function listGraphqlInterceptors(all: GraphqlInterceptors): PlannedInterceptor[] {
  return [...all.values()].flatMap((roots) =>
    [...roots.values()].flatMap(({ interceptors }) => interceptors),
  )
}

/**
 * Makes the interceptor around the operations of an instance.
 *
 * @returns undefined if there are no decorators
 */
export function aroundOperations(
  instance: GraphQL,
  all: GraphqlInterceptors,
  find: FindInstance,
  gate: Gate,
): Intercept | undefined {
  const planned = all.get(instance)
  if (planned === undefined) return undefined
  const problems: Problem[] = []
  const interceptorsByField = new Map<string, readonly Intercept[]>()
  for (const [name, { info, interceptors }] of planned) {
    const { gate: outer, body, handler } = createInterceptors(interceptors, info, find, problems)
    interceptorsByField.set(name, [...outer, ...body, ...handler].map(toIntercept))
  }
  if (problems.length > 0) throw new DeclarationError(problems)
  return async (request, next) => {
    if (!(request instanceof ServerRequest)) return next()
    const { method, body } = request
    const operation = readNamedOperation(instance, method === 'POST' ? body : queryParts(request))
    const interceptors =
      operation?.roots.flatMap((name) => interceptorsByField.get(name) ?? []) ?? []
    if (operation === undefined || interceptors.length === 0) return next()
    const roots = operation.roots.map((name) => planned.get(name)?.info)
    requestedOperation.set(request, { ...operation, roots })
    try {
      // The caller must be identified; an invalid token is reported later by the endpoint.
      await gate.recognise(request)
    } catch {
      return next()
    }
    const run = interceptors.reduceRight<() => Promise<unknown>>(
      (inner, interceptor) => () => promise(() => interceptor(request, inner as Next)),
      () => next(),
    )
    return run().catch(refused)
  }
}

function toIntercept(line: PipelineEntry): Intercept {
  if ('intercept' in line) return line.intercept
  return async (request, next) => {
    if (request instanceof ServerRequest) await line.step(request)
    return await next()
  }
}

/** The error in the form that GraphQL clients expect. */
function refused(error: unknown): unknown {
  if (error instanceof HttpError) return malformedReply(error)
  throw error
}
