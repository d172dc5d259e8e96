import type { Class } from '../metadata/class-metadata.js'

/** The arguments of custom decorators on a route. */
export interface RouteMetadata {
  /**
   * Returns the arguments of the decorator: `[60]` for `@CacheFor(60)`, `[]` without a call, `undefined` if the route
   * does not have it. A decorator of the method takes precedence over one of the class.
   */
  get<Arguments extends readonly unknown[]>(
    decorator: MetadataDecorator<Arguments>,
  ): Arguments | undefined
}

/** A decorator that `createDecorator` returned, identified by the object. */
export interface MetadataDecorator<Arguments extends readonly unknown[]> {
  /** The name for messages: `CacheFor`. */
  readonly decoratorName: string
  /** The types of its arguments. Only for the compiler. */
  readonly argumentsOf?: Arguments
}

/** A route as interceptors, custom decorators and logs see it. Plain data, created once at the start. */
export interface RouteInfo {
  /** `GET` also handles HEAD. */
  readonly method: string
  /** The path pattern, including the prefix of the application: `/items/<id:int>`. */
  readonly path: string
  /** `ItemController.show`; for the framework's own routes their purpose, such as `documentation`. */
  readonly name: string
  /** `undefined` for routes of the framework. */
  readonly controller: Class | undefined
  /** The record, for routes that `crud` created. */
  readonly record: Class | undefined
  /** The names of the handler's arguments, in order. */
  readonly arguments: readonly string[]
  /** The names of the fields of its body; `undefined` if it declares no class, or a list. */
  readonly body: readonly string[] | undefined
  /** Whether a token is required. */
  readonly secured: boolean
  /** Roles that are allowed; empty if any token is. */
  readonly roles: readonly string[]
  readonly metadata: RouteMetadata
}
