/**
 * The GraphQL model of a record: frozen data for declarations, resolvers and the planner, and the decorator `@Resolve`.
 * Source: decisions, GraphQL.
 */
import { declareOptions, type OptionsOf } from '../../options/declare-options.js'
import { option } from '../../options/option.js'
import type { JsonEnum, JsonField } from '../../engines/contract/json-sql.js'
import type { AccessRule } from '../../auth/access.js'
import type { Class } from '../../metadata/class.js'
import { createMemberMetadata } from '../../metadata/class-metadata.js'
import { writeFieldsRead } from '../../records/rights/method-access.js'
import type { RecordPolicy } from '../../records/rights/record-policy.js'
import type { Relation, Table } from '../../records/model/table.js'
import { generatedKey, type ArgumentDeclaration } from '../declarations.js'
import { toDecorator, type AnyDecorator } from '../../metadata/dialect.js'
import type { Column } from '../../engines/contract/table.js'
import type { IdForm } from './global-ids.js'

export interface FieldModel extends JsonField {
  /** The name in GraphQL. */
  readonly name: string
  /** For messages: `Product.price`. */
  readonly where: string
  /** The type in the type notation, without `!` at its end: `String`, `[Int!]`, `Color`. */
  readonly type: string
  readonly enumeration: EnumModel | undefined
  /** The form of ids, for the record's key and foreign keys. */
  readonly ids: IdForm | undefined
  /** The input type of its filter. */
  readonly filter: string
  /** Whether rows can be sorted by it. */
  readonly isOrdered: boolean
  /** Whether inputs have it. */
  readonly isInput: boolean
  /** The access rule of `@Secured`. */
  readonly access: AccessRule | undefined
  /** The nested class of its objects. */
  readonly nested: NestedModel | undefined
}

/** A nested class of records' fields. Its fields describe parts of a column. */
export interface NestedModel {
  readonly type: Class
  /** The class's name. */
  readonly name: string
  /** The field that it was found at, for messages: `Product.price`. */
  readonly where: string
  /** The fields that are not hidden, in the order of declaration. */
  readonly fields: ReadonlyMap<string, FieldModel>
}

export interface EnumModel extends JsonEnum {
  readonly name: string
}

export interface RelationModel {
  readonly name: string
  readonly relation: Relation
  /** The related record. */
  readonly target: RecordModel
  readonly isList: boolean
  /**
   * The field with the number of related rows, `reviewsCount`; undefined for a relation to one row, and if the name is
   * taken.
   */
  readonly countName: string | undefined
  /** Whether inputs can connect rows: some client has the right. */
  readonly isLinkable: boolean
  /** The input field for the keys of linked rows, for many-to-many relations that some client may link. */
  readonly idsName: string | undefined
  /** The access rules of the relation and of the related record. */
  readonly rules: readonly AccessRule[]
}

/** A field made by `@Resolve` on a method. */
export interface MethodModel {
  readonly name: string
  readonly member: string
  readonly metadata: ResolveMetadata
  /** The rule of the method, and the rules of the fields that it needs. All must admit the caller. */
  readonly rules: readonly AccessRule[]
}

export interface RecordModel {
  readonly table: Table
  readonly type: Class
  /** The class's name. */
  readonly name: string
  /** The query for one record: `category`. */
  readonly singular: string
  /** The query for a list: `categories`. */
  readonly plural: string
  /** The deprecated query for a list, if its name differs: `categorys`. */
  readonly simplePlural: string | undefined
  /** The form of its ids. */
  readonly ids: IdForm
  /** The fields that are not hidden, in the order of declaration. With global ids, a key of several fields comes first. */
  readonly fields: ReadonlyMap<string, FieldModel>
  /** Complete once all models are created. */
  readonly relations: ReadonlyMap<string, RelationModel>
  readonly methods: readonly MethodModel[]
  /** The access rule of `@Secured` or `@NoAuth` on the class. */
  readonly access: AccessRule | undefined
  /** The access rules of writes. An operation that is false has no mutation. */
  readonly writes: RecordPolicy['writes']
}

/** The description of a generated field in its `extensions`, for resolvers and the planner. */
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

/** The fields of the types of a page. */
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

/** @param field a field of the schema, or its declaration */
export function generatedOf(field: {
  readonly extensions?: Readonly<Record<string, unknown>> | undefined
}): GeneratedField | undefined {
  return field.extensions?.[generatedKey] as GeneratedField | undefined
}

/** The type of a field in inputs, without `!` at its end. */
export function inputTypeOf({ type, nested }: FieldModel): string {
  return nested === undefined ? type : type.replace(nested.name, `${nested.name}Input`)
}

/** The nested classes of fields, and the classes within these. */
export function nestedModelsOf(
  fields: Iterable<FieldModel>,
  found = new Set<NestedModel>(),
): Set<NestedModel> {
  for (const { nested } of fields) {
    if (nested === undefined || found.has(nested)) continue
    found.add(nested)
    nestedModelsOf(nested.fields.values(), found)
  }
  return found
}

/** Whether the record has an input type. GraphQL does not allow input types without fields. */
export function hasInput({ fields, relations, writes }: RecordModel): boolean {
  if (writes.create === false && writes.update === false) return false
  if ([...fields.values()].some(({ isInput }) => isInput)) return true
  return [...relations.values()].some(({ idsName }) => idsName !== undefined)
}

export const resolveOptions = declareOptions({
  /**
   * The fields that the method reads. Callers need the right to read each of them. Default: all, so the rules of all
   * fields with `@Secured` apply.
   */
  needs: option.any<readonly string[]>(),
  /** Callers may read the result without the right to read the fields that it is computed from. Default false. */
  open: option.flag(),
  /** Arguments by name: a type (`'Int!'`), or a type with a default. Default: none. */
  args: option.any<Readonly<Record<string, string | ArgumentDeclaration>>>(),
  description: option.any<string>(),
})

export interface ResolveOptions extends OptionsOf<typeof resolveOptions> {}

export interface ResolveMetadata {
  readonly type: string
  readonly options: Readonly<ResolveOptions>
}

const resolveMetadata = createMemberMetadata<ResolveMetadata>('resolve')

/**
 * Makes a method a field of the record's GraphQL type. The method is called with `(args, context)` on the record.
 *
 * ```ts
 * @Resolve('Float', { needs: ['price'], args: { rate: 'Float!' } })
 * withTax({ rate }: { rate: number }) { return this.price * (1 + rate) }    // product { withTax(rate: 0.2) }
 * ```
 *
 * @param type in the type notation: `Float`, `[String!]`, `Product`
 */
export function Resolve(type: string, options: ResolveOptions = {}): AnyDecorator {
  return toDecorator(({ owner, member, kind: position, isStatic }) => {
    if (member === undefined || position !== 'method' || isStatic) {
      throw new TypeError(
        `@Resolve on ${owner.name}: it can only be used on a method of instances.`,
      )
    }
    resolveMetadata.write(owner, member, { type, options: { ...options } })
    writeFieldsRead(owner, member, { needs: options.needs, open: options.open })
  })
}

/** The fields of a class by method, starting with the base class. */
export function readResolveMetadata(owner: Class): ReadonlyMap<string, ResolveMetadata> {
  return resolveMetadata.readAll(owner)
}

/** The columns that contain keys of records, with the names of these records' types. */
export function keyColumns(tables: readonly Table[]): ReadonlyMap<Column, string> {
  const columns = new Map<Column, string>()
  for (const table of tables) {
    columns.set(table.key, table.type.name)
    for (const { kind, local, foreign, target } of table.relations.values()) {
      if (kind === 'belongsTo') columns.set(local, target.type.name)
      if (kind === 'hasMany') columns.set(foreign, table.type.name)
    }
  }
  return columns
}
