/**
 * A validated operation of a cached document: its root fields with their plans, its cost, and the compiled reader of
 * its variables.
 */

import type {
  FieldNode,
  FragmentDefinitionNode,
  OperationDefinitionNode,
  DocumentNode,
  GraphQLField,
  GraphQLSchema,
} from 'graphql'
import { collectFields, conditionNames, type FieldGroups } from './collect-fields.js'
import { graphqlLibrary } from './library.js'
import { compileVariables, type VariableReader } from './variables.js'
import { type FieldCosts, measureOperation, type Measure } from './measure.js'
import type { Planner, RootPlan } from './planner-contract.js'

/** A root field to run. */
export interface RootField {
  /** Its key in the response. */
  readonly key: string
  readonly nodes: readonly [FieldNode, ...FieldNode[]]
  /** If a required field is null, `data` is null. */
  readonly required: boolean
  /** Undefined if graphql-js runs the field. */
  readonly plan: RootPlan | undefined
}

export interface OperationParts {
  readonly schema: GraphQLSchema
  readonly planner: Planner | undefined
  readonly document: DocumentNode
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>
  readonly costs?: FieldCosts | undefined
}

/** The cost of an operation without the values of variables. */
export interface MeasuredOperation extends Pick<Measure, 'cost' | 'varies' | 'usesDatabase'> {
  /** The version of the table sizes that it was measured with. */
  readonly version: number
}

/** The maximum number of condition combinations whose root fields are cached. */
const maxCombinations = 32

export class Operation {
  readonly node: OperationDefinitionNode
  readonly document: DocumentNode
  /** Whether the cost depends on variables or on the size of tables. */
  readonly costVaries: boolean
  /** False if no root field can have a plan, so that graphql-js runs the complete document. */
  readonly canPlan: boolean
  readonly hasVariables: boolean
  readonly #parts: OperationParts
  readonly #conditions: readonly string[]
  readonly #roots = new Map<string, readonly RootField[]>()
  #readVariables: VariableReader | undefined
  #measured: MeasuredOperation

  constructor(node: OperationDefinitionNode, parts: OperationParts, measured: MeasuredOperation) {
    this.node = node
    this.document = parts.document
    this.costVaries = measured.varies || measured.usesDatabase
    this.#measured = measured
    this.hasVariables = (node.variableDefinitions?.length ?? 0) > 0
    this.#parts = parts
    this.#conditions = conditionNames(node, parts.fragments)
    const all = this.everyRoot()
    this.canPlan =
      node.operation !== graphqlLibrary().OperationTypeNode.SUBSCRIPTION &&
      parts.planner !== undefined &&
      [...all.values()].some(([first]) => this.definition(first) !== undefined)
  }

  /** The definition of a root field; undefined for `__typename` and introspection. */
  definition(node: FieldNode): GraphQLField<unknown, unknown> | undefined {
    const { schema } = this.#parts
    return schema.getRootType(this.node.operation)?.getFields()[node.name.value]
  }

  /** All root fields by response key, including skipped fields. */
  everyRoot(): FieldGroups {
    return this.#collectRoots(undefined)
  }

  /** @param conditions values of the variables in `@skip` and `@include`; `undefined` includes skipped fields */
  #collectRoots(conditions: Readonly<Record<string, boolean>> | undefined): FieldGroups {
    // Validation ensures that all fragments fit the root type.
    return collectFields([this.node], undefined, { fragments: this.#parts.fragments, conditions })
  }

  /** Converts variables to the values of their types. @returns `undefined` if graphql-js must read them */
  readVariables(
    input: Readonly<Record<string, unknown>>,
  ): Readonly<Record<string, unknown>> | undefined {
    this.#readVariables ??= compileVariables(
      this.#parts.schema,
      this.node.variableDefinitions ?? [],
    )
    return this.#readVariables(input)
  }

  /** The cost without the values of variables. */
  get measuredCost(): number {
    return this.#measured.cost
  }

  /** The cost with these variables. */
  cost(variables: Readonly<Record<string, unknown>>): number {
    const { schema, fragments, costs } = this.#parts
    const version = this.#measured.usesDatabase ? (costs?.version() ?? 0) : this.#measured.version
    if (!this.#measured.varies && version === this.#measured.version) return this.#measured.cost
    const measure = measureOperation({
      schema,
      operation: this.node,
      fragments,
      variables,
      costs,
    })
    // A cost that depends on variables is not cached.
    if (!this.#measured.varies) this.#measured = { ...measure, version }
    return measure.cost
  }

  /**
   * The root fields to run with their plans, in the order of the response. Cached by the values of `@skip` and
   * `@include`.
   */
  roots(variables: Readonly<Record<string, unknown>>): readonly RootField[] {
    let key = ''
    for (const name of this.#conditions) key += variables[name] === true ? '1' : '0'
    const cached = this.#roots.get(key)
    if (cached !== undefined) return cached
    const conditions: Record<string, boolean> = {}
    for (const name of this.#conditions) conditions[name] = variables[name] === true
    const roots = this.#makeRoots(conditions)
    if (this.#roots.size < maxCombinations) this.#roots.set(key, roots)
    return roots
  }

  #makeRoots(conditions: Readonly<Record<string, boolean>>): readonly RootField[] {
    const { fragments, planner } = this.#parts
    const { isNonNullType } = graphqlLibrary()
    const kind = this.node.operation
    return [...this.#collectRoots(conditions)].map(([key, nodes]) => {
      const field = this.definition(nodes[0])
      const plan = field && planner?.plan({ kind, field, nodes, fragments, conditions })
      return { key, nodes, plan, required: field === undefined || isNonNullType(field.type) }
    })
  }
}
