/** Parses the type notation: `ID`, `[Item]`, `Float!`, `[Int!]!`. */
import type { GraphQLNamedType, GraphQLType } from 'graphql'
import { graphqlLibrary } from './library.js'

/** A parsed type. */
export interface WrittenType {
  /** The name within the brackets: `Item`. */
  readonly name: string
  /** From the name outward: `[Int!]!` gives `['required', 'list', 'required']`. */
  readonly wrappers: readonly ('list' | 'required')[]
}

/** The maximum number of wrappers, because introspection queries do not select more. */
const deepestWrapping = 6

/**
 * Parses a type. White space around its parts is ignored.
 *
 * @returns `undefined` for invalid notation: `[Int`, `Int!!`, `2d`
 */
export function readTypeNotation(text: string): WrittenType | undefined {
  const wrappers: ('list' | 'required')[] = []
  let rest = text.trim()
  for (;;) {
    if (rest.endsWith('!')) {
      if (wrappers.at(-1) === 'required') return undefined
      wrappers.push('required')
      rest = rest.slice(0, -1).trimEnd()
    } else if (rest.startsWith('[') && rest.endsWith(']')) {
      wrappers.push('list')
      rest = rest.slice(1, -1).trim()
    } else break
  }
  if (!/^[A-Za-z_]\w*$/.test(rest) || wrappers.length > deepestWrapping) return undefined
  return { name: rest, wrappers: wrappers.reverse() }
}

/**
 * Creates the type of graphql-js.
 *
 * @param lookup returns a named type, or `undefined` for an unknown name
 * @returns `undefined` for invalid notation or an unknown name
 */
export function toGraphqlType(
  text: string,
  lookup: (name: string) => GraphQLNamedType | undefined,
): GraphQLType | undefined {
  const written = readTypeNotation(text)
  const named = written && lookup(written.name)
  if (written === undefined || named === undefined) return undefined
  const { GraphQLList, GraphQLNonNull } = graphqlLibrary()
  let type: GraphQLType = named
  for (const wrapper of written.wrappers) {
    // The notation never has `!!`, so the wrapped type is nullable.
    type =
      wrapper === 'list'
        ? new GraphQLList(type)
        : new GraphQLNonNull(type as Exclude<GraphQLType, InstanceType<typeof GraphQLNonNull>>)
  }
  return type
}
