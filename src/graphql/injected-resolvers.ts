/**
 * Resolvers with dependencies: a class with `static inject` and a method `resolve`, or a function with `inject:
 * [Store]` next to it. Each becomes a provider that the application's container creates at the start. The schema gets a
 * plain function. Source: public API, GraphQL.
 */
import type { GraphQLResolveInfo } from 'graphql'
import { constructorOf, isClass, type Class } from '../metadata/class.js'
import type { FieldArguments } from './declarations.js'

/** The resolver that the schema calls. */
export type Resolve = (
  root: unknown,
  args: FieldArguments,
  context: unknown,
  info: GraphQLResolveInfo,
) => unknown

/** A resolver class. One instance serves all operations. */
export type ResolverClass = new (...dependencies: never[]) => { resolve: ResolveWith }

/**
 * A resolver function of an application. With `inject`, it gets the providers after the context, in the order of the
 * list, and then the `info` of graphql-js. Declared as a method, so that implementations may narrow the argument types.
 */
export type ResolveWith = {
  // Each resolver has its own types of providers.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  resolve(root: unknown, args: FieldArguments, context: unknown, ...more: any[]): unknown
}['resolve']

/** The provider of a resolver in the application's container. */
export interface ResolverProvider {
  readonly provide: symbol
  readonly inject: readonly (Class | string | symbol)[]
  readonly make: (...dependencies: readonly unknown[]) => Resolve
}

/** Returns an instance from the container. */
export type GetProvider = (token: symbol) => unknown

export class InjectedResolvers {
  readonly providers: ResolverProvider[] = []
  #get: GetProvider | undefined

  /** Connects the resolvers to the application's container. */
  bind(get: GetProvider | undefined): void {
    this.#get = get
  }

  /**
   * @param where the field for error messages: `Query.quote`
   * @param inject for a function: the providers that it gets after the context
   * @returns the resolver for the schema
   */
  register(
    where: string,
    resolve: ResolveWith | ResolverClass,
    inject: readonly (Class | string | symbol)[] | undefined,
  ): Resolve {
    if (isClass(resolve)) {
      const { inject: dependencyTokens = [] } = resolve as { inject?: ResolverProvider['inject'] }
      const Resolver = constructorOf(resolve) as new (...args: readonly unknown[]) => {
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
    // A resolver without dependencies works without an application too.
    let resolver: Resolve | undefined = inject.length === 0 ? make() : undefined
    return (root, args, context, info) => {
      resolver ??= this.#get?.(provide) as Resolve | undefined
      if (resolver === undefined) {
        throw new Error(
          `${where} injects providers, so it works only in an application. Call it through the endpoint.`,
        )
      }
      return resolver(root, args, context, info)
    }
  }
}
