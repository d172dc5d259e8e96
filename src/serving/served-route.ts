/** A route made ready to serve: everything the request path needs to know about it, decided at bootstrap. */
import type { ServerRequest } from '../http/server-request.js'
import type { ResultRule } from '../http/responder.js'
import type { Invoker } from './invoker.js'

/** One thing done to a request. Answers a promise only when it has to wait; throws or rejects to refuse. */
export type Step = (request: ServerRequest) => Promise<void> | undefined

export interface ServedRoute {
  readonly pathNames: readonly string[]
  /** In order, before the handler. Those that the route does not need are not among them. */
  readonly before: readonly Step[]
  readonly invoke: Invoker
  /** Makes the declared output of what the handler returned; `undefined` where nothing is declared. */
  readonly shape: ((result: unknown) => unknown) | undefined
  /** In order, behind the handler, for errors too. */
  readonly after: readonly Step[]
  /** How values are sent. */
  readonly rule: ResultRule
  /** Milliseconds that a handler's promise may take. */
  readonly timeout: number
}
