/**
 * Parses, measures and validates documents, and caches the most recently used ones by their text. An operation of a cached
 * document has its root fields with their plans, its cost, and the compiled reader of its variables.
 */
import type {
  ASTVisitor,
  GraphQLError,
  ValidationContext,
  ValidationRule,
  FragmentDefinitionNode,
  GraphQLSchema,
  FieldNode,
  OperationDefinitionNode,
  DocumentNode,
  GraphQLField,
} from 'graphql'
import { graphqlLibrary } from './library.js'
import { clip } from '../core/text.js'
import { graphqlCodes, withoutSuggestion } from './errors.js'
import {
  type FieldCosts,
  findExcessIntrospection,
  measureOperation,
  type OperationSize,
} from './measure.js'
import { type GraphqlLimits, overLimit, readDocument } from './limits.js'
import { mergeableFieldsRule } from './mergeable-fields.js'
import { type Planner, type RootPlan, unplannable, type Unplannable } from './planner-contract.js'
import { collectFields, conditionNames, type FieldGroups } from './collect-fields.js'
import { compileVariables, type VariableReader } from './variables.js'

/** A root field to run. */
export interface RootField {
  /** Its key in the response. */
  readonly key: string
  readonly nodes: readonly [FieldNode, ...FieldNode[]]
  /** If a required field is null, `data` is null. */
  readonly required: boolean
  /** The plan, or why graphql-js runs the field. */
  readonly plan: RootPlan | Unplannable
}

/** What all operations of a document share. */
interface DocumentContext {
  readonly schema: GraphQLSchema
  readonly planner: Planner | undefined
  readonly document: DocumentNode
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>
  readonly costs?: FieldCosts | undefined
}

/** The cost of an operation without the values of variables. */
interface MeasuredOperation extends Pick<
  OperationSize,
  'cost' | 'dependsOnVariables' | 'usesDatabase'
> {
  /** The version of the table sizes that it was measured with. */
  readonly sizesVersion: number
}

const unplannedField = unplannable('graphql-js resolves the field.')

/** The maximum number of condition combinations whose root fields are cached. */
const maxCombinations = 32

/** A validated operation of a cached document. */
export class Operation {
  readonly node: OperationDefinitionNode
  readonly kind: 'query' | 'mutation' | 'subscription'
  readonly document: DocumentNode
  /** Whether the cost depends on variables or on the size of tables. */
  readonly costVaries: boolean
  /** False if no root field can have a plan, so that graphql-js runs the complete document. */
  readonly canPlan: boolean
  readonly hasVariables: boolean
  readonly #shared: DocumentContext
  readonly #conditions: readonly string[]
  readonly #roots = new Map<string, readonly RootField[]>()
  #readVariables: VariableReader | undefined
  #measured: MeasuredOperation

  constructor(node: OperationDefinitionNode, shared: DocumentContext, measured: MeasuredOperation) {
    this.node = node
    this.kind = node.operation
    this.document = shared.document
    this.costVaries = measured.dependsOnVariables || measured.usesDatabase
    this.#measured = measured
    this.hasVariables = (node.variableDefinitions?.length ?? 0) > 0
    this.#shared = shared
    this.#conditions = conditionNames(node, shared.fragments)
    const all = this.everyRoot()
    this.canPlan =
      this.kind !== 'subscription' &&
      shared.planner !== undefined &&
      [...all.values()].some(([first]) => this.definition(first) !== undefined)
  }

  /** The definition of a root field; undefined for `__typename` and introspection. */
  definition(node: FieldNode): GraphQLField<unknown, unknown> | undefined {
    const { schema } = this.#shared
    return schema.getRootType(this.node.operation)?.getFields()[node.name.value]
  }

  /** All root fields by response key, including skipped fields. */
  everyRoot(): FieldGroups {
    return this.#collectRoots(undefined)
  }

  /** All fields that are selected below a root field, by response key, including skipped fields. */
  everyFieldBelow(nodes: readonly FieldNode[]): FieldGroups {
    return collectFields(nodes, undefined, {
      fragments: this.#shared.fragments,
      conditions: undefined,
    })
  }

  /** @param conditions values of the variables in `@skip` and `@include`; `undefined` includes skipped fields */
  #collectRoots(conditions: Readonly<Record<string, boolean>> | undefined): FieldGroups {
    // Validation ensures that all fragments fit the root type.
    return collectFields([this.node], undefined, { fragments: this.#shared.fragments, conditions })
  }

  /** Converts variables to the values of their types. @returns `undefined` if graphql-js must read them */
  readVariables(
    input: Readonly<Record<string, unknown>>,
  ): Readonly<Record<string, unknown>> | undefined {
    this.#readVariables ??= compileVariables(
      this.#shared.schema,
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
    const { schema, fragments, costs } = this.#shared
    const { dependsOnVariables, usesDatabase } = this.#measured
    const measuredVersion = this.#measured.sizesVersion
    const sizesVersion = usesDatabase ? (costs?.version() ?? 0) : measuredVersion
    if (!dependsOnVariables && sizesVersion === measuredVersion) return this.#measured.cost
    const measure = measureOperation({
      schema,
      operation: this.node,
      fragments,
      variables,
      costs,
    })
    // A cost that depends on variables is not cached.
    if (!dependsOnVariables) this.#measured = { ...measure, sizesVersion }
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
    const { fragments, planner } = this.#shared
    const { isNonNullType } = graphqlLibrary()
    const kind = this.node.operation
    return [...this.#collectRoots(conditions)].map(([key, nodes]) => {
      const field = this.definition(nodes[0])
      const plan =
        field === undefined || planner === undefined
          ? unplannedField
          : planner.plan({ kind, field, nodes, fragments, conditions })
      return { key, nodes, plan, required: field === undefined || isNonNullType(field.type) }
    })
  }
}

/**
 * The validation rules of graphql-js, except that a variable of type Int may be used for an Integer, and that fields are
 * merged in linear time. Source: GraphQL specification, 5.8.5, All Variable Usages Are Allowed.
 */
let rules: readonly ValidationRule[] | undefined

function validationRules(): readonly ValidationRule[] {
  const { specifiedRules, OverlappingFieldsCanBeMergedRule, VariablesInAllowedPositionRule } =
    graphqlLibrary()
  rules ??= specifiedRules.map((rule) => {
    if (rule === OverlappingFieldsCanBeMergedRule) return mergeableFieldsRule
    return rule === VariablesInAllowedPositionRule ? allowIntegers : rule
  })
  return rules
}

function allowIntegers(context: ValidationContext): ASTVisitor {
  const { VariablesInAllowedPositionRule } = graphqlLibrary()
  const report = (error: GraphQLError): void => {
    const types = /of type "(.+)" used in position expecting type "(.+)"/.exec(error.message)
    const [variableType = '', expectedType = ''] = types?.slice(1) ?? []
    if (!isAssignable(variableType.replace(/\bInt\b/, 'Integer'), expectedType))
      context.reportError(error)
  }
  return VariablesInAllowedPositionRule(
    Object.create(context, { reportError: { value: report } }) as ValidationContext,
  )
}

/** Refuses `__schema` and `__type`, whose errors end with the advice. `__typename` names only types of selected fields. */
function introspectionRule(advice: string): ValidationRule {
  const { GraphQLError } = graphqlLibrary()
  return (context) => ({
    Field(node) {
      const { value: name } = node.name
      if (name !== '__schema' && name !== '__type') return
      context.reportError(new GraphQLError(`${name} is not available. ${advice}`, { nodes: node }))
    },
  })
}

/** Whether values of the first type are values of the second: `[Int!]` and `[Int]`. */
function isAssignable(variableType: string, expectedType: string): boolean {
  if (variableType === expectedType) return variableType !== ''
  if (variableType.endsWith('!'))
    return isAssignable(variableType.slice(0, -1), expectedType.replace(/!$/, ''))
  if (expectedType.endsWith('!')) return false
  const areLists = variableType.startsWith('[') && expectedType.startsWith('[')
  return areLists && isAssignable(variableType.slice(1, -1), expectedType.slice(1, -1))
}

export interface OperationsOptions {
  readonly schema: GraphQLSchema
  readonly planner: Planner | undefined
  readonly fieldCosts?: FieldCosts | undefined
  /** Names that error messages never suggest. */
  readonly securedNames?: ReadonlySet<string> | undefined
  /** Refuses introspection with an error that tells the client what to use instead. Default: introspection runs. */
  readonly insteadOfIntrospection?: string | undefined
  readonly limits: GraphqlLimits
  /** The approximate maximum size of cached documents in bytes. */
  readonly cacheBytes: number
}

/** The errors of a document that does not run. Each error has a code. */
export class RefusedDocument {
  readonly errors: readonly GraphQLError[]

  constructor(errors: readonly GraphQLError[]) {
    this.errors = errors
  }
}

/** The measured size of a parsed document with its plans, in bytes for each character of its text. */
const bytesPerCharacter = 100
/** Validation of a document stops after this many errors. */
const maxErrors = 20

const noNames: ReadonlySet<string> = new Set()

type CachedDocument = ReadonlyMap<string, Operation>

export class Operations {
  readonly #options: OperationsOptions
  readonly #rules: readonly ValidationRule[]
  /** By text, ordered by the last use. */
  readonly #cachedDocuments = new Map<string, CachedDocument>()
  #cachedBytes = 0

  constructor(options: OperationsOptions) {
    this.#options = options
    const { insteadOfIntrospection: advice } = options
    this.#rules =
      advice === undefined ? validationRules() : [...validationRules(), introspectionRule(advice)]
  }

  /** @param name required if the document has several operations */
  find(text: string, name: string | null | undefined): Operation | RefusedDocument {
    const cached = this.#cachedDocuments.get(text)
    if (cached === undefined) {
      const document = this.#read(text)
      return document instanceof RefusedDocument ? document : findOperation(document, name)
    }
    if (this.#cachedDocuments.size > 1) {
      this.#cachedDocuments.delete(text)
      this.#cachedDocuments.set(text, cached)
    }
    return findOperation(cached, name)
  }

  #read(text: string): CachedDocument | RefusedDocument {
    const document = this.#compileSafely(text)
    if (document instanceof RefusedDocument) return document
    this.#cachedDocuments.set(text, document)
    this.#cachedBytes += text.length * bytesPerCharacter
    for (const oldest of this.#cachedDocuments.keys()) {
      if (this.#cachedBytes <= this.#options.cacheBytes) break
      this.#cachedDocuments.delete(oldest)
      this.#cachedBytes -= oldest.length * bytesPerCharacter
    }
    return document
  }

  /** A document that exhausts the stack despite the checks before parsing counts as too deep. */
  #compileSafely(text: string): CachedDocument | RefusedDocument {
    try {
      return this.#compile(text)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      return new RefusedDocument([overLimit('depth', 'The document is nested too deeply.')])
    }
  }

  #compile(text: string): CachedDocument | RefusedDocument {
    const { schema, planner, limits, fieldCosts: costs } = this.#options
    const { GraphQLError, Kind, validate } = graphqlLibrary()
    const document = readDocument(text, limits)
    if (document instanceof GraphQLError) {
      return new RefusedDocument([withCode(document, graphqlCodes.parse)])
    }
    const fragments = Object.create(null) as Record<string, FragmentDefinitionNode>
    for (const definition of document.definitions) {
      if (definition.kind === Kind.FRAGMENT_DEFINITION) {
        fragments[definition.name.value] = definition
      }
    }
    const sizesVersion = costs?.version() ?? 0
    const measured = new Map<string, { node: Operation['node']; measure: OperationSize }>()
    for (const node of document.definitions) {
      if (node.kind !== Kind.OPERATION_DEFINITION) continue
      const measure = measureOperation({ schema, operation: node, fragments, costs })
      const excess = findExcess(measure, limits)
      if (excess !== undefined) return new RefusedDocument([excess])
      measured.set(node.name?.value ?? '', { node, measure })
    }
    const errors = validate(schema, document, this.#rules, { maxErrors })
    if (errors.length > 0) {
      const { securedNames = noNames } = this.#options
      return new RefusedDocument(errors.map((error) => toValidationError(error, securedNames)))
    }
    for (const { measure } of measured.values()) {
      const excess = limits.cost === Infinity ? undefined : findExcessIntrospection(measure, schema)
      if (excess !== undefined) return new RefusedDocument([excess])
    }
    const shared = { schema, planner, document, fragments, costs }
    return new Map(
      [...measured].map(([name, { node, measure }]) => [
        name,
        new Operation(node, shared, { ...measure, sizesVersion }),
      ]),
    )
  }
}

function findOperation(
  document: CachedDocument,
  name: string | null | undefined,
): Operation | RefusedDocument {
  if (name === undefined || name === null || name === '') {
    if (document.size === 1) for (const only of document.values()) return only
    const names = [...document.keys()].join(', ')
    const message =
      document.size === 0
        ? 'The document has no operation.'
        : `The document has several operations. Give operationName, one of ${clip(names)}.`
    return operationNotFound(message)
  }
  return (
    document.get(name) ?? operationNotFound(`The document has no operation named "${clip(name)}".`)
  )
}

function operationNotFound(message: string): RefusedDocument {
  const { GraphQLError } = graphqlLibrary()
  return new RefusedDocument([
    new GraphQLError(message, { extensions: { code: graphqlCodes.operation } }),
  ])
}

function findExcess(measure: OperationSize, limits: GraphqlLimits): GraphQLError | undefined {
  const { depth, aliases, rootFields } = measure
  if (depth > limits.depth) {
    return overLimit('depth', `The operation is ${depth} levels deep; ${limits.depth} are allowed.`)
  }
  if (aliases > limits.aliases) {
    return overLimit('aliases', `The operation has more than ${limits.aliases} aliases.`)
  }
  if (rootFields > limits.rootFields) {
    return overLimit('rootFields', `The operation has more than ${limits.rootFields} root fields.`)
  }
  return findExcessCost(measure.cost, limits)
}

/** @returns the error of a cost over the limit */
export function findExcessCost(cost: number, limits: GraphqlLimits): GraphQLError | undefined {
  if (cost <= limits.cost) return undefined
  return overLimit(
    'cost',
    `The operation costs more than ${limits.cost}. Each field costs 1, multiplied by the limits of its lists, and filters, orders and offsets add the work of the database. Select less.`,
  )
}

/**
 * Drops the original error: an error that a scalar throws for a literal is an error of the client, not to be logged.
 */
function toValidationError(
  { message, nodes, extensions }: GraphQLError,
  securedNames: ReadonlySet<string>,
): GraphQLError {
  const { GraphQLError } = graphqlLibrary()
  const text = withoutSuggestion(message, securedNames)
  return withCode(new GraphQLError(text, { nodes, extensions }), graphqlCodes.validation)
}

function withCode(error: GraphQLError, code: string): GraphQLError {
  if (error.extensions.code === undefined) error.extensions.code = code
  return error
}
