/**
 * The database costs of fields: the interface between the measurement of operations and the estimates of the database.
 */
import type { FieldNode, GraphQLField, ValueNode } from 'graphql'
import { unknownValue } from '../records/budget/query-cost.js'
import { graphqlLibrary } from './library.js'

export interface FieldCosts {
  /**
   * Changes when the database has changed so much that costs must be computed again. May start a query of the database,
   * but never waits for it.
   */
  version(): number
  /**
   * The cost of one value of a field, without the fields selected in it.
   *
   * @param args the arguments in the document, with `unknownValue` for variables whose values are not known yet
   * @returns `undefined` if the field does not use the database
   */
  costOf(
    field: GraphQLField<unknown, unknown>,
    args: Readonly<Record<string, unknown>>,
  ): FieldCost | undefined
}

export interface FieldCost {
  readonly points: number
  /** The points depend on variables whose values are not known yet. */
  readonly isOpen: boolean
}

/** A field's arguments as plain data. */
export function plainArguments(
  { arguments: argumentNodes = [] }: FieldNode,
  variables: Readonly<Record<string, unknown>> | undefined,
): Readonly<Record<string, unknown>> {
  if (argumentNodes.length === 0) return noArguments
  return Object.fromEntries(
    argumentNodes.map(({ name, value }) => [name.value, plainValue(value, variables)]),
  )
}

const noArguments = Object.freeze({})

/** A value of a document as plain data, without its type. */
export function plainValue(
  node: ValueNode,
  variables: Readonly<Record<string, unknown>> | undefined,
): unknown {
  const { Kind } = graphqlLibrary()
  switch (node.kind) {
    case Kind.VARIABLE:
      return variables === undefined ? unknownValue : variables[node.name.value]
    case Kind.LIST:
      return node.values.map((value) => plainValue(value, variables))
    case Kind.OBJECT:
      return Object.fromEntries(
        node.fields.map(({ name, value }) => [name.value, plainValue(value, variables)]),
      )
    case Kind.INT:
    case Kind.FLOAT:
      return Number(node.value)
    case Kind.NULL:
      return null
    default:
      return node.value
  }
}
