/**
 * Makes a route ready to serve. Only this file chooses the steps of its requests and their order. Steps that a route
 * does not need are left out, so its requests do not pay for them.
 */
import { hasGuard, type AccessRule } from '../auth/access.js'
import { after, promiseOf } from '../core/maybe-promise.js'
import { isConcealed } from '../records/rights/secured-responses.js'
import type { Gate } from '../auth/gate.js'
import { writesClientValuesOnly } from '../errors/field-errors.js'
import { HttpError } from '../errors/http-error.js'
import { shapeOf } from '../fields/shape.js'
import { formMedia, uploadMedia, type BodyField, type BodyPlan } from '../http/bodies/body-types.js'
import { readWithin } from '../http/bodies/read-body.js'
import { Reply } from '../http/reply.js'
import type { ResultRule } from '../http/result.js'
import type { Class } from '../metadata/class.js'
import type { Times } from '../http/listener.js'
import type { LiveQueries } from '../live/live-queries.js'
import type { Database } from '../records/database.js'
import type { Route } from '../routing/route.js'
import type { SessionManager } from '../auth/sessions.js'
import type { PlannedRoute } from './planned-route.js'
import { ServedRoute, surround, type PipelineEntry, type Step } from './served-route.js'
import type { PromiseWatch } from './current-request.js'
import { inspectResults } from './result-inspection.js'
import { hasLiveQueries, withLiveQueries } from './live-routes.js'
import { aroundHandler, noInterceptors, type RouteInterceptors } from './interceptors.js'
import { compileInvoker, type Invoker, type InvokeWith } from './invoker.js'

export interface ServeContext {
  readonly gate: Gate
  /** True if a write without Authorization may send its token in the body, as `formToken`. */
  readonly formToken: boolean
  readonly sessions: SessionManager
  readonly times: Times
  /** The live queries of the application. */
  readonly live: LiveQueries
  /** Undefined in an application without records. */
  readonly database: Database | undefined
  /** True if a controller is given the database, by its constructor or by a provider that it uses. */
  readonly usesDatabase: (controller: Class) => boolean
  /** Reports floating promises; undefined in production. */
  readonly promises: PromiseWatch | undefined
}

/**
 * @param controller the instance whose method is the handler
 * @param interceptors the interceptors around it, by position
 * @returns the route with its steps
 */
export function serveRoute(
  plan: PlannedRoute,
  controller: object,
  context: ServeContext,
  interceptors: RouteInterceptors = noInterceptors,
): ServedRoute {
  const { route, access, checks, customArguments } = plan
  const secured = !access.open
  const argumentNames = new Set(route.argumentNames)
  const hasSession = usesSession(plan, argumentNames)
  const hasBody = route.method !== 'GET' && (usesBody(argumentNames) || checks.body !== undefined)
  const handler = (controller as Readonly<Record<string, unknown>>)[route.member]
  const isGenerated = isConcealed(handler)
  if (isGenerated) writesClientValuesOnly(plan.info)
  const inside = (invoke: InvokeWith): InvokeWith =>
    withWriteDeadline(
      inTransaction(invoke, route, context),
      { route, isGenerated, isGivenObjects: isGivenObjects(handler, plan) },
      context,
    )
  const compiled = compileInvoker({ route, controller, customArguments, inside })
  const where = `${route.method} ${route.pattern.text} (${route.name})`
  const rule: ResultRule = {
    status: route.options.status ?? 200,
    notFoundWhenEmpty: route.options.returns !== undefined,
    ...(route.options.etag === true && route.method === 'GET' ? { etag: true } : {}),
  }
  const invoke =
    context.promises === undefined
      ? compiled
      : inspectResults(compiled, {
          name: where,
          isDeclared: checks.returns !== undefined || checks.returnsForCaller !== undefined,
          watch: context.promises,
        })
  const outermost = filterForCaller(
    aroundHandler(interceptors.handler, invoke),
    checks.returnsForCaller,
  )
  const handlerRoute = new ServedRoute({
    pathNames: route.pattern.names,
    info: plan.info,
    headers: plan.headers,
    hasLiveQueries: hasLiveQueries(plan, handler),
    before: [],
    invoke: withLiveQueries({ plan, handler, interceptors, invoke: outermost, rule }, context.live),
    shape: checks.returns,
    after: [
      hasSession && saveSession(context.sessions),
      secured && rotateToken(context.gate),
    ].filter(isStep),
    rule,
    timeout: route.options.timeout ?? context.times.handler,
  })
  return surround(handlerRoute, [
    ...interceptors.gate,
    // A guard may read the session. Otherwise the store is only read after the gate.
    ...toEntries([
      hasGuard(access) && openSession(context.sessions),
      ...accessSteps(plan, context),
    ]),
    ...interceptors.body,
    ...toEntries([
      hasBody && readWithin(bodyPlan(plan), context.times),
      hasSession && !hasGuard(access) && openSession(context.sessions),
      checks.query,
      hasBody && checks.body,
    ]),
  ])
}

/** If records have secured fields, all callers get what they may read. */
function filterForCaller(
  invoke: Invoker,
  returnsForCaller: PlannedRoute['checks']['returnsForCaller'],
): Invoker {
  if (returnsForCaller === undefined) return invoke
  return (request) => after(invoke(request), (result) => returnsForCaller(result, request))
}

/**
 * True if the session may be used: by the handler, directly or through the request, by guards, or by the application's
 * own arguments.
 */
function usesSession(
  { route, access, customArguments }: PlannedRoute,
  argumentNames: ReadonlySet<string>,
): boolean {
  if (argumentNames.has('session') || argumentNames.has('request') || hasGuard(access)) return true
  return route.argumentNames.some((name) => customArguments.has(name))
}

/**
 * If the handler throws, rejects, responds with a status from 500 or exceeds its time, everything that it wrote is
 * rolled back.
 */
function inTransaction(
  invoke: InvokeWith,
  { options }: Route,
  { database, times }: ServeContext,
): InvokeWith {
  const { transaction, timeout = times.handler } = options
  if (transaction === undefined || transaction === false || database === undefined) return invoke
  const isolation = transaction === true ? undefined : transaction
  const transactionOptions = { timeout, ...(isolation && { isolation }) }
  return (request, customValues) => {
    const work = async (): Promise<unknown> => {
      const result = await invoke(request, customValues)
      // The client already got a 503, so late changes must not be stored. A live query runs again while it streams.
      if (request.refusesWork) throw new HttpError(503)
      if (result instanceof Reply && (result.status ?? 200) >= 500) throw new RolledBack(result)
      return result
    }
    return database.transaction(work, transactionOptions, request).catch(replyOf)
  }
}

/** Rolls back the transaction of a handler that responds with an error. */
class RolledBack extends Error {
  readonly reply: Reply

  constructor(reply: Reply) {
    super()
    this.reply = reply
  }
}

function replyOf(error: unknown): Reply {
  if (error instanceof RolledBack) return error.reply
  throw error
}

interface HandlerKind {
  readonly route: Route
  /** Whether the framework generated it, so that it gets its repositories synchronously. */
  readonly isGenerated: boolean
  /** Whether it gets objects of the application, such as a repository: `isGivenObjects`. */
  readonly isGivenObjects: boolean
}

/**
 * True if a handler may use what its controller was given, or what other code gives it: its source text names `this` or
 * `super` or cannot be read, or it has the argument `request` or a custom one. Many handlers only check and convert.
 */
function isGivenObjects(handler: unknown, { route, customArguments }: PlannedRoute): boolean {
  return (
    route.argumentNames.some((name) => name === 'request' || customArguments.has(name)) ||
    /\bthis\b|\bsuper\b|\{\s*\[native code\]/.test(Function.prototype.toString.call(handler))
  )
}

/**
 * After a 503 because of a time-out, a handler writes nothing more, whichever repository it uses. To attribute a write
 * after an `await`, the handler is followed by AsyncLocalStorage, which costs a fifth of a small route. Handlers of
 * GETs, of controllers without a database, and those that use nothing of their controller are only followed after one
 * of them has written.
 */
function withWriteDeadline(
  invoke: InvokeWith,
  { route, isGenerated, isGivenObjects }: HandlerKind,
  { database, usesDatabase }: ServeContext,
): InvokeWith {
  if (database === undefined) return invoke
  if (route.method === 'GET' && isGenerated) return invoke
  const hasDatabase = isGivenObjects && usesDatabase(route.controller)
  if (route.method === 'GET' || !(isGenerated || hasDatabase)) {
    const run = database.readHandlers.add(hasDatabase)
    return (request, customValues) => run(request, () => invoke(request, customValues))
  }
  const method = isGenerated ? 'serve' : 'runForRequest'
  return (request, customValues) => database[method](request, () => invoke(request, customValues))
}

/** The body is only read for handlers that can see it. */
function usesBody(argumentNames: ReadonlySet<string>): boolean {
  return ['body', 'files', 'rawBody', 'request'].some((name) => argumentNames.has(name))
}

/**
 * Unauthorized requests are refused before a byte of the body is read. Only if the application accepts `formToken`, the
 * body of a request without Authorization is read here.
 */
function accessSteps(plan: PlannedRoute, context: ServeContext): Step[] {
  const { access, route } = plan
  if (access.open) return plan.isPersonal ? [recognise(context.gate, access)] : []
  const admit: Step = (request) => promiseOf(context.gate.admit(request, access))
  if (!context.formToken || route.method === 'GET') return [admit]
  return [admitByHeaderOrBody(bodyPlan(plan), context, admit)]
}

function bodyPlan(planned: PlannedRoute): BodyPlan {
  const { limits, checks, classes, route, media } = planned
  const keepsBytes = route.argumentNames.includes('rawBody')
  const isRequired = checks.body !== undefined || isUpload(media)
  // A route that reads none may still find the caller's token in it.
  if (media.length === 0) return { limits, isRequired, keepsBytes }
  // A form cannot be a list. The check of the body reports it.
  const mediaTypes = classes.body?.list === true ? [...media, formMedia, uploadMedia] : media
  const fields = classes.body === undefined ? undefined : fieldsOf(classes.body.type)
  return {
    limits,
    isRequired,
    keepsBytes,
    media: mediaTypes,
    files: fileRule(planned),
    ...(fields === undefined ? {} : { fields }),
  }
}

/** Interceptors and the application's own arguments see the request, and so its files. */
function fileRule({
  route,
  interceptors,
  customArguments,
  unknownKeys,
}: PlannedRoute): BodyPlan['files'] {
  const names = route.argumentNames
  const takes =
    interceptors.length > 0 ||
    names.some((name) => name === 'files' || name === 'request' || customArguments.has(name))
  if (takes) return 'taken'
  return unknownKeys === 'drop' ? 'dropped' : 'unknown'
}

function fieldsOf(type: Class): Map<string, BodyField> {
  const { fields } = shapeOf(type)
  return new Map(fields.map(({ name, kind }) => [name, { isBytes: kind === 'blob' }]))
}

function isUpload(media: readonly string[]): boolean {
  return media.length === 1 && media[0] === uploadMedia
}

/** If the response depends on the caller, a token is read even if none is required. */
function recognise(gate: Gate, access: AccessRule): Step {
  return (request) => promiseOf(gate.recognise(request, access))
}

function admitByHeaderOrBody(plan: BodyPlan, context: ServeContext, admit: Step): Step {
  return async (request) => {
    if (!context.gate.needsBody(request)) {
      await admit(request)
      return
    }
    const body: BodyPlan = {
      ...plan,
      beforeFirstFile: async () => {
        await admit(request)
      },
    }
    await readWithin(body, context.times)(request)
    if (request.caller.auth === undefined) await admit(request)
  }
}

/** Opens the session. */
export function openSession(sessions: SessionManager): Step {
  return (request) => promiseOf(sessions.open(request))
}

/** Saves the session if the handler has changed it. */
export function saveSession(sessions: SessionManager): Step {
  return (request) =>
    request.visitor?.session === undefined ? undefined : promiseOf(sessions.save(request))
}

function rotateToken(gate: Gate): Step {
  return (request) => promiseOf(gate.rotate(request))
}

function toEntries(steps: readonly (Step | false | undefined)[]): PipelineEntry[] {
  return steps.filter(isStep).map((step) => ({ step }))
}

function isStep(candidate: Step | false | undefined): candidate is Step {
  return typeof candidate === 'function'
}
