/**
 * Creates the interceptor functions of a route.
 *
 * Input: the planned interceptors and decorators of the route, the outermost first, and the instances of the container.
 * Output: three lists, one for each position, which `serve-route.ts` inserts between its own steps:
 *
 * ```
 * before the gate → gate → before the body → body, session, checks → before the handler → handler
 * ```
 *
 * Interceptors before the handler become one function around its call (`aroundHandler`), and get its result. The outer
 * ones get responses: `surround` compiles them. Called once for each route at the start.
 */
import { isThenable } from '../core/maybe-promise.js'
import type { Problems } from '../errors/problems.js'
import { HttpError } from '../errors/http-error.js'
import type { ServerRequest } from '../http/server-request.js'
import type { Class } from '../metadata/class.js'
import type { RouteInfo } from '../routing/route.js'
import type {
  OnEnter,
  EntryInterceptor,
  Intercept,
  Interceptor,
  Next,
  InterceptorPosition,
} from '../extensions/interceptor.js'
import type { DecoratorSpecification } from '../extensions/custom-decorator.js'
import { callInRequest } from './current-request.js'
import type { Invoker } from './invoker.js'
import { rememberStream } from '../http/result.js'
import type { PipelineEntry, Step } from './served-route.js'

/** An interceptor (by its class) or a custom decorator of a route, with its position. */
export type PlannedInterceptor =
  | {
      readonly position: InterceptorPosition
      readonly interceptor: Class<Interceptor | EntryInterceptor>
    }
  | {
      readonly position: InterceptorPosition
      /** `@CacheFor on RateController.rates`, for messages. */
      readonly where: string
      readonly enter: DecoratorSpecification['enter']
      readonly intercept: DecoratorSpecification['intercept']
      /** The providers that they receive after the route. */
      readonly inject: readonly (Class | string | symbol)[]
    }

/** The interceptors of a route by position, the outermost first. */
export type RouteInterceptors = Readonly<Record<InterceptorPosition, readonly PipelineEntry[]>>

/** For routes without interceptors. */
export const noInterceptors: RouteInterceptors = Object.freeze({ gate: [], body: [], handler: [] })

/** Returns the instance of a provider. Throws if there is none. */
export type FindInstance = <T>(token: Class<T> | string | symbol) => T

/**
 * @param info undefined for requests without a route: then `applies` is not called
 * @param problems receives interceptors without `intercept`, and decorators whose `intercept` does not return a
 * function
 */
export function createInterceptors(
  planned: readonly PlannedInterceptor[],
  info: RouteInfo | undefined,
  find: FindInstance,
  problems: Problems,
): RouteInterceptors {
  if (planned.length === 0) return noInterceptors
  const interceptors: Record<InterceptorPosition, PipelineEntry[]> = {
    gate: [],
    body: [],
    handler: [],
  }
  const appliesByInstance = new Map<Interceptor | EntryInterceptor, boolean>()
  for (const entry of planned) {
    const steps =
      'interceptor' in entry
        ? bindInterceptor(find(entry.interceptor), entry.interceptor, {
            info,
            appliesByInstance,
            problems,
          })
        : buildEntries(entry, { info, find, problems })
    interceptors[entry.position].push(...steps)
  }
  return interceptors
}

interface BindContext {
  readonly info: RouteInfo | undefined
  /** The results of `applies` for this route: each is called once. */
  readonly appliesByInstance: Map<Interceptor | EntryInterceptor, boolean>
  readonly problems: Problems
}

function bindInterceptor(
  instance: Interceptor | EntryInterceptor,
  type: Class,
  { info, appliesByInstance, problems }: BindContext,
): PipelineEntry[] {
  const candidate = (instance as typeof instance | undefined) ?? {}
  const enters = typeof (candidate as Partial<EntryInterceptor>).enter === 'function'
  const intercepts = typeof (candidate as Partial<Interceptor>).intercept === 'function'
  if (!enters && !intercepts) {
    problems.add({
      code: 'NOT_AN_INTERCEPTOR',
      message: `${type.name} is used as an interceptor, but has no method intercept or enter.`,
      remedy: `Add a method: intercept(request: HttpRequest, next: Next), or enter(request: HttpRequest).`,
    })
    return []
  }
  if (info !== undefined && instance.applies !== undefined) {
    const applies =
      appliesByInstance.get(instance) ?? callApplies(instance, type, { info, problems })
    appliesByInstance.set(instance, applies)
    if (!applies) return []
  }
  const entry = instance as EntryInterceptor
  const around = instance as Interceptor
  return [
    ...(enters ? [toEntry((request) => entry.enter(request))] : []),
    ...(intercepts
      ? [{ intercept: ((request, next) => around.intercept(request, next)) as Intercept }]
      : []),
  ]
}

/** `enter` may return a promise of any library. */
function toEntry(enter: OnEnter): PipelineEntry {
  return {
    step: (request) => {
      const pending: unknown = enter(request)
      return isThenable(pending) ? (Promise.resolve(pending) as Promise<void>) : undefined
    },
  }
}

/** A promise would count as true for every route. */
function callApplies(
  instance: Interceptor | EntryInterceptor,
  type: Class,
  { info, problems }: { readonly info: RouteInfo; readonly problems: Problems },
): boolean {
  const result = attemptCall(() => instance.applies?.(info))
  if (typeof result === 'boolean') return result
  const description =
    result instanceof Failure ? `throws: ${result.text}` : 'returns neither true nor false'
  problems.add({
    code: 'INTERCEPTOR_APPLIES',
    message: `${type.name}: applies ${description}, for ${info.name}.`,
    remedy: 'Write applies(route: RouteInfo) { return route.path !== … }, without a promise.',
  })
  return false
}

interface Building {
  readonly info: RouteInfo | undefined
  readonly find: FindInstance
  readonly problems: Problems
}

function buildEntries(
  { where, inject, ...entry }: Exclude<PlannedInterceptor, { interceptor: unknown }>,
  { info, find, problems }: Building,
): PipelineEntry[] {
  if (info === undefined) return []
  const injected = inject.map((token) => find(token)) as never[]
  const build = (name: 'enter' | 'intercept', form: string): unknown => {
    const steps = attemptCall(() => entry[name]?.(info, ...injected))
    if (typeof steps === 'function' || entry[name] === undefined) return steps
    problems.add({
      code: 'DECORATOR_SPECIFICATION',
      message: `${where}: ${name} ${steps instanceof Failure ? `throws: ${steps.text}` : 'does not return a function'}.`,
      remedy: `Write ${name}: ${form}.`,
    })
    return undefined
  }
  const enter = build('enter', '(route) => (request) => { … }') as OnEnter | undefined
  const intercept = build('intercept', '(route) => (request, next) => next()')
  return [
    ...(enter === undefined ? [] : [toEntry(enter)]),
    ...(intercept === undefined ? [] : [{ intercept: intercept as Intercept }]),
  ]
}

function attemptCall(call: () => unknown): unknown {
  try {
    return call()
  } catch (error) {
    return new Failure(error)
  }
}

class Failure {
  readonly text: string

  constructor(error: unknown) {
    this.text = error instanceof Error ? error.message : String(error)
  }
}

/** Puts the interceptors before a handler around its call. */
export function aroundHandler(lines: readonly PipelineEntry[], invoke: Invoker): Invoker {
  return lines.reduceRight<Invoker>(
    (inner, line) => ('step' in line ? entering(line.step, inner) : passing(line.intercept, inner)),
    invoke,
  )
}

function entering(step: Step, inner: Invoker): Invoker {
  return (request) => {
    const pending = step(request)
    return pending === undefined ? inner(request) : pending.then(() => start(inner, request))
  }
}

function passing(intercept: Intercept, inner: Invoker): Invoker {
  return (request) => {
    let running: Promise<unknown> | undefined
    let value: unknown
    const next = (): Promise<unknown> => {
      if (running !== undefined) return running
      value = start(inner, request)
      return (running = promised(value, request))
    }
    const result = intercept(request, next as Next)
    // A synchronous result that is passed on unchanged need not be awaited.
    return running !== undefined && result === running && !isThenable(value) ? value : result
  }
}

/** The result of the inner steps, as a promise. If nothing awaits it, its rejection must not end the process. */
function promised(value: unknown, request: ServerRequest): Promise<unknown> {
  if (!isThenable(value)) {
    rememberStream(request, value)
    return Promise.resolve(value)
  }
  const running = Promise.resolve(value)
  running.then((value) => {
    rememberStream(request, value)
  }, ignore)
  return running
}

function start(inner: Invoker, request: ServerRequest): unknown {
  // The client already got a 503, so new work would be useless. Live queries run again after their first response.
  if (request.refusesWork) return Promise.reject(new HttpError(503))
  try {
    return callInRequest(request, inner)
  } catch (error) {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- errors are passed on unchanged
    return Promise.reject(error)
  }
}

function ignore(): void {
  // The code that awaits the promise gets the error.
}
