/** Compiles the selection of a root field to a tree, and builds query trees from it and the arguments of a run. */

import type { FieldNode, GraphQLObjectType, GraphQLOutputType } from 'graphql'
import type { PageEntry, PageQuery, RelatedRowsOf, Selection } from '../../sql/tree.js'
import {
  type RecordModel,
  generatedOf,
  type FieldModel,
  type RelationModel,
} from '../records/model.js'
import type { RequestedPage } from '../records/pages.js'
import type { AccessRule } from '../../auth/access.js'
import { isUnplannable, unplannable, type Unplannable } from '../planner-contract.js'
import { graphqlLibrary } from '../library.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import type { Column } from '../../engines/contract/table.js'
import { isApart } from '../../sql/table.js'
import { collectFields, type Collecting, type FieldGroups } from '../collect-fields.js'
import { compileArguments, type ArgumentSource } from './compile-arguments.js'

/** The arguments of a run for the selected relations, by their index: which rows are read or counted. */
export type RelationQueries = readonly RelatedRowsOf[]

export function selectionOf(
  { entries }: ObjectSelection,
  relationQueries: RelationQueries,
): Selection {
  return entries.map((entry) => {
    if (entry.kind !== 'count' && entry.kind !== 'relation') return entry
    const { key, index } = entry
    const { relation } = entry.relation
    const rows = relationQueries[index] as RelatedRowsOf
    return entry.kind === 'count'
      ? {
          kind: 'count',
          key,
          derived: { path: [{ relation, where: rows.where }], column: undefined },
        }
      : {
          kind: 'relation',
          key,
          relation,
          rows,
          selection: selectionOf(entry.object, relationQueries),
        }
  })
}

/** The query of a page. `limit` and `oneMore` are indexes of values. */
export function pageOf(
  { table }: RecordModel,
  page: readonly SelectedPage[],
  { filter, condition, order, readingOrder, isBackward, startsAtCursor }: RequestedPage,
  { limit, oneMore }: { readonly limit: number; readonly oneMore: number },
  relationQueries: RelationQueries,
): PageQuery {
  const rows = { table, where: condition, order: readingOrder, limit: oneMore }
  const entries = pageEntriesOf(page, relationQueries)
  return {
    query: 'page',
    rows,
    order,
    pageSize: limit,
    filter,
    isBackward,
    hasEarlierRows: startsAtCursor,
    entries,
  }
}

function pageEntriesOf(
  page: readonly SelectedPage[],
  relationQueries: RelationQueries,
): PageEntry[] {
  return page.map((entry): PageEntry => {
    const { kind, key } = entry
    if (kind === 'name' || kind === 'leaf') return entry
    return kind === 'node'
      ? { kind, key, selection: selectionOf(entry.object, relationQueries) }
      : { kind, key, entries: pageEntriesOf(entry.entries, relationQueries) }
  })
}

export interface ObjectSelection {
  readonly model: RecordModel
  readonly entries: readonly SelectedEntry[]
}

/** One key of an object in the result. */
export type SelectedEntry =
  | { readonly kind: 'name'; readonly key: string; readonly name: string }
  | { readonly kind: 'column'; readonly key: string; readonly field: FieldModel }
  | SelectedNested
  | SelectedCount
  | SelectedRelation

/** A field with a nested class, and its selected parts. */
export interface SelectedNested {
  readonly kind: 'nested'
  readonly key: string
  readonly field: FieldModel
  readonly column: Column
  readonly parts: { readonly isList: boolean; readonly entries: readonly SelectedPart[] }
}

/** One key of an object of a nested class. */
export type SelectedPart =
  Extract<SelectedEntry, { readonly kind: 'name' | 'column' }> | SelectedNested

/** The number of related rows. */
export interface SelectedCount {
  readonly kind: 'count'
  readonly key: string
  readonly relation: RelationModel
  /** Its index in `RelationQueries`. */
  readonly index: number
}

export interface SelectedRelation {
  readonly kind: 'relation'
  readonly key: string
  readonly relation: RelationModel
  readonly object: ObjectSelection
  /** Undefined for the row of a `belongsTo`. */
  readonly args: ArgumentSource | undefined
  /** Its index in `RelationQueries`. */
  readonly index: number
}

export type SelectedPage =
  | Extract<PageEntry, { readonly kind: 'name' | 'leaf' }>
  | {
      readonly kind: 'edges' | 'pageInfo'
      readonly key: string
      readonly entries: readonly SelectedPage[]
    }
  | { readonly kind: 'node'; readonly key: string; readonly object: ObjectSelection }

/** Compiles selections, and collects their relations and access rules. */
export class SelectionCompiler {
  /** Selected relations by index. */
  readonly relations: (SelectedCount | SelectedRelation)[] = []
  /** The access rules of selected fields and relations, which must admit the caller before the statement runs. */
  readonly accessRules = new Set<AccessRule>()
  /** Whether a floating-point number is selected. */
  hasFloats = false
  hasDecimals = false
  readonly #collecting: Collecting
  readonly #dialect: Dialect

  constructor(collecting: Collecting, dialect: Dialect) {
    this.#collecting = collecting
    this.#dialect = dialect
  }

  object(
    type: GraphQLObjectType,
    model: RecordModel,
    nodes: readonly FieldNode[],
  ): ObjectSelection | Unplannable {
    const entries: SelectedEntry[] = []
    for (const [key, group] of collectFields(nodes, namesOf(type), this.#collecting)) {
      const entry = this.#entry(type, key, group)
      if (entry.kind === 'unplannable') return entry
      entries.push(entry)
    }
    return { model, entries }
  }

  page(
    type: GraphQLObjectType,
    nodes: readonly FieldNode[],
  ): readonly SelectedPage[] | Unplannable {
    const entries: SelectedPage[] = []
    for (const [key, group] of collectFields(nodes, namesOf(type), this.#collecting)) {
      const entry = this.#pageEntry(type, key, group)
      if (entry.kind === 'unplannable') return entry
      entries.push(entry)
    }
    return entries
  }

  #entry(
    type: GraphQLObjectType,
    key: string,
    group: readonly [FieldNode, ...FieldNode[]],
  ): SelectedEntry | Unplannable {
    const [node] = group
    const name = node.name.value
    if (name === '__typename') return { kind: 'name', key, name: type.name }
    const field = type.getFields()[name]
    const generated = field && generatedOf(field)
    if (field !== undefined && generated?.kind === 'column') {
      const { nested } = generated.field
      return nested === undefined
        ? this.#column(key, generated.field)
        : this.#nested(objectOf(field.type), key, generated.field, group)
    }
    if (generated?.kind === 'relationCount') return this.#count(key, generated.relation)
    if (field === undefined || generated?.kind !== 'relation') return hasResolver(type, name)
    const { relation } = generated
    if (isApart(relation.relation, this.#dialect)) return inShards
    for (const rule of relation.rules) this.demand(rule)
    const object = this.object(objectOf(field.type), relation.target, group)
    if (isUnplannable(object)) return object
    const args = relation.isList ? compileArguments(field, node) : undefined
    const index = this.relations.length
    const entry: SelectedRelation = { kind: 'relation', key, relation, object, args, index }
    this.relations.push(entry)
    return entry
  }

  #nested(
    type: GraphQLObjectType,
    key: string,
    field: FieldModel,
    group: readonly FieldNode[],
  ): SelectedNested | Unplannable {
    this.demand(field.access)
    const entries: SelectedPart[] = []
    for (const [partKey, partGroup] of collectFields(group, namesOf(type), this.#collecting)) {
      const entry = this.#entry(type, partKey, partGroup)
      if (entry.kind === 'unplannable') return entry
      if (entry.kind === 'relation' || entry.kind === 'count') return hasResolver(type, partKey)
      entries.push(entry)
    }
    const { column } = field
    return { kind: 'nested', key, field, column, parts: { isList: column.field.list, entries } }
  }

  #count(key: string, relation: RelationModel): SelectedEntry | Unplannable {
    if (isApart(relation.relation, this.#dialect)) return inShards
    for (const rule of relation.rules) this.demand(rule)
    const entry: SelectedCount = { kind: 'count', key, relation, index: this.relations.length }
    this.relations.push(entry)
    return entry
  }

  #column(key: string, field: FieldModel): SelectedEntry | Unplannable {
    this.demand(field.access)
    if (field.form === 'float') this.hasFloats = true
    if (field.column.storage === 'decimal') this.hasDecimals = true
    if (isWritable(field)) return { kind: 'column', key, field }
    return unplannable(`SQL cannot write the values of ${field.where} in the form of clients.`)
  }

  #pageEntry(
    type: GraphQLObjectType,
    key: string,
    group: FieldGroups extends Map<string, infer G> ? G : never,
  ): SelectedPage | Unplannable {
    const [node] = group
    const name = node.name.value
    if (name === '__typename') return { kind: 'name', key, name: type.name }
    const field = type.getFields()[name]
    const generated = field && generatedOf(field)
    if (field === undefined || generated?.kind !== 'part') return hasResolver(type, name)
    const { part, model } = generated
    if (part === 'node') {
      const object = this.object(objectOf(field.type), model, group)
      return isUnplannable(object) ? object : { kind: 'node', key, object }
    }
    if (part !== 'edges' && part !== 'pageInfo') return { kind: 'leaf', key, part }
    const entries = this.page(objectOf(field.type), group)
    return isUnplannable(entries) ? entries : { kind: part, key, entries }
  }

  demand(rule: AccessRule | undefined): void {
    if (rule !== undefined && !rule.open) this.accessRules.add(rule)
  }
}

const inShards = unplannable('Related rows in shards are read by statements of their own.')

function hasResolver({ name: type }: GraphQLObjectType, name: string): Unplannable {
  return unplannable(`${type}.${name} has a resolver.`)
}

/** The type conditions of fragments that apply to the type. */
function namesOf(type: GraphQLObjectType): readonly string[] {
  return [type.name, ...type.getInterfaces().map(({ name }) => name)]
}

/** The object type inside lists and `!`. */
export function objectOf(type: GraphQLOutputType): GraphQLObjectType {
  return graphqlLibrary().getNamedType(type) as GraphQLObjectType
}

/** Whether SQL can write the value of a field as JSON in the form that clients get. */
function isWritable({ form, column, enumeration }: FieldModel): boolean {
  if (form === 'list') return enumeration === undefined || enumeration.isPlain
  const { write, sqlText } = column.field.entry
  if (form === 'text' && write !== undefined) return sqlText !== undefined
  return form !== 'json' || column.field.nested === undefined
}
