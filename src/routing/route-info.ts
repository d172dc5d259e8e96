/** A route as others see it: interceptors, decorators of one's own, logs. Plain data, made once at the start. */
import type { Class } from '../metadata/note.js'

/** What decorators of one's own left on a route. */
export interface RouteNotes {
  /** The arguments of the decorator: `[60]` for `@CacheFor(60)`, `[]` for a bare one, `undefined` where it is not. The method's win over the class's. */
  get<Arguments extends readonly unknown[]>(
    decorator: NotedDecorator<Arguments>,
  ): Arguments | undefined
}

/** What `createDecorator` gives; known by the object. */
export interface NotedDecorator<Arguments extends readonly unknown[]> {
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
  /** `ItemController.show`; of routes that the framework makes what they are, such as `documentation`. */
  readonly name: string
  /** `undefined` where the framework made it. */
  readonly controller: Class | undefined
  /** What the handler asks for by name, in order. */
  readonly arguments: readonly string[]
  /** A token is needed. */
  readonly secured: boolean
  /** Roles that let in; empty where any token does. */
  readonly roles: readonly string[]
  readonly notes: RouteNotes
}
