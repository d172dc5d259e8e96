/** The decorators of routes: `@Controller('/items')` on a class, `@Get`, `@Post`, `@Put`, `@Patch`, `@Delete` on its methods. */

import { declareOptions, type OptionsOf } from '../options/declare-options.js'
import { option } from '../options/option.js'
import type { ClassReference, Class, Declared } from '../metadata/class.js'
import { createClassMetadata, createMemberMetadata } from '../metadata/class-metadata.js'
import {
  decorate,
  toDecorator,
  type AnyDecorator,
  type DecoratorTarget,
} from '../metadata/dialect.js'
import type { Isolation } from '../core/transaction.js'
import type { RouteMethod } from './route-table.js'

interface ControllerMetadata {
  /** The path before every route of the class; `''` if there is none. */
  readonly path: string
  readonly crud: ClassReference | undefined
  readonly only: readonly string[] | undefined
  readonly version: string | undefined
  /** The options as written, which are checked at the start. */
  readonly options: object
}

export const controllerOptions = declareOptions({
  /** A record. The class also gets routes to list, aggregate, find, create, update and delete it. */
  crud: option.any<ClassReference>(),
  /** The routes that `crud` adds. Default all. */
  only: option.any<readonly ('list' | 'aggregate' | 'find' | 'create' | 'update' | 'delete')[]>(),
  /** The version of the API that its routes belong to: `'2'`. Default: all of them. */
  version: option.text("Write letters, digits, dots and hyphens: '2'.", /^\w[\w.-]*$/).shown(),
})

export interface ControllerOptions extends OptionsOf<typeof controllerOptions> {}

const controllerMetadata = createClassMetadata<ControllerMetadata>('controller')

/**
 * Makes a class a controller, optionally with a path that all its routes begin with.
 *
 * @param path begins with `/` and may have parameters (`/shops/<shop:int>`). Mistakes are reported at the start
 */
export function Controller(path?: string, options?: ControllerOptions): AnyDecorator
export function Controller(target: Class): void
export function Controller(value: unknown, context: DecoratorContext): void
export function Controller(...args: unknown[]): AnyDecorator | undefined {
  const isBare = decorate(args, ({ owner }) => {
    controllerMetadata.write(owner, {
      path: '',
      crud: undefined,
      only: undefined,
      version: undefined,
      options: {},
    })
  })
  if (isBare) return undefined
  const path = typeof args[0] === 'string' ? args[0] : ''
  const options = (args[1] ?? {}) as ControllerOptions
  const { crud, only, version } = options
  return toDecorator(({ owner }) => {
    controllerMetadata.write(owner, { path, crud, only, version, options })
  })
}

/** @returns `undefined` for a class without `@Controller` */
export function readController(owner: Class): ControllerMetadata | undefined {
  return controllerMetadata.read(owner)
}

/** What happens to keys of a body or query that its class does not declare. */
export const unknownKeysOption = option.oneOf('refuse', 'drop').shown()

export const routeOptions = declareOptions({
  /** The class of the body, which is checked before the handler runs; `Object` accepts any value. Default: the emitted type of the argument `body`. */
  body: option.any<Declared>(),
  /** The class of the query. Default: the emitted type of the argument `query`. */
  query: option.any<ClassReference>(),
  /**
   * The class of the response, of which only the declared fields are sent. By status: `{ 200: Item, 404: Problem }`. A
   * missing value gets 404.
   */
  returns: option.any<Declared | Readonly<Record<number, Declared>>>(),
  /** The status of a plain value. Default 200. */
  status: option.any<number>(),
  /** The maximum size of the body, in bytes or as `'20mb'`. Also raises the limit of files. Default: the application's. */
  limit: option.any<number | string>(),
  /** Milliseconds for the handler before 503. Default: the application's. */
  timeout: option.any<number>(),
  /** JSON responses to GET have an ETag, and a client that already has it gets 304. Default false; true for `crud`. */
  etag: option.flag(),
  /** The names of the handler's arguments in order, for minified code. */
  args: option.any<readonly string[]>(),
  /**
   * Runs the handler in a transaction of the database. An error rolls everything back. After a conflict with another
   * transaction the handler runs again, within its time limit. `true` means `'serializable'`: the result is as if the
   * transactions ran one after the other. Name another isolation level instead to use it. Default false.
   */
  transaction: option.any<boolean | Isolation>(),
  /** What happens to keys of body and query that their classes do not declare. Default: the application's, `'refuse'`. */
  unknownKeys: unknownKeysOption,
  /**
   * Clients cannot reach the route, and documents omit it. Only modules call it, through `Routes`. Default false.
   */
  internal: option.flag(),
  /**
   * Runs only the rules of class-validator in these groups, for body and query. Default: all rules, like its
   * `validate()`.
   */
  groups: option.any<readonly string[]>(),
})

export interface RouteOptions extends OptionsOf<typeof routeOptions> {}

export interface RouteDeclaration {
  readonly method: RouteMethod
  /** Relative to the controller's path; `''` if the route has none. */
  readonly path: string
  readonly options: RouteOptions
  /** The method as its class declares it, because another decorator may replace it by a function. */
  readonly declared: { readonly owner: Class; readonly method: unknown }
}

/** Used without a call (`@Get`), or called with a path, options or both. A method may have several. */
export interface Verb {
  (path?: string, options?: RouteOptions): AnyDecorator
  (options: RouteOptions): AnyDecorator
  (target: object, member: string | symbol, descriptor: PropertyDescriptor): void
  (value: unknown, context: DecoratorContext): void
}

const declarations = createMemberMetadata<readonly RouteDeclaration[]>('routes')

/** Handles GET and HEAD requests. Public unless `@Secured`. */
export const Get = createVerb('GET')
/** Handles POST requests. Requires a token unless `@NoAuth`. */
export const Post = createVerb('POST')
/** Handles PUT requests. Requires a token unless `@NoAuth`. */
export const Put = createVerb('PUT')
/** Handles PATCH requests. Requires a token unless `@NoAuth`. */
export const Patch = createVerb('PATCH')
/** Handles DELETE requests. Requires a token unless `@NoAuth`. */
export const Delete = createVerb('DELETE')

/** The routes of a class by the name of their method. Methods of base classes come first. */
export function readRouteDeclarations(
  owner: Class,
): ReadonlyMap<string, readonly RouteDeclaration[]> {
  return declarations.readAll(owner)
}

/** False if a decorator has wrapped the method, or if a subclass overrides it without decorators of its own. */
export function isHandlerAsDeclared(controller: Class, member: string): boolean {
  const current = (controller.prototype as Record<string, unknown>)[member]
  const routes = readRouteDeclarations(controller).get(member) ?? []
  return routes.every(({ declared }) => declared.method === current)
}

function createVerb(method: RouteMethod): Verb {
  const write = (target: DecoratorTarget, path: string, options: RouteOptions): void => {
    const { owner, member, kind } = target
    if (member === undefined || kind !== 'method') {
      throw new TypeError(`@${titleCase(method)} on ${owner.name}: write it before a method.`)
    }
    // If a decorator wraps the method, the compiler stores the wrapper in the class after all decorators have run.
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

function titleCase(method: RouteMethod): string {
  return method.charAt(0) + method.slice(1).toLowerCase()
}
