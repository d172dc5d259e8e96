/** The properties of a route that its documentation needs. */
import type { OperationObject } from 'openapi3-ts/oas31'
import type { AccessRule } from '../auth/access.js'
import type { DeclaredType } from '../fields/type-of.js'
import type { Route } from '../routing/route.js'
import type { RouteInfo } from '../routing/route-info.js'
import { Operational } from '../extensions/custom-decorator.js'

/** True if the answer depends on the caller: a token is read, although none is required. */
export function asksWho({ access, route, isPersonal }: DocumentedRoute): boolean {
  return access.open && (isPersonal ?? route.argumentNames.includes('user'))
}

/** True for routes that machines beside the users ask, such as probes: documents list them last. */
export function isOperational({ info }: DocumentedRoute): boolean {
  return info?.metadata.get(Operational) !== undefined
}

/** Stands for every status from 200 to 299 in maps by status. */
export const anySuccess = 0

/** Changes an operation of the document. */
export type DocumentOperation = (operation: OperationObject) => OperationObject

export interface DocumentedRoute {
  readonly route: Route
  readonly access: AccessRule
  /** What interceptors see of it. */
  readonly info?: RouteInfo
  /** A package brought it: documents list it behind the application's own. */
  readonly ofPackage?: boolean
  /** The answer depends on the caller. */
  readonly isPersonal?: boolean
  /** What happens to keys of the body without a field. */
  readonly unknownKeys: 'refuse' | 'drop'
  readonly classes: {
    readonly body?: DeclaredType | undefined
    readonly query?: DeclaredType | undefined
    /** Classes by status; under `anySuccess` the class of every successful answer. */
    readonly returns: ReadonlyMap<number, DeclaredType>
  }
  /** Changes of the operation by custom decorators, in order. */
  readonly documents?: readonly DocumentOperation[]
}
