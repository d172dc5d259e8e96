/** Resolves fields that have no resolver. Source: specification, Hand-built GraphQL schema and Errors, GraphQL 4. */
import type { GraphQLFieldResolver } from 'graphql'
import { graphqlCodes } from './error-codes.js'
import { graphqlLibrary } from './library.js'

/**
 * Reads the parent's key of the field's name, or calls it where it is a method. What every object inherits is no key.
 *
 * @throws {GraphQLError} code `FIELD_NOT_RESOLVED` when there is no such key: the field is null, with this entry
 */
export const resolveKey: GraphQLFieldResolver<unknown, unknown> = (root, args, context, info) => {
  const { fieldName } = info
  if ((typeof root === 'object' && root !== null) || typeof root === 'function') {
    const value: unknown = (root as Record<string, unknown>)[fieldName]
    if (typeof value === 'function' && value !== Object.prototype[fieldName as never]) {
      return (value as (args: unknown, context: unknown, info: unknown) => unknown).call(
        root,
        args,
        context,
        info,
      )
    }
    if (value !== undefined && typeof value !== 'function') return value
    if (value === undefined && fieldName in root) return null
  }
  const { GraphQLError } = graphqlLibrary()
  throw new GraphQLError(`${info.parentType.name}.${fieldName}: the value has no such key.`, {
    extensions: { code: graphqlCodes.unresolved },
  })
}
