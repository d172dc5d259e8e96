/** `@Resolve`: makes a method of a record a field of its GraphQL type. Source: decisions, GraphQL. */
import { toDecorator, type AnyDecorator } from '../../metadata/dialect.js'
import { createMemberMetadata, type Class } from '../../metadata/class-metadata.js'
import type { ArgumentDeclaration } from '../declarations.js'

export interface ResolveOptions {
  /** The fields that the method reads. They are loaded even if the client does not select them. Default: all. */
  needs?: readonly string[]
  /** Arguments by name: a type (`'Int!'`), or a type with a default. Default: none. */
  args?: Readonly<Record<string, string | ArgumentDeclaration>>
  description?: string
}

export interface ResolveMetadata {
  readonly type: string
  readonly options: Readonly<ResolveOptions>
}

const resolveMetadata = createMemberMetadata<ResolveMetadata>('resolve')

/**
 * Makes a method a field of the record's GraphQL type. The method is called with `(args, context)` on the record.
 *
 * ```ts
 * @Resolve('Float', { needs: ['price'], args: { rate: 'Float!' } })
 * withTax({ rate }: { rate: number }) { return this.price * (1 + rate) }    // product { withTax(rate: 0.2) }
 * ```
 *
 * @param type in the type notation: `Float`, `[String!]`, `Product`
 */
export function Resolve(type: string, options: ResolveOptions = {}): AnyDecorator {
  return toDecorator(({ owner, member, kind: position, isStatic }) => {
    if (member === undefined || position !== 'method' || isStatic) {
      throw new TypeError(
        `@Resolve on ${owner.name}: it can only be used on a method of instances.`,
      )
    }
    resolveMetadata.write(owner, member, { type, options: { ...options } })
  })
}

/** The fields of a class by method, starting with the base class. */
export function readResolveMetadata(owner: Class): ReadonlyMap<string, ResolveMetadata> {
  return resolveMetadata.readAll(owner)
}
