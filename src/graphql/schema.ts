/**
 * `graphql.schema`: collects hand-written declarations and record classes, reports their problems, and builds the
 * schema when it is first used. Source: public API, GraphQL.
 */
import type { ErrorCode } from '../errors/error-codes.js'
import { openAccess, tokenAccess, type AccessRule } from '../auth/access.js'
import type { NamedRoles } from '../auth/role-list.js'
import { DeclarationError } from '../errors/declaration-error.js'
import { Problems } from '../errors/problems.js'
import { declareOptions, type DeclaredOptions, type OptionsOf } from '../options/declare-options.js'
import { option } from '../options/option.js'
import type { Class } from '../metadata/class.js'
import { buildSchema, type BuiltSchema, type SchemaDeclarations } from './build-schema.js'
import {
  argumentOptions,
  commonFieldOptions,
  fieldOptions,
  type ArgumentDeclaration,
  type GraphqlField,
  type FieldDeclarations,
  interceptorsExtension,
} from './declarations.js'
import {
  InjectedResolvers,
  type Resolve,
  type ResolverClass,
  type ResolveWith,
} from './injected-resolvers.js'
import type { AnyDecorator } from '../metadata/dialect.js'
import { entryOf } from '../extensions/custom-decorator.js'
import { sliceEvents } from './open-streams.js'
import { readTypeNotation } from './type-notation.js'

const injectionOptions = declareOptions({
  /** Tokens of the providers that a resolver function gets after `context`. */
  inject: option.any<readonly (Class | string | symbol)[]>(),
})

/** A field whose resolver may inject providers of the application. */
interface InjectableField
  extends Omit<GraphqlField, 'access' | 'resolve'>, Readonly<OptionsOf<typeof injectionOptions>> {
  /** A function, or a class with `static inject` and a method `resolve`, which is instantiated once at the start. */
  readonly resolve?: ResolveWith | ResolverClass
}

const rootOptions = declareOptions({
  /** Require a token. A string or a list requires one of these roles. */
  secured: option.any<boolean | string | readonly string[]>(),
  /** Do not require a token, for a public mutation. */
  noAuth: option.flag(),
  /** Custom decorators, which run around the operation for each time it selects the field: `[Throttle('3/m')]`. */
  use: option.any<readonly AnyDecorator[]>(),
})

/** A query, mutation or subscription of an application. */
export interface RootDefinition extends InjectableField, Readonly<OptionsOf<typeof rootOptions>> {}

const addedOptions = declareOptions({
  /**
   * The fields of the record that `resolve` reads. Callers need the right to read each of them. Default: all, so the
   * rules of all fields with `@Secured` apply.
   */
  needs: option.any<readonly string[]>(),
  /** Callers may read the result without the right to read the fields that it is computed from. Default false. */
  open: option.flag(),
})

/** A field of `addField`, for the type of a record or a hand-written type. */
export interface AddedFieldDefinition
  extends InjectableField, Readonly<OptionsOf<typeof addedOptions>> {}

/** Builds the schema. @returns `undefined` if there are problems */
export type BuildSchema = (
  declarations: SchemaDeclarations,
  problems: Problems,
) => BuiltSchema | undefined

export class Schema {
  readonly #declarations: SchemaDeclarations = {
    types: new Map(),
    queries: new Map(),
    mutations: new Map(),
    subscriptions: new Map(),
    added: new Map(),
    classes: new Set(),
  }
  readonly #problems = new Problems()
  /** Resolvers that inject providers of the application. */
  readonly resolvers = new InjectedResolvers()
  readonly #build: BuildSchema
  readonly #onChange: () => void
  #built: BuiltSchema | undefined

  /**
   * @param build default: builds the hand-written declarations, without records
   * @param onChange called when a declaration was added, so that the schema will be built again
   */
  constructor(
    build: BuildSchema = (declarations, problems) => buildSchema(declarations, undefined, problems),
    onChange: () => void = () => undefined,
  ) {
    this.#build = build
    this.#onChange = onChange
  }

  /** Declares an object type: `addType('Quote', { id: 'ID!', tags: '[String]' })`. */
  addType(name: string, fields: FieldDeclarations): this {
    this.#declareType('object', name, fields)
    return this.#change(() => this.#declarations.types.set(name, { kind: 'object', fields }))
  }

  /** Declares a type for arguments: `addInput('QuoteInput', { text: 'String!' })`. */
  addInput(name: string, fields: Readonly<Record<string, string | ArgumentDeclaration>>): this {
    this.#declareType('input', name, fields)
    return this.#change(() => this.#declarations.types.set(name, { kind: 'input', fields }))
  }

  /**
   * Declares an enum: `addEnum('Color', ['red', 'green'])`, or an object with the values that resolvers get by name.
   */
  addEnum(name: string, values: readonly string[] | Readonly<Record<string, unknown>>): this {
    const byName = isList(values) ? Object.fromEntries(values.map((key) => [key, key])) : values
    this.#declareType('enum', name, byName)
    return this.#change(() => this.#declarations.types.set(name, { kind: 'enum', values: byName }))
  }

  /**
   * Declares a query, open to every caller by default: `addQuery('quote', { type: 'Quote', args: { id: 'ID!' }, resolve
   * })`.
   */
  addQuery(name: string, definition: RootDefinition): this {
    return this.#addRoot('query', name, definition)
  }

  /** Declares a mutation. It requires a token, except with `noAuth: true`. */
  addMutation(name: string, definition: RootDefinition): this {
    return this.#addRoot('mutation', name, definition)
  }

  /**
   * Declares a subscription. Its `subscribe` returns an async iterable of events, which are objects with the key
   * `name`.
   */
  addSubscription(name: string, definition: RootDefinition): this {
    const subscription = definition.subscribe && { subscribe: sliceEvents(definition.subscribe) }
    if (subscription === undefined)
      this.#report(
        'NO_SUBSCRIBE',
        `Subscription "${name}" has no subscribe.`,
        'Add subscribe: a function that returns an async iterable.',
      )
    return this.#addRoot('subscription', name, { ...definition, ...subscription })
  }

  /** Adds a field with a resolver to a hand-written or generated type. */
  addField(type: string, name: string, definition: AddedFieldDefinition): this {
    const where = `${type}.${name}`
    this.#checkOptions(`GraphQL field ${where}`, addedDefinition, definition)
    this.#checkName(name, `Field "${where}"`)
    this.#checkField(where, definition)
    const fields = this.#declarations.added.get(type) ?? new Map<string, GraphqlField>()
    if (fields.has(name)) this.#duplicate(`Field "${where}"`)
    const { needs, open, ...field } = this.#withResolver(where, definition)
    const isPlain = needs === undefined && open === undefined
    fields.set(
      name,
      isPlain ? field : { ...field, extensions: { ...field.extensions, needs, open } },
    )
    return this.#change(() => this.#declarations.added.set(type, fields))
  }

  /** Generates the type, queries and mutations of a record class and of all records that its relations lead to. */
  fromOrm(record: Class): this {
    return this.#change(() => this.#declarations.classes.add(record))
  }

  /** The roles that `secured` of root fields names. */
  get namedRoles(): readonly NamedRoles[] {
    const { queries, mutations, subscriptions } = this.#declarations
    return [queries, mutations, subscriptions].flatMap((fields) =>
      [...fields].map(([name, { access }]) => ({
        where: `GraphQL ${name}`,
        roles: access?.roles ?? [],
      })),
    )
  }

  /** The classes of `fromOrm`. */
  get records(): readonly Class[] {
    return [...this.#declarations.classes]
  }

  /**
   * Returns the built schema. Builds it at the first call, and again after a declaration was added.
   *
   * @throws {DeclarationError} with the problems of all declarations
   */
  build(): BuiltSchema {
    if (this.#built !== undefined) return this.#built
    const problems = new Problems()
    problems.addAll(this.#problems.list)
    const built = this.#build(this.#declarations, problems)
    if (built === undefined || problems.count > 0) throw new DeclarationError(problems.list)
    this.#built = built
    return built
  }

  /** Replaces the resolver of a definition by a plain function. */
  #withResolver<D extends InjectableField>(
    where: string,
    { inject, resolve, ...field }: D,
  ): Omit<D, 'inject' | 'resolve'> & { resolve?: Resolve } {
    if (typeof resolve !== 'function') return field
    return { ...field, resolve: this.resolvers.register(where, resolve, inject) }
  }

  #addRoot(kind: keyof typeof rootMaps, name: string, definition: RootDefinition): this {
    const label = `${rootMaps[kind].label} "${name}"`
    const target = this.#declarations[rootMaps[kind].map]
    this.#checkOptions(`GraphQL ${kind} ${name}`, rootDefinition, definition)
    this.#checkName(name, label)
    this.#checkField(name, definition)
    if (kind !== 'subscription' && typeof definition.resolve !== 'function') {
      this.#report(
        'NO_RESOLVER',
        `${label} has no resolve.`,
        'Add resolve: (root, args, context) => …',
      )
    }
    if (target.has(name)) this.#duplicate(label)
    const { secured, noAuth, use, ...plain } = this.#withResolver(label, definition)
    const field = use === undefined ? plain : this.#withInterceptors(label, use, plain)
    const access = this.#readAccess(label, secured, noAuth)
    return this.#change(() => target.set(name, access === undefined ? field : { ...field, access }))
  }

  #withInterceptors<D extends { readonly extensions?: Readonly<Record<string, unknown>> }>(
    label: string,
    use: readonly unknown[],
    field: D,
  ): D {
    const interceptors = use.flatMap((decorator) => entryOf(decorator) ?? [])
    if (interceptors.length < use.length) {
      const remedy = "Pass decorators of createDecorator, called: use: [Throttle('3/m')]."
      this.#report(
        'DECORATOR_SPECIFICATION',
        `${label}: an element of use is not a custom decorator.`,
        remedy,
      )
    }
    return { ...field, extensions: { ...field.extensions, [interceptorsExtension]: interceptors } }
  }

  #readAccess(
    label: string,
    secured: RootDefinition['secured'],
    noAuth: boolean | undefined,
  ): AccessRule | undefined {
    if (secured !== undefined && secured !== false) {
      if (noAuth === true) {
        this.#report('CONTRADICTING_ACCESS', `${label} is both secured and noAuth.`, 'Keep one.')
      }
      if (secured === true) return tokenAccess
      return { ...tokenAccess, roles: typeof secured === 'string' ? [secured] : secured }
    }
    return noAuth === true ? openAccess : undefined
  }

  #declareType(kind: keyof typeof memberOptions | 'enum', name: string, members: object): void {
    this.#checkName(name, `Type "${name}"`)
    if (builtInNames.has(name)) {
      this.#report('RESERVED_NAME', `Type "${name}" has the name of a built-in type.`, 'Rename it.')
    }
    if (this.#declarations.types.has(name)) this.#duplicate(`Type "${name}"`)
    if (Object.keys(members).length === 0) {
      this.#report('EMPTY_TYPE', `Type "${name}" has no fields.`, 'Add at least one.')
    }
    for (const [member, declared] of Object.entries(members)) {
      this.#checkName(member, `${name}.${member}`)
      if (kind !== 'enum') this.#checkMember(memberOptions[kind], `${name}.${member}`, declared)
    }
  }

  #checkMember(options: DeclaredOptions, where: string, declared: unknown): void {
    if (typeof declared === 'string') this.#checkField(where, declared)
    if (typeof declared !== 'object' || declared === null) return
    this.#checkOptions(`GraphQL field ${where}`, options, declared)
    this.#checkField(where, declared as GraphqlField)
  }

  #checkField(where: string, declared: string | GraphqlField | ArgumentDeclaration): void {
    const field: Partial<GraphqlField> =
      typeof declared === 'string' ? { type: declared } : declared
    this.#checkType(where, field.type)
    for (const [name, argument] of Object.entries(field.args ?? {})) {
      this.#checkName(name, `${where}(${name})`)
      if (typeof argument === 'object')
        this.#checkOptions(`GraphQL ${where}(${name})`, argumentOptions, argument)
      this.#checkType(`${where}(${name})`, typeof argument === 'string' ? argument : argument.type)
    }
  }

  #checkOptions(where: string, declared: DeclaredOptions, options: unknown): void {
    this.#problems.addAll(declared.findProblems(options, where))
  }

  #checkType(where: string, type: unknown): void {
    if (typeof type === 'string' && readTypeNotation(type) !== undefined) return
    this.#report(
      'INVALID_TYPE_NOTATION',
      `GraphQL ${where}: ${typeof type === 'string' ? `"${type}"` : String(type)} is not a type.`,
      'Write a name, [Name] for a list, and ! after a type that is never null: [Int!]!.',
    )
  }

  #checkName(name: string, label: string): void {
    if (/^(?!__)[A-Za-z_]\w*$/.test(name)) return
    this.#report(
      'INVALID_NAME',
      `GraphQL ${label}: this name cannot be used.`,
      'Use letters, digits and _. A name must not begin with a digit or __.',
    )
  }

  #duplicate(label: string): void {
    this.#report('DUPLICATE_NAME', `GraphQL ${label} is declared twice.`, 'Remove or rename one.')
  }

  #report(code: ErrorCode, message: string, remedy: string): void {
    this.#problems.add({ code, message, remedy })
    this.#reset()
  }

  #change(change: () => unknown): this {
    change()
    this.#reset()
    return this
  }

  #reset(): void {
    this.#built = undefined
    this.#onChange()
  }
}

const rootMaps = {
  query: { map: 'queries', label: 'Query' },
  mutation: { map: 'mutations', label: 'Mutation' },
  subscription: { map: 'subscriptions', label: 'Subscription' },
} as const

const builtInNames: ReadonlySet<string> = new Set([
  ...['ID', 'String', 'Int', 'Float', 'Boolean'],
  ...['Query', 'Mutation', 'Subscription'],
])

const memberOptions = { object: fieldOptions, input: argumentOptions } as const
const injectableOptions = { ...commonFieldOptions.all, ...injectionOptions.all }
const rootDefinition = declareOptions({ ...injectableOptions, ...rootOptions.all })
const addedDefinition = declareOptions({ ...injectableOptions, ...addedOptions.all })

function isList(values: object): values is readonly string[] {
  return Array.isArray(values)
}
