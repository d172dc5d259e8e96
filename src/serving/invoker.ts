/**
 * Compiles the call of a handler, `controller.show(request.pathValues[0], request.body)`, so that requests need no
 * lookups.
 */
import { isThenable, type MaybePromise } from '../core/maybe-promise.js'
import { handlerEvents } from '../http/request-observers.js'
import type { ServerRequest } from '../http/server-request.js'
import type { requestArguments, Route } from '../routing/route.js'
import type { ArgumentResolvers, ArgumentResolver } from '../extensions/argument-resolvers.js'
import { callInRequest } from './current-request.js'

/** Calls the handler with its arguments from the request. Returns the handler's result, which may be a promise. */
export type Invoker = (request: ServerRequest) => unknown

/** The same, with the values of custom arguments. */
export type InvokeWith = (request: ServerRequest, customValues: readonly unknown[]) => unknown

/** The expression for each argument. */
const argumentCode: Readonly<Record<(typeof requestArguments)[number], string>> = {
  body: 'request.body',
  query: 'request.query',
  headers: 'request.headers',
  cookies: 'request.cookies',
  files: 'request.files',
  rawBody: 'request.rawBody',
  session: 'request.session',
  user: 'request.user',
  request: 'request',
}

/** The parts that a call is compiled from. */
export interface HandlerCall {
  /** Its argument names are path parameters, names of `argumentCode`, or custom arguments. */
  readonly route: Route
  /** The instance whose method is called. */
  readonly controller: object
  readonly customArguments: ArgumentResolvers
  /** Wraps the call itself, e.g. in a transaction. */
  readonly inside: (invoke: InvokeWith) => InvokeWith
}

export function compileInvoker({
  route,
  controller,
  customArguments,
  inside,
}: HandlerCall): Invoker {
  const resolvers: ArgumentResolver[] = []
  const values = route.argumentNames.map((name) => {
    const index = route.pattern.names.indexOf(name)
    if (index !== -1) return `request.pathValues[${index}]`
    const resolver = customArguments.get(name)
    if (resolver === undefined) return argumentCode[name as keyof typeof argumentCode]
    return `customValues[${resolvers.push(resolver) - 1}]`
  })
  // Names come from the route's source text; the member's name is quoted, so that it cannot become code.
  const call = `controller[${JSON.stringify(route.member)}](${values.join(', ')})`
  const parameters = resolvers.length === 0 ? 'request' : 'request, customValues'
  // eslint-disable-next-line @typescript-eslint/no-implied-eval -- compiled once at bootstrap, from checked names
  const build = new Function('controller', `return (${parameters}) => ${call}`) as (
    controller: object,
  ) => InvokeWith
  const invoke = published(inside(build(controller)), route.name)
  // A handler without parameters is called without arguments.
  return resolvers.length === 0 ? (invoke as Invoker) : withCustomArguments(resolvers, invoke)
}

/** Publishes each call if the channel has subscribers. */
function published(invoke: InvokeWith, name: string): InvokeWith {
  return (request, customValues) =>
    handlerEvents.hasSubscribers
      ? handlerEvents.around({ request, name, ms: 0, error: undefined }, () =>
          invoke(request, customValues),
        )
      : invoke(request, customValues)
}

function withCustomArguments(resolvers: readonly ArgumentResolver[], invoke: InvokeWith): Invoker {
  return (request) => {
    const values = resolveFrom(0, resolvers, request, [])
    return isThenable(values)
      ? values.then((resolved) => callInRequest(request, (same) => invoke(same, resolved)))
      : invoke(request, values)
  }
}

/** Resolves the arguments one after the other, so that no other resolver is running if one throws. */
function resolveFrom(
  index: number,
  resolvers: readonly ArgumentResolver[],
  request: ServerRequest,
  argumentValues: unknown[],
): MaybePromise<unknown[]> {
  for (let at = index; at < resolvers.length; at++) {
    const value = resolvers[at]?.(request)
    if (isThenable(value)) {
      return Promise.resolve(value).then((resolved) => {
        argumentValues.push(resolved)
        return resolveFrom(at + 1, resolvers, request, argumentValues)
      })
    }
    argumentValues.push(value)
  }
  return argumentValues
}
