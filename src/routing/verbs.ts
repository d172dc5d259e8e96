/** `@Get`, `@Post`, `@Put`, `@Patch`, `@Delete`: the notes that make a method a route. */
import {
  decorate,
  toDecorator,
  type AnyDecorator,
  type DecoratorTarget,
} from '../metadata/dialect.js'
import {
  type ClassReference,
  type Declared,
  createMemberMetadata,
  type Class,
} from '../metadata/class-metadata.js'
import type { Isolation } from '../core/transaction.js'
import type { Method } from './route-table.js'

export interface RouteOptions {
  /** The class of the body, checked before the handler runs; `Object` takes any value. Default: the type of the argument `body` where it is emitted. */
  body?: Declared
  /** The class of the query. Default: the type of the argument `query` where it is emitted. */
  query?: ClassReference
  /**
   * The class of the answer: only its declared fields are sent. By status: `{ 200: Item, 404: Problem }`. A missing
   * value is 404.
   */
  returns?: Declared | Readonly<Record<number, Declared>>
  /** The status of a plain value. Default 200. */
  status?: number
  /** Largest body, in bytes or as `'20mb'`; lifts the file limit too. Default: the application's. */
  limit?: number | string
  /** Milliseconds for the handler before 503. Default: the application's. */
  timeout?: number
  /** JSON answers to GET have an ETag, and a client that has it already gets 304. Default false; true for `crud`. */
  etag?: boolean
  /** The names of the handler's arguments in order, where minified code no longer tells them. */
  args?: readonly string[]
  /**
   * The handler runs in a transaction of the database: an error rolls everything back, and after a conflict with
   * another transaction it runs again, within its time. `true` is `'serializable'`: the result is as if the transactions
   * ran one after the other. Another isolation level is named instead. Default false.
   */
  transaction?: boolean | Isolation
  /** What happens to keys of body and query that their classes do not declare. Default: the application's, `'refuse'`. */
  unknownKeys?: 'refuse' | 'drop'
  /**
   * No client reaches it and no document shows it: only modules call it, through `Routes`. Default false.
   */
  internal?: boolean
  /**
   * Only class-validator's rules of these groups run, for body and query. Default: every rule, as its `validate()`
   * does.
   */
  groups?: readonly string[]
}

export interface RouteDeclaration {
  readonly method: Method
  /** Behind the controller's path; `''` where the route has none of its own. */
  readonly path: string
  readonly options: RouteOptions
  /** The method as its class declares it, and where: another decorator may put a function in its place. */
  readonly declared: { readonly owner: Class; readonly method: unknown }
}

/** Written bare (`@Get`), or called with a path, options or both. A method may carry several. */
export interface Verb {
  (path?: string, options?: RouteOptions): AnyDecorator
  (options: RouteOptions): AnyDecorator
  (target: object, member: string | symbol, descriptor: PropertyDescriptor): void
  (value: unknown, context: DecoratorContext): void
}

const declarations = createMemberMetadata<readonly RouteDeclaration[]>('routes')

/** Answers GET and HEAD requests. Public unless `@Secured`. */
export const Get = createVerb('GET')
/** Answers POST requests. Needs a token unless `@NoAuth`. */
export const Post = createVerb('POST')
/** Answers PUT requests. Needs a token unless `@NoAuth`. */
export const Put = createVerb('PUT')
/** Answers PATCH requests. Needs a token unless `@NoAuth`. */
export const Patch = createVerb('PATCH')
/** Answers DELETE requests. Needs a token unless `@NoAuth`. */
export const Delete = createVerb('DELETE')

/** The routes of a class by the name of their method, the base's first. */
export function readRouteDeclarations(
  owner: Class,
): ReadonlyMap<string, readonly RouteDeclaration[]> {
  return declarations.readAll(owner)
}

function createVerb(method: Method): Verb {
  const write = (target: DecoratorTarget, path: string, options: RouteOptions): void => {
    const { owner, member, kind: kind } = target
    if (member === undefined || kind !== 'method') {
      throw new TypeError(`@${titleCase(method)} on ${owner.name}: it belongs before a method.`)
    }
    // The compiler puts what wraps the method into the class when all decorators of the method have run.
    const declared = { owner, method: (owner.prototype as Record<string, unknown>)[member] }
    const declaration = Object.freeze({ method, path, options, declared })
    declarations.update(owner, member, (before = []) => [declaration, ...before])
  }
  return ((...args: unknown[]): AnyDecorator | undefined => {
    const isBare = decorate(args, (target) => {
      write(target, '', {})
    })
    if (isBare) return undefined
    const path = typeof args[0] === 'string' ? args[0] : ''
    const options = (typeof args[0] === 'string' ? args[1] : args[0]) as RouteOptions | undefined
    return toDecorator((target) => {
      write(target, path, { ...options })
    })
  }) as Verb
}

function titleCase(method: Method): string {
  return method.charAt(0) + method.slice(1).toLowerCase()
}
