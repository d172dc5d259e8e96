/**
 * The declarations that a schema is built from, hand-written or generated: plain data, with types in the type notation
 * (`[Int!]!`). Source: public API, GraphQL.
 */

import { declareOptions, type OptionsOf } from '../options/declare-options.js'
import { option } from '../options/option.js'
import type { GraphQLSchema, GraphQLResolveInfo } from 'graphql'
import type { Problems } from '../errors/problems.js'
import type { Class } from '../metadata/class.js'
import type { Database } from '../records/database.js'
import type { FieldCosts } from './measure.js'
import type { Planner } from './planner-contract.js'
import type { AccessRule } from '../auth/access.js'
import type { VisibleMembers } from '../openapi/visible-members.js'

/** The key of `GeneratedField` in the `extensions` of a generated field. */
export const generatedKey = 'filigree'

export function isGenerated(field: {
  readonly extensions?: Readonly<Record<string, unknown>> | undefined
}): boolean {
  return field.extensions?.[generatedKey] !== undefined
}

/**
 * The rule for the result of a mutation, in addition to the rule of the write. A caller whom it does not admit may only
 * select the key.
 */
export interface ResultGuard {
  readonly rule: AccessRule
  /** The names of the key's fields. */
  readonly keys: readonly string[]
  readonly message: string
}

/** The key of the `ResultGuard` in the `extensions` of a generated mutation. */
export const resultGuardKey = 'filigreeResult'

export function resultGuardOf(field: {
  readonly extensions?: Readonly<Record<string, unknown>> | undefined
}): ResultGuard | undefined {
  return field.extensions?.[resultGuardKey] as ResultGuard | undefined
}

/** The input of `generateRecords` in addition to the record classes. */
export interface GenerateContext {
  /**
   * Returns the database. Call it in resolvers only: an instance in a module gets the application's database after its
   * schema is built.
   *
   * @throws {Error} if the instance has no database
   */
  readonly database: () => Database
  /** As `database`, also for a schema that is built without a database. */
  readonly findDatabase: () => Database | undefined
  /** Whether records get subscriptions. */
  readonly subscriptions: boolean
  /**
   * Exposes only these records, without the records that relations lead to. The value says whether clients may write
   * them. Default: all records of the schema and all records that relations lead to.
   */
  readonly only?: ReadonlyMap<Class, boolean> | undefined
  /** What the schema names. Default: everything. */
  readonly visible?: VisibleMembers | undefined
  /** Whether ids are global, as Relay clients require. */
  readonly relay: boolean
  /** The maximum of `limit` and `first`. Larger numbers are rejected. */
  readonly listMax: number
  /** The maximum number of changes that wait for one subscriber. Call it in resolvers only, as `database`. */
  readonly maxEvents: () => number
  readonly now: () => number
  /** Receives the developer's mistakes, such as names that collide. */
  readonly problems: Problems
  /**
   * Fields of `schema.addField`, by type and field name. The generator avoids names that collide, and returns the
   * fields of records as `added`.
   */
  readonly added: ReadonlyMap<string, ReadonlyMap<string, GraphqlField>>
}

/** The declarations generated from records. They may refer to hand-written types. */
export interface GeneratedDeclarations {
  /** Objects, inputs and enums by name: `Product`, `ProductInput`, `ProductWhere`, `Color`. */
  readonly types: ReadonlyMap<string, TypeDeclaration>
  readonly queries: ReadonlyMap<string, GraphqlField>
  readonly mutations: ReadonlyMap<string, GraphqlField>
  readonly subscriptions: ReadonlyMap<string, GraphqlField>
  /**
   * Creates the planner, which compiles root fields to SQL statements. Called once with the built schema, whose fields
   * have the `extensions` of their declarations. Without it, every field is resolved by its resolver.
   */
  readonly createPlanner?: (schema: GraphQLSchema) => Planner
  /** The fields of `schema.addField` for types of records, by type and field name, with access checks. */
  readonly added?: ReadonlyMap<string, Map<string, GraphqlField>>
  /** Names of fields and relations with `@Secured`. Error messages never suggest them. */
  readonly securedNames?: ReadonlySet<string>
  /** The records that types were generated for, by the name of the type. Types of several records have none. */
  readonly recordOfType?: ReadonlyMap<string, string>
  /** The database costs of generated fields. */
  readonly fieldCosts?: FieldCosts
}

/** Called once for each schema with all classes of `fromOrm`. It must not load the package `graphql`. */
export type GenerateRecords = (
  classes: readonly Class[],
  context: GenerateContext,
) => GeneratedDeclarations

/** The key of a root field's decorators in its `extensions`. */
export const interceptorsExtension = 'filigreeInterceptors'

/** Values of a field's arguments, with variables replaced and defaults applied. */
export type FieldArguments = Readonly<Record<string, unknown>>

export const argumentOptions = declareOptions({
  /** `ID!`, `[Int!]`, `ProductWhere`. */
  type: option.any<string>(),
  /** The default as a value, not as text: `10`, `['a']`. */
  default: option.any<unknown>(),
  description: option.any<string>(),
  /** Why clients should stop using it. */
  deprecated: option.any<string>(),
  /** Become the `extensions` of the built argument. */
  extensions: option.any<Readonly<Record<string, unknown>>>(),
})

/** An argument of a field, or a field of an input type. */
export interface ArgumentDeclaration extends Readonly<OptionsOf<typeof argumentOptions>> {
  readonly type: string
}

export const commonFieldOptions = declareOptions({
  /** `Quote`, `[Quote!]!`. */
  type: option.any<string>(),
  /** Arguments by name. A string is the type. */
  args: option.any<Readonly<Record<string, string | ArgumentDeclaration>>>(),
  description: option.any<string>(),
  /** Why clients should stop using it. The IDE shows the text. */
  deprecated: option.any<string>(),
  resolve: option.any<unknown>(),
  subscribe: option.any<unknown>(),
  /** Become the `extensions` of the built field. Keys that begin with `filigree` are reserved for the framework. */
  extensions: option.any<Readonly<Record<string, unknown>>>(),
})

export const fieldOptions = declareOptions({
  ...commonFieldOptions.all,
  /** Root fields only: who may call it. Default: queries are open, mutations require a token. */
  access: option.any<AccessRule>(),
})

/** A field of an object type; queries, mutations and subscriptions are such fields too. */
export interface GraphqlField extends Readonly<OptionsOf<typeof fieldOptions>> {
  readonly type: string
  /**
   * Returns the value or a promise of it. Default: the property of the parent value. If the parent has no such
   * property, the field is null and the result has an error. Called without `this`.
   *
   * @param root the parent value; undefined for root fields
   * @param context the context of `execute`; the endpoint passes a `RequestContext` (`caller.ts`)
   */
  resolve?(root: unknown, args: FieldArguments, context: unknown, info: GraphQLResolveInfo): unknown
  /**
   * Subscriptions only. Returns an async iterable of events, which `resolve` gets as root. Without `resolve` an event
   * is an object with the field's name as its key.
   */
  subscribe?(
    root: unknown,
    args: FieldArguments,
    context: unknown,
    info: GraphQLResolveInfo,
  ): unknown
}

/** Fields of an object type by name. A string is the type. */
export type FieldDeclarations = Readonly<Record<string, string | GraphqlField>>

/** A named type. */
export type TypeDeclaration =
  | {
      readonly kind: 'object'
      readonly fields: FieldDeclarations
      /** Names of the interfaces that it implements. */
      readonly interfaces?: readonly string[]
      readonly description?: string
      readonly extensions?: Readonly<Record<string, unknown>>
    }
  | {
      readonly kind: 'input'
      readonly fields: Readonly<Record<string, string | ArgumentDeclaration>>
      readonly description?: string
      readonly extensions?: Readonly<Record<string, unknown>>
    }
  | {
      readonly kind: 'interface'
      readonly fields: FieldDeclarations
      readonly description?: string
      /** Returns the name of a value's object type. */
      readonly typeOf: (value: unknown) => string | undefined
    }
  | {
      /** `read` converts input values, `write` output values. Both throw for invalid values. Default: no conversion. */
      readonly kind: 'scalar'
      readonly read?: (value: unknown) => unknown
      readonly write?: (value: unknown) => unknown
      readonly description?: string
    }
  | {
      readonly kind: 'enum'
      /** The values that resolvers get, by the names that clients write. */
      readonly values: Readonly<Record<string, unknown>>
      /** Descriptions of the values by name. */
      readonly meanings?: Readonly<Record<string, string>>
      readonly description?: string
    }
