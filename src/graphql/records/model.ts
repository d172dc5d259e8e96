/**
 * A record as GraphQL shows it: frozen data that the declarations, the resolvers and the planner all read.
 * Source: specification, GraphQL types generated from a record class; decisions, GraphQL.
 */
import type { JsonEnum, JsonField } from '../../engines/contract/json-sql.js'
import type { AccessRule } from '../../auth/access.js'
import type { Class } from '../../metadata/class-metadata.js'
import type { RecordPolicy } from '../../records/rights/record-policy.js'
import type { Relation, Table } from '../../records/model/table.js'
import { generatedKey } from '../declarations.js'
import type { IdForm } from './global-ids.js'
import type { ResolveMetadata } from './resolve-decorator.js'

export interface FieldModel extends JsonField {
  /** As clients write it. */
  readonly name: string
  /** For messages: `Product.price`. */
  readonly where: string
  /** The type in the type notation, without `!`: `String`, `[Int!]`, `Color`. */
  readonly type: string
  readonly enumeration: EnumModel | undefined
  /** Of the record's key, and of keys of other records. */
  readonly ids: IdForm | undefined
  /** The input type of its filter. */
  readonly filter: string
  /** Rows can be sorted by it. */
  readonly isOrdered: boolean
  /** Inputs may name it. */
  readonly isInput: boolean
  /** What `@Secured` before it demands. */
  readonly access: AccessRule | undefined
}

export interface EnumModel extends JsonEnum {
  readonly name: string
}

export interface RelationModel {
  readonly name: string
  readonly relation: Relation
  /** The other side. */
  readonly target: RecordModel
  readonly isList: boolean
  /** The field with the number of its rows, `reviewsCount`; undefined for one row, and where the name is taken. */
  readonly countName: string | undefined
  /** Of many-to-many: the input field that takes the other side's keys. */
  readonly idsName: string | undefined
  /** Who may follow it: its own rules, and whoever may read the other side. */
  readonly rules: readonly AccessRule[]
}

/** A method that `@Resolve` made a field. */
export interface MethodModel {
  readonly name: string
  readonly member: string
  readonly metadata: ResolveMetadata
  readonly access: AccessRule | undefined
}

export interface RecordModel {
  readonly table: Table
  readonly type: Class
  /** The class's name. */
  readonly name: string
  readonly one: string
  readonly many: string
  readonly simplePlural: string | undefined
  /** How clients write its keys. */
  readonly ids: IdForm
  /** What is not hidden, in order of declaration. */
  readonly fields: ReadonlyMap<string, FieldModel>
  /** Filled once all models are there. */
  readonly relations: ReadonlyMap<string, RelationModel>
  readonly methods: readonly MethodModel[]
  /** What `@Secured` or `@NoAuth` before the class says. */
  readonly access: AccessRule | undefined
  /** Who may write rows. An operation that is false has no mutation. */
  readonly writes: RecordPolicy['writes']
}

/** What generated fields carry as `extensions.filigree`, by which resolvers and planner know them. */
export type GeneratedField =
  | { readonly kind: 'column'; readonly field: FieldModel }
  | { readonly kind: 'relation' | 'relationCount'; readonly relation: RelationModel }
  | {
      readonly kind:
        'one' | 'list' | 'count' | 'page' | 'aggregate' | 'create' | 'update' | 'delete' | 'many'
      readonly model: RecordModel
    }
  | { readonly kind: 'node' | 'nodes'; readonly models: ReadonlyMap<string, RecordModel> }
  | { readonly kind: 'part'; readonly part: PagePart; readonly model: RecordModel }

/** Fields of a page's types. */
export type PagePart =
  | 'edges'
  | 'pageInfo'
  | 'totalCount'
  | 'cursor'
  | 'node'
  | 'hasNextPage'
  | 'hasPreviousPage'
  | 'startCursor'
  | 'endCursor'

/** @param field a built field, or its declaration */
export function generatedOf(field: {
  readonly extensions?: Readonly<Record<string, unknown>> | undefined
}): GeneratedField | undefined {
  return field.extensions?.[generatedKey] as GeneratedField | undefined
}

/** True where a client can give something: GraphQL has no empty inputs. */
export function hasInput({ fields, relations, writes }: RecordModel): boolean {
  if (writes.create === false && writes.update === false) return false
  if ([...fields.values()].some(({ isInput }) => isInput)) return true
  return [...relations.values()].some(({ idsName }) => idsName !== undefined)
}
