/**
 * Default descriptions, made from the type, for declarations without a description. Editors and other tools show them.
 */
import type { ArgumentDeclaration, TypeDeclaration } from './declarations.js'
import { readTypeNotation } from './type-notation.js'

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
