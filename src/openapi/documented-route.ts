/** The properties of a route that its documentation needs. */
import type { OperationObject } from 'openapi3-ts/oas31'
import type { AccessRule } from '../auth/access.js'
import type { DeclaredType } from '../fields/type-of.js'
import type { Route, RouteInfo } from '../routing/route.js'
import { Operational } from '../extensions/custom-decorator.js'

/** True if the response depends on the caller: a token is read, although none is required. */
export function dependsOnCaller({ access, route, isPersonal }: DocumentedRoute): boolean {
  return access.open && (isPersonal ?? route.argumentNames.includes('user'))
}

/** True for routes that machines call, such as health probes: documents list them last. */
export function isOperational({ info }: DocumentedRoute): boolean {
  return info?.metadata.get(Operational) !== undefined
}

/** Represents every status from 200 to 299 in maps by status. */
export const anySuccess = 0

/** Changes an operation of the document. */
export type DocumentOperation = (operation: OperationObject) => OperationObject

export interface DocumentedRoute {
  readonly route: Route
  readonly access: AccessRule
  /** The route as interceptors see it. */
  readonly info?: RouteInfo
  /** True if a package added it: documents list it after the application's own routes. */
  readonly ofPackage?: boolean
  /** True if the response depends on the caller. */
  readonly isPersonal?: boolean
  /** Whether keys of the body without a field are refused or dropped. */
  readonly unknownKeys: 'refuse' | 'drop'
  readonly classes: {
    readonly body?: DeclaredType | undefined
    readonly query?: DeclaredType | undefined
    /** Classes by status; under `anySuccess` the class of every successful response. */
    readonly returns: ReadonlyMap<number, DeclaredType>
  }
  /** Changes of the operation by custom decorators, in order. */
  readonly documents?: readonly DocumentOperation[]
}
