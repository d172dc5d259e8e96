/**
 * The contract between a schema and the generation from records: classes go in, declarations come out. The generator
 * loads nothing of the package `graphql` to make them.
 */
import type { GraphQLSchema } from 'graphql'
import type { Problem } from '../errors/declaration-error.js'
import type { Class } from '../metadata/class-metadata.js'
import type { Database } from '../records/database.js'
import type { FieldDeclaration, TypeDeclaration } from './declarations.js'
import type { FieldCosts } from './field-costs.js'
import type { Planner } from './planner-contract.js'

/** Where the extensions of a generated field say what it is. */
export const generatedKey = 'filigree'

export function isGenerated(field: {
  readonly extensions?: Readonly<Record<string, unknown>> | undefined
}): boolean {
  return field.extensions?.[generatedKey] !== undefined
}

/** What a schema says to the generator. */
export interface GenerateContext {
  /**
   * The instance's database. Ask when a resolver runs, not while generating: an instance of a module is bound to the
   * application's database after its schema is built.
   *
   * @throws {Error} when the instance has none
   */
  readonly database: () => Database
  /** Records get subscriptions. */
  readonly subscriptions: boolean
  /** Only these records are there, whatever they lead to; true: clients may write them. Default: all, with those that they lead to. */
  readonly only?: ReadonlyMap<Class, boolean> | undefined
  /** Ids are global, as Relay's clients want them. */
  readonly relay: boolean
  /** The largest `limit` and `first` that a list takes; more is refused. */
  readonly listMax: number
  /** Changes that may wait for a subscriber. Ask when one is told something, as for the database. */
  readonly mostEvents: () => number
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
