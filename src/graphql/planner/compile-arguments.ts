/**
 * Compiles a reader for the arguments of a field. graphql-js reads invalid arguments. Source: GraphQL specification,
 * 6.4.1.
 */
import type { FieldNode, GraphQLArgument, GraphQLField, GraphQLInputType, ValueNode } from 'graphql'
import type { FieldArguments } from '../declarations.js'
import { graphqlLibrary } from '../library.js'
import type { VariableValues } from '../variables.js'

/** The arguments of a field: constant, or dependent on variables. */
export interface ArgumentSource {
  readonly constant: FieldArguments | undefined
  /** @throws {GraphQLError} if the values of variables are invalid */
  readonly read: (variables: VariableValues) => FieldArguments
}

/** Adds an argument to `values`. @returns false if graphql-js must read the arguments */
type PutArgument = (values: Record<string, unknown>, variables: VariableValues) => boolean

export function compileArguments(
  field: GraphQLField<unknown, unknown>,
  node: FieldNode,
): ArgumentSource {
  const { getArgumentValues } = graphqlLibrary()
  const valueNodes = new Map(node.arguments?.map(({ name, value }) => [name.value, value]))
  if (![...valueNodes.values()].some(hasVariable)) {
    const constant = getArgumentValues(field, node, {})
    return { constant, read: () => constant }
  }
  const steps = field.args.flatMap((argument) =>
    compileStep(argument, valueNodes.get(argument.name)),
  )
  const read = (variables: VariableValues): FieldArguments => {
    const values: Record<string, unknown> = {}
    for (const step of steps) {
      if (!step(values, variables)) return getArgumentValues(field, node, variables)
    }
    return values
  }
  return { constant: undefined, read }
}

function compileStep(argument: GraphQLArgument, value: ValueNode | undefined): PutArgument | [] {
  const { isNonNullType, Kind, valueFromAST } = graphqlLibrary()
  const { name, type, defaultValue } = argument
  const put = (argumentValue: unknown): PutArgument => {
    if (argumentValue === undefined) return () => false
    return (values) => {
      values[name] = argumentValue
      return true
    }
  }
  const isRequired = isNonNullType(type)
  if (value === undefined) return defaultValue === undefined && !isRequired ? [] : put(defaultValue)
  if (value.kind !== Kind.VARIABLE) {
    if (!hasVariable(value)) return put(valueFromAST(value, type))
    const read = compileLiteral(value, type)
    return (values, variables) => (values[name] = read(variables)) !== undefined
  }
  const variable = value.name.value
  return (values, variables) => {
    const isPresent = Object.hasOwn(variables, variable)
    const argumentValue = isPresent ? variables[variable] : defaultValue
    if (argumentValue === undefined) return !isPresent && !isRequired
    values[name] = argumentValue
    return !(isRequired && argumentValue === null)
  }
}

/** @returns `undefined` for an invalid value */
type LiteralReader = (variables: VariableValues) => unknown

/**
 * Compiles a reader for a literal that contains variables, with the result of `valueFromAST`. Constant parts are read
 * only once.
 */
function compileLiteral(value: ValueNode, type: GraphQLInputType): LiteralReader {
  const { isInputObjectType, isNonNullType, Kind, valueFromAST } = graphqlLibrary()
  const nullableType = isNonNullType(type) ? type.ofType : type
  if (!hasVariable(value)) {
    const constant = valueFromAST(value, type)
    return () => constant
  }
  if (value.kind === Kind.VARIABLE) return compileVariable(value.name.value, isNonNullType(type))
  if (value.kind !== Kind.OBJECT || !isInputObjectType(nullableType) || nullableType.isOneOf)
    return (variables) => valueFromAST(value, type, variables)
  const nodes = new Map(value.fields.map((field) => [field.name.value, field.value]))
  const fields = Object.values(nullableType.getFields()).map((field) => {
    const node = nodes.get(field.name)
    return {
      name: field.name,
      read: node && compileLiteral(node, field.type),
      // A missing variable means that the field has its default.
      variable: node?.kind === Kind.VARIABLE ? node.name.value : undefined,
      defaultValue: field.defaultValue,
      isRequired: isNonNullType(field.type),
    }
  })
  return (variables) => {
    const values: Record<string, unknown> = {}
    for (const { name, read, variable, defaultValue, isRequired } of fields) {
      const isMissing = variable !== undefined && variableValue(variables, variable) === undefined
      if (read === undefined || isMissing) {
        if (defaultValue !== undefined) values[name] = defaultValue
        else if (isRequired) return undefined
        continue
      }
      const argumentValue = read(variables)
      if (argumentValue === undefined) return undefined
      values[name] = argumentValue
    }
    return values
  }
}

/** Variables have been converted to their types already. */
function compileVariable(name: string, isRequired: boolean): LiteralReader {
  return (variables) => {
    const value = variableValue(variables, name)
    return isRequired && value === null ? undefined : value
  }
}

/** A variable may have the name of a property of `Object.prototype`. */
function variableValue(variables: VariableValues, name: string): unknown {
  return Object.hasOwn(variables, name) ? variables[name] : undefined
}

function hasVariable(value: ValueNode): boolean {
  const { Kind } = graphqlLibrary()
  if (value.kind === Kind.VARIABLE) return true
  if (value.kind === Kind.LIST) return value.values.some(hasVariable)
  return value.kind === Kind.OBJECT && value.fields.some((field) => hasVariable(field.value))
}
