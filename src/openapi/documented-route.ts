/** What the documentation needs to know of a route; all of it is decided elsewhere. */
import type { OperationObject } from 'openapi3-ts/oas31'
import type { AccessRule } from '../auth/access.js'
import type { DeclaredType } from '../fields/type-of.js'
import type { Route } from '../routing/route.js'

/** The answer depends on who asks: a token that comes is read, though none is needed. */
export function asksWho({ access, route, isPersonal }: DocumentedRoute): boolean {
  return access.open && (isPersonal ?? route.argumentNames.includes('user'))
}

/** Stands for every status from 200 to 299 where classes are given by status. */
export const anySuccess = 0

/** Makes another operation of an operation. */
export type DocumentOperation = (operation: OperationObject) => OperationObject

export interface DocumentedRoute {
  readonly route: Route
  readonly access: AccessRule
  /** What it answers depends on who asks. */
  readonly isPersonal?: boolean
  /** What becomes of keys of its body that no field has. */
  readonly unknownKeys: 'refuse' | 'drop'
  readonly classes: {
    readonly body?: DeclaredType | undefined
    readonly query?: DeclaredType | undefined
    /** By status; under `anySuccess` the class of every successful answer. */
    readonly returns: ReadonlyMap<number, DeclaredType>
  }
  /** What decorators of one's own make of the operation, in order. */
  readonly documents?: readonly DocumentOperation[]
}
