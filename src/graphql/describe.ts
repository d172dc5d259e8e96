/** Descriptions for what is declared without one: made of its type. Editors and other tools show them. */
import type { ArgumentDeclaration, TypeDeclaration } from './declarations.js'
import { readTypeNotation } from './type-notation.js'

const scalarLabels: Readonly<Record<string, string>> = {
  ID: 'an id',
  Int: 'an integer',
  Float: 'a number',
  String: 'a text',
  Boolean: 'true or false',
}

/** `[Tag!]` is "A list: each a Tag. May be null." */
export function describeOutput(notation: string): string {
  return `${labelOf(notation)}.${isRequired(notation) ? '' : ' May be null.'}`
}

/** `Int!` is "An integer. Must be given." */
export function describeInput({ type, default: standard }: ArgumentDeclaration): string {
  if (standard !== undefined)
    return `${labelOf(type)}; ${JSON.stringify(standard)} where it is left out.`
  return `${labelOf(type)}.${isRequired(type) ? ' Must be given.' : ' May be left out.'}`
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

/** Of `Query`, `Mutation` and `Subscription`. */
export const rootDescriptions: Readonly<Record<string, string>> = {
  Query: 'What can be asked.',
  Mutation: 'What can be changed. The fields run one after the other.',
  Subscription: 'What can be followed: an event for each change, until the client leaves.',
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
