/**
 * Compiles a reader for the variables of an operation, which is faster than graphql-js. If a value is invalid,
 * graphql-js reads the variables again and reports the errors. Source: GraphQL specification, 6.1.2 and 3.10.
 */

import type {
  GraphQLError,
  GraphQLInputField,
  GraphQLInputObjectType,
  GraphQLInputType,
  GraphQLSchema,
  VariableDefinitionNode,
} from 'graphql'
import { type GraphqlLimits, longestName, overLimit } from './limits.js'
import { graphqlLibrary } from './library.js'

/** The maximum number of reported errors. */
const maxVariableErrors = 50
/** Variables with more values or characters have only one reported error, because each message contains all of them. */
const maxPrintedValues = 1000
const maxPrintedCharacters = 20_000

/** The options of `getVariableValues` of graphql-js. */
export function errorOptions(variables: unknown): { readonly maxErrors: number } {
  return { maxErrors: isLarge(variables) ? 1 : maxVariableErrors }
}

function isLarge(input: unknown): boolean {
  const waiting: unknown[] = [input]
  let characters = 0
  // The list grows during the iteration.
  for (const value of waiting) {
    if (typeof value === 'string') characters += value.length
    else if (Array.isArray(value)) for (const item of value) waiting.push(item)
    else if (typeof value === 'object' && value !== null) {
      for (const [name, item] of Object.entries(value)) {
        characters += name.length
        waiting.push(item)
      }
    }
    if (waiting.length > maxPrintedValues || characters > maxPrintedCharacters) return true
  }
  return false
}

/** An object counts as so many additional values, because reading it takes ten times as long as reading a number. */
const valuesPerObject = 10

/** The error of variables with too many values or a key that is too long. Stops counting at the limit. */
export function findExcessValues(
  input: VariableValues,
  { values }: GraphqlLimits,
): GraphQLError | undefined {
  let remaining = values
  const waiting: object[] = [input]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const items: readonly unknown[] = Array.isArray(next) ? next : Object.values(next)
    remaining -= Array.isArray(next) ? items.length : valuesPerObject + items.length
    if (remaining < 0) {
      return overLimit(
        'values',
        `The variables contain more than ${values} values. An object counts as ${valuesPerObject} more. Send less.`,
      )
    }
    if (!Array.isArray(next) && Object.keys(next).some((key) => key.length > longestName))
      return overLimit('values', `A key has more than ${longestName} characters.`)
    for (const item of items) if (typeof item === 'object' && item !== null) waiting.push(item)
  }
  return undefined
}

/** Values by the name of the variable. */
export type VariableValues = Readonly<Record<string, unknown>>

/** @returns `undefined` for invalid or unusual values, which graphql-js must read */
export type VariableReader = (input: VariableValues) => VariableValues | undefined

/** Throws for values that it cannot read. */
type ValueReader = (value: unknown) => unknown

interface Variable {
  readonly name: string
  readonly read: ValueReader
  readonly isRequired: boolean
  readonly hasDefault: boolean
  readonly defaultValue: unknown
}

/** @param definitions of a validated operation */
export function compileVariables(
  schema: GraphQLSchema,
  definitions: readonly VariableDefinitionNode[],
): VariableReader {
  const compiler = new ReaderCompiler()
  // Assigning this name to an object would change its prototype.
  if (definitions.some(({ variable }) => variable.name.value === '__proto__'))
    return () => undefined
  const variables = definitions.map((definition) => toVariable(definition, schema, compiler))
  return (input) => {
    const values: Record<string, unknown> = {}
    try {
      for (const { name, read, isRequired, hasDefault, defaultValue: standard } of variables) {
        if (Object.hasOwn(input, name)) values[name] = read(input[name])
        else if (hasDefault) values[name] = standard
        else if (isRequired) return undefined
      }
    } catch {
      // Not only errors of `fail`: by the specification, a value is invalid if the scalar's `parseValue` throws anything.
      return undefined
    }
    return values
  }
}

function toVariable(
  { variable, type: typeNode, defaultValue }: VariableDefinitionNode,
  schema: GraphQLSchema,
  compiler: ReaderCompiler,
): Variable {
  const { isNonNullType, typeFromAST, valueFromAST } = graphqlLibrary()
  const type = typeFromAST(schema, typeNode) as GraphQLInputType
  return {
    name: variable.name.value,
    read: compiler.reader(type),
    isRequired: isNonNullType(type),
    hasDefault: defaultValue !== undefined,
    defaultValue: valueFromAST(defaultValue, type),
  }
}

/**
 * Compiles readers by type. Types may be recursive, so the fields of an object type are compiled at their first use.
 */
class ReaderCompiler {
  readonly #objects = new Map<GraphQLInputObjectType, ValueReader>()

  reader(type: GraphQLInputType): ValueReader {
    const { isNonNullType } = graphqlLibrary()
    if (!isNonNullType(type)) {
      const read = this.#present(type)
      return (value) => (value === null || value === undefined ? null : read(value))
    }
    const read = this.#present(type.ofType)
    return (value) => (value === null || value === undefined ? fail() : read(value))
  }

  #present(type: GraphQLInputType): ValueReader {
    const { isInputObjectType, isListType, isLeafType } = graphqlLibrary()
    if (isListType(type)) return this.#list(type.ofType)
    if (isInputObjectType(type)) return this.#object(type)
    // `parseValue` of a scalar or an enum throws or returns undefined for invalid values.
    return isLeafType(type) ? (value) => (type.parseValue(value) as unknown) ?? fail() : fail
  }

  #list(type: GraphQLInputType): ValueReader {
    const read = this.reader(type)
    return (value) => {
      if (Array.isArray(value)) return Array.from(value as unknown[], read)
      return typeof value === 'object' ? fail() : [read(value)]
    }
  }

  #object(type: GraphQLInputObjectType): ValueReader {
    let cached = this.#objects.get(type)
    if (cached === undefined) {
      let read: ValueReader | undefined
      cached = (value) => (read ??= this.#fields(type))(value)
      this.#objects.set(type, cached)
    }
    return cached
  }

  #fields(type: GraphQLInputObjectType): ValueReader {
    if (type.isOneOf) return fail
    const { isRequiredInputField } = graphqlLibrary()
    const fields = Object.values(type.getFields()).map((field: GraphQLInputField) => ({
      name: field.name,
      read: this.reader(field.type),
      defaultValue: field.defaultValue,
      isRequired: isRequiredInputField(field),
    }))
    const names = new Set(fields.map(({ name }) => name))
    return (value) => {
      if (typeof value !== 'object' || Array.isArray(value)) return fail()
      for (const name of Object.keys(value as object)) if (!names.has(name)) fail()
      const values: Record<string, unknown> = {}
      for (const { name, read, defaultValue: standard, isRequired } of fields) {
        const input = (value as VariableValues)[name]
        if (input !== undefined) values[name] = read(input)
        else if (standard !== undefined) values[name] = standard
        else if (isRequired) fail()
      }
      return values
    }
  }
}

const invalidValue = new Error('For graphql-js.')

function fail(): never {
  throw invalidValue
}
