/** Parses the type notation (`ID`, `[Item]`, `Float!`, `[Int!]!`), and describes declarations without a description. */
import type { GraphQLNamedType, GraphQLType } from 'graphql'
import { graphqlLibrary } from './library.js'
import type { ArgumentDeclaration, TypeDeclaration } from './declarations.js'

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

const scalarLabels: Readonly<Record<string, string>> = {
  ID: 'an id',
  Int: 'an integer',
  Float: 'a number',
  String: 'a text',
  Boolean: 'true or false',
}

/** `[Tag!]` gives "A list: each of the type Tag. May be null." */
export function describeOutput(notation: string): string {
  return `${labelOf(notation)}.${isRequired(notation) ? '' : ' May be null.'}`
}

/** `Int!` gives "An integer. Required." */
export function describeInput({ type, default: defaultValue }: ArgumentDeclaration): string {
  if (defaultValue !== undefined)
    return `${labelOf(type)}. Default: ${JSON.stringify(defaultValue)}.`
  return `${labelOf(type)}.${isRequired(type) ? ' Required.' : ' Optional.'}`
}

export function describeValue(name: string, value: unknown): string {
  return value === name ? `The value "${name}".` : `Stands for ${JSON.stringify(value)}.`
}

export function describeType(name: string, { kind }: TypeDeclaration): string {
  return `${typeLabels[kind]} ${name}.`
}

const typeLabels: Readonly<Record<TypeDeclaration['kind'], string>> = {
  object: 'The type',
  input: 'The input',
  interface: 'The interface',
  scalar: 'The scalar',
  enum: 'The enum',
}

/** Descriptions of the three root types. */
export const rootDescriptions: Readonly<Record<string, string>> = {
  Query: 'The queries.',
  Mutation: 'The mutations. Several mutations of one operation run one after the other.',
  Subscription:
    'The subscriptions. Each sends an event for every change until the client disconnects.',
}

export function titled(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function labelOf(notation: string): string {
  const written = readTypeNotation(notation)
  if (written === undefined) return 'A value'
  const label = scalarLabels[written.name] ?? `of the type ${written.name}`
  return written.wrappers.includes('list') ? `A list: each ${label}` : titled(label)
}

function isRequired(notation: string): boolean {
  return notation.trimEnd().endsWith('!')
}
