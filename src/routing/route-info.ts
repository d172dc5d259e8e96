/** A route as interceptors, custom decorators and logs see it. Plain data, made once at the start. */
import type { Class } from '../metadata/class-metadata.js'

/** The arguments of custom decorators on a route. */
export interface RouteMetadata {
  /** The arguments of the decorator: `[60]` for `@CacheFor(60)`, `[]` for a bare one, `undefined` where it is not. The method's win over the class's. */
  get<Arguments extends readonly unknown[]>(
    decorator: MetadataDecorator<Arguments>,
  ): Arguments | undefined
}

/** What `createDecorator` returned; identified by the object. */
export interface MetadataDecorator<Arguments extends readonly unknown[]> {
  /** As it was named: `CacheFor`. */
  readonly decoratorName: string
  /** For the compiler alone: the arguments it takes. */
  readonly argumentsOf?: Arguments
}

export interface RouteInfo {
  /** `GET` answers HEAD, too. */
  readonly method: string
  /** As matched, behind the prefix of the application: `/items/<id:int>`. */
  readonly path: string
  /** `ItemController.show`; for the framework's own routes their purpose, such as `documentation`. */
  readonly name: string
  /** `undefined` where the framework made it. */
  readonly controller: Class | undefined
  /** The record, of a route that `crud` made. */
  readonly record: Class | undefined
  /** What the handler asks for by name, in order. */
  readonly arguments: readonly string[]
  /** The names of its body's fields; `undefined` where it declares no class, or a list of one. */
  readonly body: readonly string[] | undefined
  /** A token is needed. */
  readonly secured: boolean
  /** Roles that are allowed; empty if any token is. */
  readonly roles: readonly string[]
  readonly metadata: RouteMetadata
}
