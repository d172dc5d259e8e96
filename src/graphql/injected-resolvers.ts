/**
 * Resolvers that need providers of the application: a class with `static inject` and a method `resolve`, or a function
 * beside `inject: [Store]`. Each becomes a provider of its own, which the application's container makes at the start;
 * the schema sees a plain function. Source: public API, GraphQL.
 */
import type { GraphQLResolveInfo } from 'graphql'
import { isClass } from '../metadata/dialect.js'
import type { Class } from '../metadata/class-metadata.js'
import type { Arguments } from './declarations.js'

/** The function of a field as the schema calls it. */
export type Resolve = (
  root: unknown,
  args: Arguments,
  context: unknown,
  info: GraphQLResolveInfo,
) => unknown

/** A resolver with what it is made of. One instance serves all operations. */
export type ResolverClass = new (...dependencies: never[]) => { resolve: ResolveWith }

/**
 * A function as applications write it. With `inject` the providers stand behind the context, in the order of the list,
 * then what graphql-js knows of the field; without it that alone. A method, so that its arguments may be typed closer.
 */
export type ResolveWith = {
  // Each resolver names the types of its own providers.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  resolve(root: unknown, args: Arguments, context: unknown, ...more: any[]): unknown
}['resolve']

/** Gets the instance of a resolver from the application's container. */
export interface ResolverProvider {
  readonly provide: symbol
  readonly inject: readonly (Class | string | symbol)[]
  readonly make: (...dependencies: readonly unknown[]) => Resolve
}

/** Finds what the container has made. */
export type GetProvider = (token: symbol) => unknown

export class InjectedResolvers {
  readonly providers: ResolverProvider[] = []
  #get: GetProvider | undefined

  /** The application's container, once there is one. */
  bind(get: GetProvider | undefined): void {
    this.#get = get
  }

  /**
   * @param where `Query.quote`, for faults
   * @param inject beside a function: what it is called with behind the context
   * @returns the function to resolve by
   */
  register(
    where: string,
    resolve: ResolveWith | ResolverClass,
    inject: readonly (Class | string | symbol)[] | undefined,
  ): Resolve {
    if (isClass(resolve)) {
      const { inject: dependencyTokens = [] } = resolve as { inject?: ResolverProvider['inject'] }
      const Resolver = resolve as unknown as new (...dependencies: readonly unknown[]) => {
        resolve: Resolve
      }
      return this.#provided(where, dependencyTokens, (...dependencies) => {
        const resolver = new Resolver(...dependencies)
        return (root, args, context, info) => resolver.resolve(root, args, context, info)
      })
    }
    const call = resolve
    if (inject === undefined) return call
    return this.#provided(where, inject, (...dependencies) => {
      return (root, args, context, info) => call(root, args, context, ...dependencies, info)
    })
  }

  #provided(
    where: string,
    inject: ResolverProvider['inject'],
    make: ResolverProvider['make'],
  ): Resolve {
    const provide = Symbol(`the resolver of ${where}`)
    this.providers.push({ provide, inject, make })
    // Without an application a resolver that asks for nothing can still be made.
    let resolver: Resolve | undefined = inject.length === 0 ? make() : undefined
    return (root, args, context, info) => {
      resolver ??= this.#get?.(provide) as Resolve | undefined
      if (resolver === undefined) {
        throw new Error(`${where} needs providers: it works in an application, by its endpoint.`)
      }
      return resolver(root, args, context, info)
    }
  }
}
