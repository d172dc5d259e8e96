/**
 * A schema in the making: plain declarations by hand, record classes for the generator, and the built thing when it is
 * first asked for. Source: specification, Hand-built GraphQL schema; public API, GraphQL.
 */
import { openAccess, tokenAccess, type AccessRule } from '../auth/access.js'
import { DeclarationError, type Problem } from '../errors/declaration-error.js'
import { refuseUnknownNames } from '../errors/unknown-options.js'
import type { Class } from '../metadata/class-metadata.js'
import { buildSchema, type BuiltSchema, type SchemaParts } from './build-schema.js'
import {
  argumentNames,
  type ArgumentDeclaration,
  type FieldDeclaration,
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
import { sliceEvents } from './subscriber-slots.js'
import { readTypeNotation } from './type-notation.js'

/** A field whose resolver may need providers of the application. */
interface InjectableField extends Omit<FieldDeclaration, 'access' | 'resolve'> {
  /** A function, or a class with `static inject` and a method `resolve`, of which one instance is made at the start. */
  readonly resolve?: ResolveWith | ResolverClass
  /** What `resolve`, a function, is called with behind `context`: providers, by their tokens. */
  readonly inject?: readonly (Class | string | symbol)[]
}

/** A query, mutation or subscription as applications write it. */
export interface RootDefinition extends InjectableField {
  /** A token is needed; text and lists are roles, any of which will do. */
  readonly secured?: boolean | string | readonly string[]
  /** Nobody is asked for a token: what a public mutation says. */
  readonly noAuth?: boolean
  /** Decorators of one's own around the operation, for each time it asks for the field: `[Throttle('3/m')]`. */
  readonly use?: readonly AnyDecorator[]
}

/** A field that is added to a type of records, or to one declared by hand. */
export interface AddedFieldDefinition extends InjectableField {
  /** Properties of the record that `resolve` reads from its root: they are loaded though the client did not ask. */
  readonly needs?: readonly string[]
}

/** Makes what the schema is built of besides its own declarations. */
export type BuildSchema = (parts: SchemaParts, problems: Problem[]) => BuiltSchema | undefined

export class Schema {
  readonly #parts: SchemaParts = {
    types: new Map(),
    queries: new Map(),
    mutations: new Map(),
    subscriptions: new Map(),
    added: new Map(),
    classes: new Set(),
  }
  readonly #problems: Problem[] = []
  /** Those that need providers of the application. */
  readonly resolvers = new InjectedResolvers()
  readonly #build: BuildSchema
  #built: BuiltSchema | undefined

  /** @param build default: from the declarations alone, without record classes */
  constructor(build: BuildSchema = (parts, problems) => buildSchema(parts, undefined, problems)) {
    this.#build = build
  }

  /** Declares an object type: `addType('Quote', { id: 'ID!', tags: '[String]' })`. */
  addType(name: string, fields: FieldDeclarations): this {
    this.#declareType('object', name, fields)
    return this.#change(() => this.#parts.types.set(name, { kind: 'object', fields }))
  }

  /** Declares a type for arguments: `addInput('QuoteInput', { text: 'String!' })`. */
  addInput(name: string, fields: Readonly<Record<string, string | ArgumentDeclaration>>): this {
    this.#declareType('input', name, fields)
    return this.#change(() => this.#parts.types.set(name, { kind: 'input', fields }))
  }

  /** Declares an enum: `addEnum('Color', ['red', 'green'])`, or the values that resolvers see by name. */
  addEnum(name: string, values: readonly string[] | Readonly<Record<string, unknown>>): this {
    const byName = isList(values) ? Object.fromEntries(values.map((key) => [key, key])) : values
    this.#declareType('enum', name, byName)
    return this.#change(() => this.#parts.types.set(name, { kind: 'enum', values: byName }))
  }

  /** Declares a query, open to everybody unless it says otherwise: `addQuery('quote', { type: 'Quote', args: { id: 'ID!' }, resolve })`. */
  addQuery(name: string, definition: RootDefinition): this {
    return this.#addRoot('query', name, definition)
  }

  /** Declares a mutation, which needs a token unless it says otherwise: `noAuth: true`. */
  addMutation(name: string, definition: RootDefinition): this {
    return this.#addRoot('mutation', name, definition)
  }

  /** Declares a subscription; its `subscribe` gives an async iterable of events, each an object with the key `name`. */
  addSubscription(name: string, definition: RootDefinition): this {
    const subscription = definition.subscribe && { subscribe: sliceEvents(definition.subscribe) }
    if (subscription === undefined)
      this.#report(
        'NO_SUBSCRIBE',
        `Subscription "${name}" has no subscribe.`,
        'Give it subscribe: a function that answers an async iterable.',
      )
    return this.#addRoot('subscription', name, { ...definition, ...subscription })
  }

  /** Adds a field with a resolver of its own to a type, generated or not. */
  addField(type: string, name: string, definition: AddedFieldDefinition): this {
    const where = `${type}.${name}`
    refuseUnknownNames(`GraphQL field ${where}`, definition, addedNames, this.#problems)
    this.#checkName(name, `Field "${where}"`)
    this.#checkField(where, definition)
    const fields = this.#parts.added.get(type) ?? new Map<string, FieldDeclaration>()
    if (fields.has(name)) this.#duplicate(`Field "${where}"`)
    const { needs, ...field } = this.#withResolver(where, definition)
    const extensions = needs === undefined ? field.extensions : { ...field.extensions, needs }
    fields.set(name, extensions === undefined ? field : { ...field, extensions })
    return this.#change(() => this.#parts.added.set(type, fields))
  }

  /** Takes a record class: its type, queries and mutations are generated. Those it leads to by relations come along. */
  fromOrm(record: Class): this {
    return this.#change(() => this.#parts.classes.add(record))
  }

  /** The classes of `fromOrm`. */
  get records(): readonly Class[] {
    return [...this.#parts.classes]
  }

  /**
   * The built schema; built when first asked for, and again after something was added.
   *
   * @throws {DeclarationError} all mistakes of all declarations
   */
  build(): BuiltSchema {
    if (this.#built !== undefined) return this.#built
    const problems = [...this.#problems]
    const built = this.#build(this.#parts, problems)
    if (built === undefined || problems.length > 0) throw new DeclarationError(problems)
    this.#built = built
    return built
  }

  /** The definition with a plain function in the place of its resolver. */
  #withResolver<D extends InjectableField>(
    where: string,
    { inject, resolve, ...field }: D,
  ): Omit<D, 'inject' | 'resolve'> & { resolve?: Resolve } {
    if (typeof resolve !== 'function') return field
    return { ...field, resolve: this.resolvers.register(where, resolve, inject) }
  }

  #addRoot(kind: keyof typeof rootMaps, name: string, definition: RootDefinition): this {
    const what = `${rootMaps[kind].label} "${name}"`
    const target = this.#parts[rootMaps[kind].map]
    refuseUnknownNames(`GraphQL ${kind} ${name}`, definition, rootNames, this.#problems)
    this.#checkName(name, what)
    this.#checkField(name, definition)
    if (kind !== 'subscription' && typeof definition.resolve !== 'function') {
      this.#report(
        'NO_RESOLVER',
        `${what} has no resolve.`,
        'Give it resolve: (root, args, context) => …',
      )
    }
    if (target.has(name)) this.#duplicate(what)
    const { secured, noAuth, use, ...plain } = this.#withResolver(what, definition)
    const field = use === undefined ? plain : this.#withInterceptors(what, use, plain)
    const access = this.#readAccess(what, secured, noAuth)
    return this.#change(() => target.set(name, access === undefined ? field : { ...field, access }))
  }

  #withInterceptors<D extends { readonly extensions?: Readonly<Record<string, unknown>> }>(
    what: string,
    use: readonly unknown[],
    field: D,
  ): D {
    const interceptors = use.flatMap((decorator) => entryOf(decorator) ?? [])
    if (interceptors.length < use.length) {
      const remedy = "Give what createDecorator made, called: use: [Throttle('3/m')]."
      this.#report('DECORATOR_SPECIFICATION', `${what}: use names what is no decorator.`, remedy)
    }
    return { ...field, extensions: { ...field.extensions, [interceptorsExtension]: interceptors } }
  }

  #readAccess(
    what: string,
    secured: RootDefinition['secured'],
    noAuth: boolean | undefined,
  ): AccessRule | undefined {
    if (secured !== undefined && secured !== false) {
      if (noAuth === true) {
        this.#report('CONTRADICTING_ACCESS', `${what} is both secured and noAuth.`, 'Keep one.')
      }
      if (secured === true) return tokenAccess
      return { ...tokenAccess, roles: typeof secured === 'string' ? [secured] : secured }
    }
    return noAuth === true ? openAccess : undefined
  }

  #declareType(kind: keyof typeof memberNames | 'enum', name: string, members: object): void {
    this.#checkName(name, `Type "${name}"`)
    if (builtInNames.has(name)) {
      this.#report('RESERVED_NAME', `Type "${name}" has the name of a built-in type.`, 'Rename it.')
    }
    if (this.#parts.types.has(name)) this.#duplicate(`Type "${name}"`)
    if (Object.keys(members).length === 0) {
      this.#report('EMPTY_TYPE', `Type "${name}" has no fields.`, 'Give it at least one.')
    }
    for (const [member, declared] of Object.entries(members)) {
      this.#checkName(member, `${name}.${member}`)
      if (kind !== 'enum') this.#checkMember(memberNames[kind], `${name}.${member}`, declared)
    }
  }

  #checkMember(
    allowedNames: Readonly<Record<string, true>>,
    where: string,
    declared: unknown,
  ): void {
    if (typeof declared === 'string') this.#checkField(where, declared)
    if (typeof declared !== 'object' || declared === null) return
    refuseUnknownNames(`GraphQL field ${where}`, declared, allowedNames, this.#problems)
    this.#checkField(where, declared as FieldDeclaration)
  }

  #checkField(where: string, declared: string | FieldDeclaration | ArgumentDeclaration): void {
    const field: Partial<FieldDeclaration> =
      typeof declared === 'string' ? { type: declared } : declared
    this.#checkType(where, field.type)
    for (const [name, argument] of Object.entries(field.args ?? {})) {
      this.#checkName(name, `${where}(${name})`)
      if (typeof argument === 'object')
        refuseUnknownNames(`GraphQL ${where}(${name})`, argument, argumentNames, this.#problems)
      this.#checkType(`${where}(${name})`, typeof argument === 'string' ? argument : argument.type)
    }
  }

  #checkType(where: string, type: unknown): void {
    if (typeof type === 'string' && readTypeNotation(type) !== undefined) return
    this.#report(
      'INVALID_TYPE_NOTATION',
      `GraphQL ${where}: ${typeof type === 'string' ? `"${type}"` : String(type)} is no type.`,
      'Write a name, [Name] for a list, ! behind what is never null: [Int!]!.',
    )
  }

  #checkName(name: string, what: string): void {
    if (/^(?!__)[A-Za-z_]\w*$/.test(name)) return
    this.#report(
      'INVALID_NAME',
      `GraphQL ${what}: this name cannot be used.`,
      'Use letters, digits and _, no digit first, not __ first.',
    )
  }

  #duplicate(what: string): void {
    this.#report('DUPLICATE_NAME', `GraphQL ${what} is declared twice.`, 'Remove or rename one.')
  }

  #report(code: string, message: string, remedy: string): void {
    this.#problems.push({ code, message, remedy })
    this.#built = undefined
  }

  #change(change: () => unknown): this {
    change()
    this.#built = undefined
    return this
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

const fieldNames = {
  type: true,
  args: true,
  description: true,
  deprecated: true,
  resolve: true,
  inject: true,
  subscribe: true,
  extensions: true,
} as const
/** Of `addType`, whose fields take no providers. */
const plainNames: Readonly<Record<keyof FieldDeclaration, true>> = {
  type: true,
  args: true,
  description: true,
  deprecated: true,
  resolve: true,
  subscribe: true,
  access: true,
  extensions: true,
}
const memberNames = { object: plainNames, input: argumentNames } as const
const rootNames: Readonly<Record<keyof RootDefinition, true>> = {
  ...fieldNames,
  secured: true,
  noAuth: true,
  use: true,
}
const addedNames: Readonly<Record<keyof AddedFieldDefinition, true>> = {
  ...fieldNames,
  needs: true,
}

function isList(values: object): values is readonly string[] {
  return Array.isArray(values)
}
