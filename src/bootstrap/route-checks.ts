/** The checks of a route's declared classes: what its body and query must be, what it may send. */
import type { Problem } from '../errors/declaration-error.js'
import type { HttpRequest } from '../http/request.js'
import type { Route } from '../routing/route.js'
import type { Settings } from './options.js'

/** Each is `undefined` where the route declares no class. */
export interface RouteChecks {
  /** Puts the checked instance in the place of `request.body`. @throws {HttpError} 400 with every fault */
  readonly body: ((request: HttpRequest) => void | Promise<void>) | undefined
  /** The same for `request.query`, whose text is converted by kind. */
  readonly query: ((request: HttpRequest) => void | Promise<void>) | undefined
  /** Makes what is sent of what the handler returned: declared fields only. */
  readonly returns: ((result: unknown) => unknown) | undefined
}

export function compileChecks(
  _route: Route,
  _settings: Settings,
  _problems: Problem[],
): RouteChecks {
  return { body: undefined, query: undefined, returns: undefined }
}
