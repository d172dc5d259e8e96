/**
 * Makes functions of the interceptors of a route, for the steps of its requests.
 *
 * In: the stands of a route as the start planned them, from outside to inside, and the instances of the container. Out:
 * three lists of functions, one for each place, which `serve-route.ts` puts between its own lines:
 *
 *   those before the gate → gate → those before the body → body, session, checks → those before the handler → handler
 *
 * Those before the handler become one function around its call (`aroundHandler`), so that such a route is served like
 * all others. Those further outside see answers; `surrounded-walk.ts` serves their routes. The start calls `makeStands`
 * once for each route; nothing is decided again per request.
 */
import { isThenable } from '../core/later.js'
import type { Problem } from '../errors/declaration-error.js'
import { HttpError } from '../errors/http-error.js'
import type { ServerRequest } from '../http/server-request.js'
import type { Class } from '../metadata/note.js'
import type { RouteInfo } from '../routing/route-info.js'
import type { Intercept, Interceptor, Next, Place } from '../seam/interceptor.js'
import type { DecoratorSpecification } from '../seam/own-decorator.js'
import { callInRequest } from './current-request.js'
import type { Invoker } from './invoker.js'
import { keepFlow } from './replaced-streams.js'

/** An interceptor (by its class) or a custom decorator, at its place around a route. */
export type PlannedStand =
  | { readonly place: Place; readonly interceptor: Class<Interceptor> }
  | {
      readonly place: Place
      /** `@CacheFor on RateController.rates`, for messages. */
      readonly where: string
      readonly build: NonNullable<DecoratorSpecification['intercept']>
      /** What it gets behind the route. */
      readonly inject: readonly (Class | string | symbol)[]
    }

/** The functions around a route by their place, from outside to inside. */
export type Stands = Readonly<Record<Place, readonly Intercept[]>>

/** Nobody stands anywhere. */
export const noStands: Stands = Object.freeze({ gate: [], body: [], handler: [] })

/** Gives the one instance of a provider. Throws where there is none. */
export type FindInstance = <T>(token: Class<T> | string | symbol) => T

/**
 * @param info undefined for what has no route: then `applies` is not asked
 * @param problems takes interceptors without `intercept`, and decorators whose `intercept` gives no function
 */
export function makeStands(
  planned: readonly PlannedStand[],
  info: RouteInfo | undefined,
  find: FindInstance,
  problems: Problem[],
): Stands {
  if (planned.length === 0) return noStands
  const stands: Record<Place, Intercept[]> = { gate: [], body: [], handler: [] }
  const asked = new Map<Interceptor, boolean>()
  for (const stand of planned) {
    const made =
      'build' in stand
        ? buildIntercept(stand, { info, find, problems })
        : bindInterceptor(find(stand.interceptor), stand.interceptor, { info, asked, problems })
    if (made !== undefined) stands[stand.place].push(made)
  }
  return stands
}

interface Asking {
  readonly info: RouteInfo | undefined
  /** What `applies` said of this route: it is asked once. */
  readonly asked: Map<Interceptor, boolean>
  readonly problems: Problem[]
}

function bindInterceptor(
  instance: Interceptor,
  type: Class,
  { info, asked, problems }: Asking,
): Intercept | undefined {
  const given = instance as Partial<Interceptor> | undefined
  if (typeof given?.intercept !== 'function') {
    problems.push({
      code: 'NOT_AN_INTERCEPTOR',
      message: `${type.name} stands around routes and has no method intercept.`,
      remedy: `Give it one: intercept(request: HttpRequest, next: Next).`,
    })
    return undefined
  }
  if (info !== undefined && instance.applies !== undefined) {
    const applies = asked.get(instance) ?? instance.applies(info)
    asked.set(instance, applies)
    if (!applies) return undefined
  }
  return (request, next) => instance.intercept(request, next)
}

interface Building {
  readonly info: RouteInfo | undefined
  readonly find: FindInstance
  readonly problems: Problem[]
}

function buildIntercept(
  { where, build, inject }: Extract<PlannedStand, { build: unknown }>,
  { info, find, problems }: Building,
): Intercept | undefined {
  if (info === undefined) return undefined
  const made = attemptCall(() => build(info, ...(inject.map((token) => find(token)) as never[])))
  if (typeof made === 'function') return made as Intercept
  problems.push({
    code: 'DECORATOR_SPECIFICATION',
    message: `${where}: intercept ${made instanceof Failure ? `throws: ${made.text}` : 'gives no function'}.`,
    remedy: 'Write intercept: (route) => (request, next) => next().',
  })
  return undefined
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

/** Puts interceptors around the call of a handler. */
export function aroundHandler(intercepts: readonly Intercept[], invoke: Invoker): Invoker {
  return intercepts.reduceRight<Invoker>(
    (inner, intercept) => (request) => {
      let running: Promise<unknown> | undefined
      const next = (): Promise<unknown> => (running ??= goOn(inner, request))
      return intercept(request, next as Next)
    },
    invoke,
  )
}

/** The steps further inside, as a promise. If nobody awaits it, its rejection must not end the process. */
function goOn(inner: Invoker, request: ServerRequest): Promise<unknown> {
  const running = start(inner, request)
  if (!isThenable(running)) {
    keepFlow(request, running)
    return Promise.resolve(running)
  }
  const promised = Promise.resolve(running)
  promised.then((value) => {
    keepFlow(request, value)
  }, ignore)
  return promised
}

function start(inner: Invoker, request: ServerRequest): unknown {
  // The client got a 503 meanwhile: new work would be useless.
  if (request.answered || request.late) return Promise.reject(new HttpError(503))
  try {
    return callInRequest(request, inner)
  } catch (error) {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- what was thrown goes on as it is
    return Promise.reject(error)
  }
}

function ignore(): void {
  // Whoever waits for it is told.
}
