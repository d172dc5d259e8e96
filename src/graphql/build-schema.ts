/**
 * Builds the schema of graphql-js from declarations, and reports declarations that contradict each other as problems.
 */
import type { ErrorCode } from '../errors/error-codes.js'
import type {
  GraphQLArgumentConfig,
  GraphQLEnumTypeConfig,
  GraphQLFieldConfig,
  GraphQLFieldConfigMap,
  GraphQLInputType,
  GraphQLInterfaceType,
  GraphQLNamedType,
  GraphQLObjectType,
  GraphQLOutputType,
  GraphQLSchema,
  GraphQLType,
  GraphQLDirective,
} from 'graphql'
import {
  type GraphqlField,
  type TypeDeclaration,
  type GeneratedDeclarations,
  type ArgumentDeclaration,
  isGenerated,
} from './declarations.js'
import {
  readTypeNotation,
  toGraphqlType,
  describeInput,
  describeOutput,
  describeType,
  describeValue,
  rootDescriptions,
} from './type-notation.js'
import { withDemands, type AccessRule } from '../auth/access.js'
import { attempt } from '../core/maybe-promise.js'
import type { Problems } from '../errors/problems.js'
import { didYouMean } from '../errors/did-you-mean.js'
import { attributeWriteError } from '../errors/field-errors.js'
import type { Class } from '../metadata/class.js'
import type { FieldCosts } from './measure.js'
import { graphqlLibrary, type GraphqlLibrary } from './library.js'
import type { Planner } from './planner-contract.js'

/**
 * Finds generated inputs, scalars and enums that nothing refers to, such as filters of kinds that no field has.
 *
 * @returns the names of types that can be removed; hand-written declarations are never among them
 */
function unusedTypes(
  { types, queries, mutations, subscriptions, added }: SchemaDeclarations,
  generated: GeneratedDeclarations | undefined,
): string[] {
  const usedNames = new Set<string>()
  const visit = (notation: string): void => {
    const name = readTypeNotation(notation)?.name
    if (name === undefined || usedNames.has(name)) return
    usedNames.add(name)
    const type = types.get(name)
    if (type !== undefined) for (const inner of notationsOf(type)) visit(inner)
  }
  const isRoot = (name: string, { kind }: TypeDeclaration): boolean =>
    kind === 'object' || kind === 'interface' || generated?.types.has(name) !== true
  for (const [name, type] of types) if (isRoot(name, type)) visit(name)
  for (const fields of [queries, mutations, subscriptions, ...added.values()])
    for (const field of fields.values()) for (const notation of ofField(field)) visit(notation)
  return [...types.keys()].filter((name) => !usedNames.has(name))
}

function notationsOf(type: TypeDeclaration): string[] {
  if (type.kind === 'scalar' || type.kind === 'enum') return []
  return Object.values(type.fields).flatMap(ofField)
}

function ofField(field: string | Pick<GraphqlField, 'type' | 'args'>): string[] {
  if (typeof field === 'string') return [field]
  return [field.type, ...Object.values(field.args ?? {}).flatMap(ofField)]
}

/** All declarations of one schema. */
export interface SchemaDeclarations {
  readonly types: Map<string, TypeDeclaration>
  readonly queries: Map<string, GraphqlField>
  readonly mutations: Map<string, GraphqlField>
  readonly subscriptions: Map<string, GraphqlField>
  /** Fields of `schema.addField`, by type and field name. */
  readonly added: Map<string, Map<string, GraphqlField>>
  readonly classes: Set<Class>
}

export interface BuiltSchema {
  readonly schema: GraphQLSchema
  readonly planner: Planner | undefined
  readonly fieldCosts?: FieldCosts | undefined
  /** Names of secured fields. Error messages never suggest them. */
  readonly securedNames?: ReadonlySet<string> | undefined
  /** As in `GeneratedDeclarations`. */
  readonly recordOfType?: ReadonlyMap<string, string> | undefined
}

/** The key of a root field's access rule in its `extensions`. */
const accessExtension = 'filigreeAccess'

/**
 * @param generated the declarations of record classes; `undefined` if there are none
 * @returns `undefined` if there are problems
 */
export function buildSchema(
  declarations: SchemaDeclarations,
  generated: GeneratedDeclarations | undefined,
  problems: Problems,
): BuiltSchema | undefined {
  const merged = merge(declarations, generated, problems)
  for (const name of unusedTypes(merged, generated)) merged.types.delete(name)
  const schema = buildOrReport(new SchemaBuilder(merged, problems), problems)
  if (schema === undefined || problems.count > 0) return undefined
  for (const { message } of graphqlLibrary().validateSchema(schema)) {
    problems.add({ code: 'INVALID_SCHEMA', message: `GraphQL: ${message}`, remedy: '' })
  }
  if (problems.count > 0) return undefined
  const planner = generated?.createPlanner?.(schema)
  const { fieldCosts, securedNames, recordOfType } = generated ?? {}
  return { schema, planner, fieldCosts, securedNames, recordOfType }
}

/** graphql-js throws for some mistakes. Its error is reported only if no problem explains it already. */
function buildOrReport(builder: SchemaBuilder, problems: Problems): GraphQLSchema | undefined {
  try {
    return builder.build()
  } catch (error) {
    if (!(error instanceof Error)) throw error
    if (problems.count === 0) {
      problems.add({ code: 'INVALID_SCHEMA', message: `GraphQL: ${error.message}`, remedy: '' })
    }
    return undefined
  }
}

function merge(
  declarations: SchemaDeclarations,
  generated: GeneratedDeclarations | undefined,
  problems: Problems,
): SchemaDeclarations {
  if (generated === undefined) return declarations
  const mergeKind = <T>(
    label: string,
    handWritten: Map<string, T>,
    generatedOnes: ReadonlyMap<string, T>,
  ) => {
    for (const name of generatedOnes.keys()) {
      if (!handWritten.has(name)) continue
      problems.add({
        code: 'DUPLICATE_NAME',
        message: `GraphQL ${label} "${name}" is declared by hand and generated from a record.`,
        remedy: 'Rename one; @Record({ name, plural }) renames the generated.',
      })
    }
    return new Map([...generatedOnes, ...handWritten])
  }
  return {
    ...declarations,
    added: new Map([...declarations.added, ...(generated.added ?? [])]),
    types: mergeKind('type', declarations.types, generated.types),
    queries: mergeKind('query', declarations.queries, generated.queries),
    mutations: mergeKind('mutation', declarations.mutations, generated.mutations),
    subscriptions: mergeKind('subscription', declarations.subscriptions, generated.subscriptions),
  }
}

class SchemaBuilder {
  readonly #declarations: SchemaDeclarations
  readonly #problems: Problems
  readonly #library: GraphqlLibrary = graphqlLibrary()
  readonly #named = new Map<string, GraphQLNamedType>()

  constructor(declarations: SchemaDeclarations, problems: Problems) {
    this.#declarations = declarations
    this.#problems = problems
    for (const scalar of this.#library.specifiedScalarTypes) this.#named.set(scalar.name, scalar)
  }

  build(): GraphQLSchema {
    const { types, queries, mutations, subscriptions, added } = this.#declarations
    for (const [name, declared] of types) this.#named.set(name, this.#toNamed(name, declared))
    for (const type of added.keys()) this.#checkAdded(type)
    // Without the check for problems, rejected records would be reported a second time here.
    if (queries.size === 0 && this.#problems.count === 0) {
      this.#report('NO_QUERIES', 'GraphQL: the schema has no query.', 'Add one: schema.addQuery.')
    }
    return new this.#library.GraphQLSchema({
      query: this.#toRoot('Query', queries),
      mutation: mutations.size === 0 ? null : this.#toRoot('Mutation', mutations),
      subscription: subscriptions.size === 0 ? null : this.#toRoot('Subscription', subscriptions),
      directives: [...this.#library.specifiedDirectives, liveDirective()],
      types: [...types.keys()].flatMap((name) => this.#named.get(name) ?? []),
    })
  }

  #checkAdded(type: string): void {
    const declared = this.#declarations.types.get(type)
    if (declared?.kind === 'object') {
      for (const field of this.#declarations.added.get(type)?.keys() ?? []) {
        if (!Object.hasOwn(declared.fields, field)) continue
        const message = `GraphQL Field "${type}.${field}" is declared twice.`
        this.#report('DUPLICATE_NAME', message, 'Remove or rename one.')
      }
      return
    }
    const objects = [...this.#declarations.types].filter(([, { kind }]) => kind === 'object')
    const hint = didYouMean(
      type,
      objects.map(([name]) => name),
    )
    this.#report('UNKNOWN_TYPE', `GraphQL addField: there is no object type "${type}".`, hint)
  }

  #toRoot(name: string, fields: ReadonlyMap<string, GraphqlField>): GraphQLObjectType {
    return new this.#library.GraphQLObjectType({
      name,
      description: rootDescriptions[name],
      fields: () => this.#toFields(name, fields),
    })
  }

  #toNamed(name: string, declared: TypeDeclaration): GraphQLNamedType {
    const description = declared.description ?? describeType(name, declared)
    if (declared.kind === 'enum') {
      const values: GraphQLEnumTypeConfig['values'] = {}
      for (const [key, value] of Object.entries(declared.values))
        values[key] = { value, description: declared.meanings?.[key] ?? describeValue(key, value) }
      return new this.#library.GraphQLEnumType({ name, description, values })
    }
    if (declared.kind === 'scalar') {
      const { read: parseValue, write: serialize } = declared
      return new this.#library.GraphQLScalarType({ name, description, parseValue, serialize })
    }
    if (declared.kind === 'interface') return this.#toInterface(name, description, declared)
    const { extensions } = declared
    if (declared.kind === 'input') {
      const fields = () => this.#toArguments(name, declared.fields)
      return new this.#library.GraphQLInputObjectType({ name, description, extensions, fields })
    }
    const fields = () =>
      this.#toFields(
        name,
        new Map([
          ...Object.entries(declared.fields),
          ...(this.#declarations.added.get(name) ?? []),
        ]),
      )
    const interfaces = () =>
      (declared.interfaces ?? []).map((one) => this.#named.get(one) as GraphQLInterfaceType)
    const config = { name, description, extensions, fields, interfaces }
    return new this.#library.GraphQLObjectType(config)
  }

  #toInterface(
    name: string,
    description: string,
    { fields, typeOf }: Extract<TypeDeclaration, { kind: 'interface' }>,
  ): GraphQLNamedType {
    return new this.#library.GraphQLInterfaceType({
      name,
      description,
      fields: () => this.#toFields(name, new Map(Object.entries(fields))),
      resolveType: typeOf,
    })
  }

  #toFields(
    owner: string,
    fields: ReadonlyMap<string, string | GraphqlField>,
  ): GraphQLFieldConfigMap<unknown, unknown> {
    const configs: GraphQLFieldConfigMap<unknown, unknown> = {}
    for (const [name, declared] of fields) {
      const field = typeof declared === 'string' ? { type: declared } : declared
      const where = `${owner}.${name}`
      const isHandWritten = owner === 'Mutation' && !isGenerated(field)
      configs[name] = this.#toField(where, isHandWritten ? attributingErrors(where, field) : field)
    }
    return configs
  }

  #toField(where: string, field: GraphqlField): GraphQLFieldConfig<unknown, unknown> {
    // eslint-disable-next-line @typescript-eslint/unbound-method -- by contract they need no `this`
    const { resolve, subscribe, access, extensions } = field
    const description = field.description ?? describeOutput(field.type)
    return {
      type: this.#toOutput(where, field.type),
      args: this.#toArguments(where, field.args ?? {}),
      description: withDemands(description, access),
      deprecationReason: field.deprecated,
      extensions: access === undefined ? extensions : { ...extensions, [accessExtension]: access },
      ...(resolve && { resolve }),
      ...(subscribe && { subscribe }),
    }
  }

  #toArguments(
    where: string,
    declared: Readonly<Record<string, string | ArgumentDeclaration>>,
  ): Record<string, GraphQLArgumentConfig> {
    const configs: Record<string, GraphQLArgumentConfig> = {}
    for (const [name, declaration] of Object.entries(declared)) {
      const argument = typeof declaration === 'string' ? { type: declaration } : declaration
      configs[name] = {
        type: this.#toInput(`${where}.${name}`, argument.type),
        defaultValue: argument.default,
        description: argument.description ?? describeInput(argument),
        deprecationReason: argument.deprecated,
        extensions: argument.extensions,
      }
    }
    return configs
  }

  #toOutput(where: string, text: string): GraphQLOutputType {
    const type = this.#toType(where, text)
    if (type === undefined || this.#library.isOutputType(type)) {
      return type ?? this.#library.GraphQLString
    }
    const message = `GraphQL ${where}: ${text} is an input type.`
    this.#report('WRONG_TYPE', message, 'Fields give object types, enums and scalars.')
    return this.#library.GraphQLString
  }

  #toInput(where: string, text: string): GraphQLInputType {
    const type = this.#toType(where, text, 'addInput')
    if (type === undefined || this.#library.isInputType(type)) {
      return type ?? this.#library.GraphQLString
    }
    const message = `GraphQL ${where}: ${text} is an object type.`
    this.#report('WRONG_TYPE', message, 'Arguments take input types (schema.addInput) and scalars.')
    return this.#library.GraphQLString
  }

  /** Reports unknown names only. An invalid notation was reported when it was declared. */
  #toType(
    where: string,
    text: string,
    adds: 'addType' | 'addInput' = 'addType',
  ): GraphQLType | undefined {
    const type = toGraphqlType(text, (name) => this.#named.get(name))
    const name = type === undefined ? readTypeNotation(text)?.name : undefined
    if (name !== undefined) {
      const hint = didYouMean(name, this.#named.keys())
      const remedy =
        `${hint} Declare it with schema.${adds}, or with schema.addEnum where it is one of some values; the types of a record come by schema.fromOrm.`.trim()
      this.#report('UNKNOWN_TYPE', `GraphQL ${where}: unknown type "${name}".`, remedy)
    }
    return type
  }

  #report(code: ErrorCode, message: string, remedy: string): void {
    this.#problems.add({ code, message, remedy })
  }
}

/**
 * Wraps the resolver of a hand-written mutation: a validation error about a value that the client did not send becomes
 * an internal error, because the resolver itself wrote that value.
 */
function attributingErrors(where: string, field: GraphqlField): GraphqlField {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- by contract it needs no `this`
  const { resolve } = field
  if (resolve === undefined) return field
  const handler = { name: where }
  return {
    ...field,
    resolve: (parent, args, context, info) =>
      attempt(
        () => resolve(parent, args, context, info),
        (error) => {
          throw attributeWriteError(error, [args], handler)
        },
      ),
  }
}

/** The access rule that a root field was declared with. */
export function accessOf(extensions: Readonly<Record<string, unknown>>): AccessRule | undefined {
  return extensions[accessExtension] as AccessRule | undefined
}

let directive: GraphQLDirective | undefined

/** The directive `@live` of live queries. It is the same object in every schema. */
export function liveDirective(): GraphQLDirective {
  const { DirectiveLocation, GraphQLBoolean, GraphQLDirective, GraphQLNonNull } = graphqlLibrary()
  directive ??= new GraphQLDirective({
    name: 'live',
    description:
      'A live query: sends its result once, and then a diff whenever the result changes. Requires Accept: text/event-stream or graphql-transport-ws.',
    locations: [DirectiveLocation.QUERY],
    args: {
      whole: {
        type: new GraphQLNonNull(GraphQLBoolean),
        defaultValue: false,
        description: 'Send the complete result each time, for clients that cannot apply diffs.',
      },
    },
  })
  return directive
}
