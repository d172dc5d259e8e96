/** Reads types as they are written: `ID`, `[Item]`, `Float!`, `[Int!]!`. Source: specification, Hand-built GraphQL schema. */
import type { GraphQLNamedType, GraphQLType } from 'graphql'
import { graphqlLibrary } from './library.js'

/** A written type taken apart. */
export interface WrittenType {
  /** The name inside the brackets: `Item`. */
  readonly name: string
  /** From the name outwards: `[Int!]!` is `['required', 'list', 'required']`. */
  readonly wrappers: readonly ('list' | 'required')[]
}

/** How deep lists may stand in lists: introspection shows clients no more. */
const deepestWrapping = 6

/**
 * Takes a written type apart; white space around its parts is passed over.
 *
 * @returns `undefined` when it is no type: `[Int`, `Int!!`, `2d`
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
 * Makes the type of graphql-js.
 *
 * @param lookup finds a named type; `undefined` where there is none
 * @returns `undefined` when the text is no type, or its name is unknown
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
    // The notation never doubles a `!`, so that what is wrapped here is nullable.
    type =
      wrapper === 'list'
        ? new GraphQLList(type)
        : new GraphQLNonNull(type as Exclude<GraphQLType, InstanceType<typeof GraphQLNonNull>>)
  }
  return type
}
