/**
 * A validated operation of a cached document: its root fields with their plans, its cost, and the compiled reader of
 * its variables.
 */

import type {
  FieldNode,
  FragmentDefinitionNode,
  OperationDefinitionNode,
  SelectionNode,
  SelectionSetNode,
  DocumentNode,
  GraphQLField,
  GraphQLSchema,
} from 'graphql'
import { graphqlLibrary } from './library.js'
import { compileVariables, type VariableReader } from './variables.js'
import type { FieldCosts } from './field-costs.js'
import { measureOperation, type Measure } from './measure.js'
import type { Planner, RootPlan } from './planner-contract.js'

type Fragments = Readonly<Record<string, FragmentDefinitionNode>>
type Conditions = Readonly<Record<string, boolean>>

/**
 * Collects the root fields by response key, in the order of the response. Source: GraphQL specification, CollectFields.
 *
 * @param conditions values of the variables in `@skip` and `@include`; `undefined` includes skipped fields
 */
function collectRoots(
  operation: OperationDefinitionNode,
  fragments: Fragments,
  conditions: Conditions | undefined,
): Map<string, [FieldNode, ...FieldNode[]]> {
  const { Kind } = graphqlLibrary()
  const roots = new Map<string, [FieldNode, ...FieldNode[]]>()
  const visited = new Set<string>()
  const visit = (set: SelectionSetNode): void => {
    for (const selection of set.selections) {
      if (conditions !== undefined && !isIncluded(selection, conditions)) continue
      if (selection.kind === Kind.FIELD) {
        const key = (selection.alias ?? selection.name).value
        const nodes = roots.get(key)
        if (nodes === undefined) roots.set(key, [selection])
        else nodes.push(selection)
      } else if (selection.kind === Kind.INLINE_FRAGMENT) {
        visit(selection.selectionSet)
      } else {
        const name = selection.name.value
        const fragment = fragments[name]
        if (fragment === undefined || visited.has(name)) continue
        visited.add(name)
        visit(fragment.selectionSet)
      }
    }
  }
  visit(operation.selectionSet)
  return roots
}

/** The sorted names of the variables in all `@skip` and `@include` of the operation. */
function conditionNames(
  operation: OperationDefinitionNode,
  fragments: Fragments,
): readonly string[] {
  const { Kind } = graphqlLibrary()
  const names = new Set<string>()
  const visited = new Set<string>()
  const visit = (set: SelectionSetNode): void => {
    for (const selection of set.selections) {
      for (const { value } of conditionsOf(selection)) {
        if (value.kind === Kind.VARIABLE) names.add(value.name.value)
      }
      if (selection.kind !== Kind.FRAGMENT_SPREAD) {
        if (selection.selectionSet !== undefined) visit(selection.selectionSet)
        continue
      }
      const fragment = fragments[selection.name.value]
      if (fragment === undefined || visited.has(selection.name.value)) continue
      visited.add(selection.name.value)
      visit(fragment.selectionSet)
    }
  }
  visit(operation.selectionSet)
  return [...names].sort()
}

function isIncluded(selection: SelectionNode, conditions: Conditions): boolean {
  const { Kind } = graphqlLibrary()
  return conditionsOf(selection).every(({ skips, value }) => {
    const isTrue =
      value.kind === Kind.VARIABLE
        ? conditions[value.name.value] === true
        : value.kind === Kind.BOOLEAN && value.value
    return isTrue !== skips
  })
}

function conditionsOf({ directives = [] }: SelectionNode) {
  return directives.flatMap(({ name, arguments: argumentNodes = [] }) => {
    if (name.value !== 'skip' && name.value !== 'include') return []
    const value = argumentNodes.find((argument) => argument.name.value === 'if')?.value
    return value === undefined ? [] : [{ skips: name.value === 'skip', value }]
  })
}

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
  everyRoot(): Map<string, [FieldNode, ...FieldNode[]]> {
    return collectRoots(this.node, this.#parts.fragments, undefined)
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

  #makeRoots(conditions: Conditions): readonly RootField[] {
    const { fragments, planner } = this.#parts
    const { isNonNullType } = graphqlLibrary()
    const kind = this.node.operation
    return [...collectRoots(this.node, fragments, conditions)].map(([key, nodes]) => {
      const field = this.definition(nodes[0])
      const plan = field && planner?.plan({ kind, field, nodes, fragments, conditions })
      return { key, nodes, plan, required: field === undefined || isNonNullType(field.type) }
    })
  }
}
