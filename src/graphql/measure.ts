/**
 * Measures depth, aliases, root fields and cost of an operation with its fragments. Each fragment is measured only
 * once, so that fragments that spread each other many times do not take exponential time. Source: decisions, GraphQL.
 */
import type {
  GraphQLError,
  GraphQLSchema,
  FieldNode,
  FragmentDefinitionNode,
  GraphQLField,
  GraphQLNamedType,
  OperationDefinitionNode,
  SelectionNode,
  SelectionSetNode,
  ValueNode,
} from 'graphql'
import { graphqlLibrary } from './library.js'
import { overLimit } from './limits.js'
import { unknownValue } from '../records/budget/query-cost.js'

/** The database costs of fields, which the generator of records provides. */
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

interface FieldCost {
  readonly points: number
  /** The points depend on variables whose values are not known yet. */
  readonly dependsOnVariables: boolean
}

export interface OperationSize {
  /** Levels of nested selection sets. Introspection counts as one level, because it has its own limit. */
  readonly depth: number
  readonly aliases: number
  /** Fields of the outermost selection set. */
  readonly rootFields: number
  readonly cost: number
  /** The number of values that introspection selects. */
  readonly introspection: number
  /** The cost depends on variables, such as the limit of a list or the operands of a filter. */
  readonly dependsOnVariables: boolean
  /** The cost includes work of the database, which depends on the size of tables. */
  readonly usesDatabase: boolean
}

export interface MeasureInput {
  readonly schema: GraphQLSchema
  readonly operation: OperationDefinitionNode
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>
  /** Coerced variables. Without them, a limit that is a variable counts as 1, and `dependsOnVariables` is true. */
  readonly variables?: Readonly<Record<string, unknown>>
  /** The database costs of fields. */
  readonly costs?: FieldCosts | undefined
}

const zero: OperationSize = Object.freeze({
  depth: 0,
  aliases: 0,
  rootFields: 0,
  cost: 0,
  introspection: 0,
  dependsOnVariables: false,
  usesDatabase: false,
})
const defaultListLimit = 10

/** Also accepts invalid documents: an unknown field counts as a plain field, and cyclic fragments count once. */
export function measureOperation(input: MeasureInput): OperationSize {
  const { schema, operation } = input
  const root = schema.getRootType(operation.operation) ?? undefined
  return new Measurer(input).measureSet(operation.selectionSet, root)
}

class Measurer {
  readonly #input: MeasureInput
  readonly #measuredFragments = new Map<string, OperationSize>()

  constructor(input: MeasureInput) {
    this.#input = input
  }

  measureSet(set: SelectionSetNode, parent: GraphQLNamedType | undefined): OperationSize {
    let sum = zero
    for (const selection of set.selections)
      sum = add(sum, this.#measureSelection(selection, parent))
    return sum
  }

  #measureSelection(selection: SelectionNode, parent: GraphQLNamedType | undefined): OperationSize {
    const { Kind } = graphqlLibrary()
    if (selection.kind === Kind.FIELD) return this.#measureField(selection, parent)
    if (selection.kind === Kind.FRAGMENT_SPREAD) return this.#measureFragment(selection.name.value)
    const { typeCondition, selectionSet } = selection
    const type = typeCondition && this.#input.schema.getType(typeCondition.name.value)
    return this.measureSet(selectionSet, typeCondition === undefined ? parent : type)
  }

  #measureFragment(name: string): OperationSize {
    const { schema, fragments } = this.#input
    const measured = this.#measuredFragments.get(name)
    if (measured !== undefined) return measured
    const fragment = Object.hasOwn(fragments, name) ? fragments[name] : undefined
    if (fragment === undefined) return zero
    // A fragment that spreads itself counts as empty inside itself.
    this.#measuredFragments.set(name, zero)
    const type = schema.getType(fragment.typeCondition.name.value)
    const measure = this.measureSet(fragment.selectionSet, type)
    this.#measuredFragments.set(name, measure)
    return measure
  }

  #measureField(node: FieldNode, parent: GraphQLNamedType | undefined): OperationSize {
    const { schema, variables, costs } = this.#input
    const field = fieldOf(parent, node.name.value)
    const databaseCost = field && costs?.costOf(field, plainArguments(node, variables))
    const leaf: OperationSize = {
      depth: 1,
      aliases: node.alias === undefined || node.alias.value === node.name.value ? 0 : 1,
      rootFields: 1,
      cost: 1 + (databaseCost?.points ?? 0),
      introspection: 0,
      dependsOnVariables: databaseCost?.dependsOnVariables ?? false,
      usesDatabase: databaseCost !== undefined,
    }
    if (node.selectionSet === undefined) return leaf
    if (node.name.value.startsWith('__')) {
      const inner = this.measureSet(node.selectionSet, introspectionType(schema, node))
      return { ...leaf, aliases: leaf.aliases + inner.aliases, introspection: inner.cost }
    }
    const type = field && graphqlLibrary().getNamedType(field.type)
    const inner = this.measureSet(node.selectionSet, type)
    const length = this.#lengthOf(node, field, parent)
    return {
      depth: 1 + inner.depth,
      aliases: leaf.aliases + inner.aliases,
      rootFields: 1,
      cost: leaf.cost + (length ?? 1) * inner.cost,
      introspection: inner.introspection,
      dependsOnVariables:
        leaf.dependsOnVariables || inner.dependsOnVariables || length === undefined,
      usesDatabase: leaf.usesDatabase || inner.usesDatabase,
    }
  }

  /** @returns the number of values that the field may have; `undefined` if a variable decides */
  #lengthOf(
    node: FieldNode,
    field: GraphQLField<unknown, unknown> | undefined,
    parent: GraphQLNamedType | undefined,
  ): number | undefined {
    const { schema, variables } = this.#input
    if (parent?.name.startsWith('__') === true) return schemaListSize(node.name.value, schema)
    return field === undefined ? 1 : listFactor(node, field, variables)
  }
}

function add(a: OperationSize, b: OperationSize): OperationSize {
  return {
    depth: Math.max(a.depth, b.depth),
    aliases: a.aliases + b.aliases,
    rootFields: a.rootFields + b.rootFields,
    cost: a.cost + b.cost,
    introspection: a.introspection + b.introspection,
    dependsOnVariables: a.dependsOnVariables || b.dependsOnVariables,
    usesDatabase: a.usesDatabase || b.usesDatabase,
  }
}

/** @returns undefined for a name that the type does not have, such as `__typename` */
export function fieldOf(
  parent: GraphQLNamedType | undefined,
  name: string,
): GraphQLField<unknown, unknown> | undefined {
  const { isInterfaceType, isObjectType } = graphqlLibrary()
  if (!isObjectType(parent) && !isInterfaceType(parent)) return undefined
  const fields = parent.getFields()
  return Object.hasOwn(fields, name) ? fields[name] : undefined
}

/** @returns the maximum number of values of a list; 1 if it has no limit argument, `undefined` if a variable decides */
function listFactor(
  node: FieldNode,
  field: GraphQLField<unknown, unknown>,
  variables: MeasureInput['variables'],
): number | undefined {
  if (!returnsMany(field)) return 1
  const { Kind } = graphqlLibrary()
  const limiting = field.args.filter(({ name }) => limitNames.has(name))
  if (limiting.length === 0) return 1
  let limit = 0
  for (const { value: argument, name } of node.arguments ?? []) {
    if (!limitNames.has(name.value)) continue
    if (argument.kind === Kind.VARIABLE && variables === undefined) return undefined
    const value = plainValue(argument, variables)
    if (typeof value === 'number') limit = Math.max(1, limit, value)
    // A list of ids: one record for each.
    if (Array.isArray(value)) limit = Math.max(1, limit, value.length)
  }
  if (limit > 0) return limit
  const [{ defaultValue } = {}] = limiting
  return typeof defaultValue === 'number' ? defaultValue : defaultListLimit
}

const limitNames: ReadonlySet<string> = new Set(['limit', 'first', 'last', 'ids'])

/** Whether the field returns a list or a page. */
function returnsMany({ type }: GraphQLField<unknown, unknown>): boolean {
  const { getNullableType, isListType, isObjectType } = graphqlLibrary()
  const outer = getNullableType(type)
  if (isListType(outer)) return true
  if (!isObjectType(outer)) return false
  const fields = outer.getFields()
  return Object.hasOwn(fields, 'edges') || Object.hasOwn(fields, 'nodes')
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
function plainValue(
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

/**
 * Introspection may cost at most this multiple of the query that tools send. Without this limit, a document of aliases
 * could make the server write the complete schema many times.
 */
const introspectionAllowance = 1.5

/** The maximum cost of introspection by schema. */
const maxIntrospectionCosts = new WeakMap<GraphQLSchema, number>()

/** @returns the error of an operation with too much introspection */
export function findExcessIntrospection(
  { introspection }: OperationSize,
  schema: GraphQLSchema,
): GraphQLError | undefined {
  if (introspection === 0) return undefined
  let maxCost = maxIntrospectionCosts.get(schema)
  if (maxCost === undefined) {
    maxCost = introspectionAllowance * measureToolQuery(schema)
    maxIntrospectionCosts.set(schema, maxCost)
  }
  if (introspection <= maxCost) return undefined
  return overLimit(
    'cost',
    'The introspection of the operation is larger than the introspection query of tools. Select fewer fields.',
  )
}

/** The cost of the introspection query that tools send, with all its options. */
function measureToolQuery(schema: GraphQLSchema): number {
  const { getIntrospectionQuery, Kind, parse } = graphqlLibrary()
  const text = getIntrospectionQuery({
    schemaDescription: true,
    specifiedByUrl: true,
    directiveIsRepeatable: true,
    inputValueDeprecation: true,
    oneOf: true,
  })
  const { definitions } = parse(text)
  const operation = definitions.find((one) => one.kind === Kind.OPERATION_DEFINITION)
  if (operation === undefined) return 0
  const fragments = Object.fromEntries(
    definitions.flatMap((one) =>
      one.kind === Kind.FRAGMENT_DEFINITION ? [[one.name.value, one] as const] : [],
    ),
  )
  return measureOperation({ schema, operation, fragments }).introspection
}

/** The type of `__schema` or `__type`. */
function introspectionType(schema: GraphQLSchema, { name }: FieldNode) {
  return schema.getType(name.value === '__schema' ? '__Schema' : '__Type')
}

/** The approximate length of a list in introspection. */
function schemaListSize(name: string, schema: GraphQLSchema): number {
  if (name === 'types') return Object.keys(schema.getTypeMap()).length
  return listsOfTypes.has(name) ? 10 : 1
}

const listsOfTypes: ReadonlySet<string> = new Set([
  'fields',
  'inputFields',
  'args',
  'enumValues',
  'interfaces',
  'possibleTypes',
  'directives',
])
