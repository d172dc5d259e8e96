/**
 * What a schema is declared with, by hand and by generation alike: plain data whose types are written in the type
 * notation. Source: specification, Hand-built GraphQL schema; public API, GraphQL.
 */

import type { GraphQLSchema, GraphQLResolveInfo } from 'graphql'
import type { Problem } from '../errors/declaration-error.js'
import type { Class } from '../metadata/class-metadata.js'
import type { Database } from '../records/database.js'
import type { FieldCosts } from './field-costs.js'
import type { Planner } from './planner-contract.js'
import type { AccessRule } from '../auth/access.js'

/**
 * The contract between a schema and the generation from records: classes go in, declarations come out. The generator
 * loads nothing of the package `graphql` to make them.
 */

/** Where the extensions of a generated field say what it is. */
export const generatedKey = 'filigree'

export function isGenerated(field: {
  readonly extensions?: Readonly<Record<string, unknown>> | undefined
}): boolean {
  return field.extensions?.[generatedKey] !== undefined
}

/** The options of a schema for the generator. */
interface GenerateContext {
  /**
   * The instance's database. Ask when a resolver runs, not while generating: an instance of a module is bound to the
   * application's database after its schema is built.
   *
   * @throws {Error} when the instance has none
   */
  readonly database: () => Database
  /** Records get subscriptions. */
  readonly subscriptions: boolean
  /**
   * The exposed records, regardless of relations; true: clients may write them. Default: all records, and the records
   * that they lead to.
   */
  readonly only?: ReadonlyMap<Class, boolean> | undefined
  /** Ids are global, as Relay's clients want them. */
  readonly relay: boolean
  /** The largest `limit` and `first` that a list takes; more is refused. */
  readonly listMax: number
  /** Changes that may wait for a subscriber. Ask when one is told something, as for the database. */
  readonly maxEvents: () => number
  readonly now: () => number
  /** Takes the developer's mistakes: names that collide, relations that lead nowhere. */
  readonly problems: Problem[]
  /**
   * Fields that were added by hand to types (`schema.addField`), by type and field. The schema merges them itself; they
   * are here so that the generator knows their `extensions.needs` and refuses names that collide.
   */
  readonly added: ReadonlyMap<string, ReadonlyMap<string, FieldDeclaration>>
}

/** What comes out. Type names in it may also be those of types declared by hand. */
export interface GeneratedPart {
  /** Objects, inputs and enums by name: `Product`, `ProductInput`, `ProductWhere`, `Color`. */
  readonly types: ReadonlyMap<string, TypeDeclaration>
  readonly queries: ReadonlyMap<string, FieldDeclaration>
  readonly mutations: ReadonlyMap<string, FieldDeclaration>
  readonly subscriptions: ReadonlyMap<string, FieldDeclaration>
  /**
   * Makes what compiles root fields to statements. Called once, with the built schema, whose fields carry the
   * `extensions` of their declarations. Absent: everything goes through resolvers.
   */
  readonly createPlanner?: (schema: GraphQLSchema) => Planner
  /** Names of fields and relations with `@Secured`, which suggestions in messages leave out. */
  readonly securedNames?: ReadonlySet<string>
  /** What fields make the database do; absent: nothing. */
  readonly fieldCosts?: FieldCosts
}

/** Makes the declarations of record classes; called once for a schema, with every class of `fromOrm`. */
export type GenerateRecords = (classes: readonly Class[], context: GenerateContext) => GeneratedPart

/** Where the decorators of a root field stand among its `extensions`. */
export const interceptorsExtension = 'filigreeInterceptors'

/** Values of a field's arguments: variables are filled in, defaults are applied. */
export type Arguments = Readonly<Record<string, unknown>>

/** An argument, or a field of an input type. */
export interface ArgumentDeclaration {
  /** `ID!`, `[Int!]`, `ProductWhere`. */
  readonly type: string
  /** The value, not its text: `10`, `['a']`. Absent: none. */
  readonly default?: unknown
  readonly description?: string
  /** Why it should not be used any more. */
  readonly deprecated?: string
  /** Found again as `extensions` of the built argument. */
  readonly extensions?: Readonly<Record<string, unknown>>
}

/** The names that may stand in one. */
export const argumentNames: Readonly<Record<keyof ArgumentDeclaration, true>> = {
  type: true,
  default: true,
  description: true,
  deprecated: true,
  extensions: true,
}

/** A field of an object type; queries, mutations and subscriptions are such fields too. */
export interface FieldDeclaration {
  /** `Quote`, `[Quote!]!`. */
  readonly type: string
  /** By name; text is the type alone. */
  readonly args?: Readonly<Record<string, string | ArgumentDeclaration>>
  readonly description?: string
  /** Why it should not be used any more; shown by the IDE. */
  readonly deprecated?: string
  /**
   * Gives the value, at once or as a promise. Absent: the key of the parent value; a key that is not there is null and
   * an error entry. Must not need `this`.
   *
   * @param root the parent value; undefined for root fields
   * @param context what was given to `execute`; through the endpoint a `RequestContext` (`caller.ts`)
   */
  resolve?(root: unknown, args: Arguments, context: unknown, info: GraphQLResolveInfo): unknown
  /**
   * Subscriptions only: gives an async iterable of the values that `resolve` gets as root. Without `resolve` an event
   * is an object with the field's name as its key.
   */
  subscribe?(root: unknown, args: Arguments, context: unknown, info: GraphQLResolveInfo): unknown
  /** Root fields only: who may call it. Default: the instance's rule for its kind (queries public, mutations by token). */
  readonly access?: AccessRule
  /** Found again as `extensions` of the built field. Names beginning with `filigree` belong to the framework. */
  readonly extensions?: Readonly<Record<string, unknown>>
}

/** Fields of an object type by name; text is the type alone. */
export type FieldDeclarations = Readonly<Record<string, string | FieldDeclaration>>

/** A named type. `kind` says which. */
export type TypeDeclaration =
  | {
      readonly kind: 'object'
      readonly fields: FieldDeclarations
      /** Names of those that it has all fields of. */
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
      /** The name of a value's object type. */
      readonly typeOf: (value: unknown) => string | undefined
    }
  | {
      /** Any value, as it is, or what these make of it; they throw for what is none. */
      readonly kind: 'scalar'
      readonly read?: (value: unknown) => unknown
      readonly write?: (value: unknown) => unknown
      readonly description?: string
    }
  | {
      readonly kind: 'enum'
      /** Names as clients write them, and the values that resolvers see. */
      readonly values: Readonly<Record<string, unknown>>
      /** The description of each value, by its name. */
      readonly meanings?: Readonly<Record<string, string>>
      readonly description?: string
    }
