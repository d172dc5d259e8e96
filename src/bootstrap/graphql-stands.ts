/**
 * Custom decorators on root fields of GraphQL: planned at the start, run around the operations that contain the fields.
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
import type { RouteInfo } from '../routing/route-info.js'
import type { Intercept, Next } from '../extensions/interceptor.js'
import type { Line } from '../serving/served-route.js'
import {
  createInterceptors,
  type FindInstance,
  type PlannedInterceptor,
} from '../serving/interceptors.js'
import { planOwn } from './plan-seam.js'

interface PlannedRoot {
  readonly info: RouteInfo
  readonly interceptors: readonly PlannedInterceptor[]
}

/** By field, e.g. `Query.items`, for each instance with such decorators. */
export type GraphqlStands = ReadonlyMap<GraphQL, ReadonlyMap<string, PlannedRoot>>

/** @param problems receives faults that decorators report; a faulty schema is reported elsewhere */
export function planGraphqlStands(
  instances: readonly GraphQL[],
  problems: Problem[],
): GraphqlStands {
  const all = new Map<GraphQL, ReadonlyMap<string, PlannedRoot>>()
  for (const instance of instances) {
    const roots = new Map<string, PlannedRoot>()
    for (const [name, { info, interceptors }] of readRoots(instance)) {
      roots.set(name, {
        info,
        interceptors: interceptors.flatMap((one) => planOwn(one, info, problems).planned ?? []),
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
export function graphqlStands(all: GraphqlStands): PlannedInterceptor[] {
  return [...all.values()].flatMap((roots) =>
    [...roots.values()].flatMap(({ interceptors: stands }) => stands),
  )
}

/**
 * Makes the interceptor around the operations of an instance.
 *
 * @returns undefined if there are no decorators
 */
export function aroundOperations(
  instance: GraphQL,
  all: GraphqlStands,
  find: FindInstance,
  gate: Gate,
): Intercept | undefined {
  const planned = all.get(instance)
  if (planned === undefined) return undefined
  const problems: Problem[] = []
  const made = new Map<string, readonly Intercept[]>()
  for (const [name, { info, interceptors: stands }] of planned) {
    const { gate: outer, body, handler } = createInterceptors(stands, info, find, problems)
    made.set(name, [...outer, ...body, ...handler].map(toIntercept))
  }
  if (problems.length > 0) throw new DeclarationError(problems)
  return async (request, next) => {
    if (!(request instanceof ServerRequest)) return next()
    const { method, body } = request
    const asked = readNamedOperation(instance, method === 'POST' ? body : queryParts(request))
    const interceptors = asked?.roots.flatMap((name) => made.get(name) ?? []) ?? []
    if (asked === undefined || interceptors.length === 0) return next()
    const roots = asked.roots.map((name) => planned.get(name)?.info)
    requestedOperation.set(request, { ...asked, roots })
    try {
      // The caller must be known; an invalid token is answered further inside.
      await gate.recognise(request)
    } catch {
      return next()
    }
    const walk = interceptors.reduceRight<() => Promise<unknown>>(
      (inner, stand) => () => promise(() => stand(request, inner as Next)),
      () => next(),
    )
    return walk().catch(refused)
  }
}

function toIntercept(line: Line): Intercept {
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
