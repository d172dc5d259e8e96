/**
 * One operation of a document: read, measured and validated once, kept by its text, with what the planner made of it.
 * A document's operations share its text, its fragments and its verdict.
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

/** Finds the root fields of an operation as one combination of `@skip` and `@include` values sees it. */

type Fragments = Readonly<Record<string, FragmentDefinitionNode>>
type Conditions = Readonly<Record<string, boolean>>

/**
 * The nodes of each response key, in the order of the response. Source: GraphQL specification, CollectFields.
 *
 * @param conditions values of the variables in directives; `undefined` takes every field, skipped or not
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

/** Names of the variables that `@skip` and `@include` name anywhere in the operation, sorted. */
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

/** A root field that is to be run. */
export interface RootField {
  /** Its key in the response. */
  readonly key: string
  readonly nodes: readonly [FieldNode, ...FieldNode[]]
  /** Null here makes the whole `data` null. */
  readonly required: boolean
  /** Undefined: graphql-js runs it. */
  readonly plan: RootPlan | undefined
}

export interface OperationParts {
  readonly schema: GraphQLSchema
  readonly planner: Planner | undefined
  readonly document: DocumentNode
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>
  readonly costs?: FieldCosts | undefined
}

/** How an operation was measured when its document was read. */
export interface MeasuredOperation extends Pick<Measure, 'cost' | 'varies' | 'usesDatabase'> {
  /** Of what is known of the database. */
  readonly version: number
}

/** Combinations of conditions whose root fields are kept; more are made anew each time. */
const maxCombinations = 32

export class Operation {
  readonly node: OperationDefinitionNode
  readonly document: DocumentNode
  /** Whether the cost depends on the variables of every call, or on how large the database is. */
  readonly costVaries: boolean
  /** False: no root field can have a plan, so that graphql-js takes the whole document as it is. */
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

  /** Every root field, skipped or not, with its response key. */
  everyRoot(): Map<string, [FieldNode, ...FieldNode[]]> {
    return collectRoots(this.node, this.#parts.fragments, undefined)
  }

  /** Variables as their types make them; `undefined` where graphql-js has to look. */
  readVariables(
    input: Readonly<Record<string, unknown>>,
  ): Readonly<Record<string, unknown>> | undefined {
    this.#readVariables ??= compileVariables(
      this.#parts.schema,
      this.node.variableDefinitions ?? [],
    )
    return this.#readVariables(input)
  }

  /** Its cost for variables that are not known. */
  get measuredCost(): number {
    return this.#measured.cost
  }

  /** Its cost with these variables. */
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
    // What depends on the variables is counted for each call.
    if (!this.#measured.varies) this.#measured = { ...measure, version }
    return measure.cost
  }

  /** The root fields to run, in the order of the response, each with its plan; kept for these conditions. */
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
