/** The contract between the measure of operations and what knows the database: what a field makes it do. */
import type { FieldNode, GraphQLField, ValueNode } from 'graphql'
import { unknownValue } from '../records/budget/query-cost.js'
import { graphqlLibrary } from './library.js'

export interface FieldCosts {
  /**
   * Another number once the database has changed so much that costs are to be counted anew.
   *
   * It may look at the database for that, without waiting.
   */
  version(): number
  /**
   * What one value of a field costs beside its own fields.
   *
   * @param args as the document gives them; `unknownValue` stands for variables whose values are not known yet
   * @returns `undefined` where the field asks nothing of a database
   */
  costOf(
    field: GraphQLField<unknown, unknown>,
    args: Readonly<Record<string, unknown>>,
  ): FieldCost | undefined
}

export interface FieldCost {
  readonly points: number
  /** An unknown cost decides. */
  readonly isOpen: boolean
}

/** A field's arguments as plain data. */
export function plainArguments(
  { arguments: given = [] }: FieldNode,
  variables: Readonly<Record<string, unknown>> | undefined,
): Readonly<Record<string, unknown>> {
  if (given.length === 0) return noArguments
  return Object.fromEntries(
    given.map(({ name, value }) => [name.value, plainValue(value, variables)]),
  )
}

const noArguments = Object.freeze({})

/** A value of a document as plain data, whatever its type. */
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
