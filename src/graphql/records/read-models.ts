/** Creates the GraphQL models of tables, and reports what GraphQL cannot represent. Source: decisions, GraphQL. */

import type { Problems } from '../../errors/problems.js'
import { readShape, type ShapeField } from '../../fields/shape.js'
import {
  type EnumModel,
  type FieldModel,
  type MethodModel,
  type NestedModel,
  type RecordModel,
  type RelationModel,
  nestedModelsOf,
  readResolveMetadata,
  resolveOptions,
  type ResolveMetadata,
  keyColumns,
} from './model.js'
import { globalIds, plainIds } from './global-ids.js'
import { isGraphqlName, queryNames, toCamelCase } from './names.js'
import type { GraphqlScalar, StorageClass } from '../../fields/kinds/kind.js'
import { idsName } from '../../records/model/generated-names.js'
import { partColumn } from '../../records/model/read-columns.js'
import { isOrdered } from '../../sql/operators.js'
import { hasKey, storedColumnsOf, type Column } from '../../engines/contract/table.js'
import type { Class } from '../../metadata/class.js'
import type { Relation, Table } from '../../records/model/table.js'
import { rulesOfRelation } from '../../records/policy/client-view.js'
import type { VisibleMembers } from '../../openapi/visible-members.js'
import { methodRules, reportFieldsRead } from '../../records/rights/method-access.js'
import { isLinkable, policyOf, reportPolicy } from '../../records/rights/record-policy.js'
import type { FieldForm, JsonField } from '../../engines/contract/json-sql.js'
import { argumentOptions } from '../declarations.js'

export interface Models {
  readonly records: readonly RecordModel[]
  /** The nested classes of the records' fields. */
  readonly nested: readonly NestedModel[]
  readonly enums: readonly EnumModel[]
}

/** @param tables every table once, including tables that relations lead to */
export function readModels(
  tables: readonly Table[],
  problems: Problems,
  options: ModelOptions,
): Models {
  const reader = new ModelReader(problems, keyColumns(tables), options)
  const records = tables.map((table) => reader.read(table))
  for (const model of records) reader.relate(model)
  // Last, because names that are not visible are taken too.
  if (options.visible !== undefined)
    for (const model of records) reader.hideMembers(model, options.visible)
  const nested = nestedModelsOf(records.flatMap(({ fields }) => [...fields.values()]))
  return { records, nested: [...nested], enums: reader.enums.all() }
}

const noWrites = Object.freeze({ create: false, update: false, delete: false } as const)

const builtInScalars: ReadonlySet<string> = new Set(['ID', 'Int', 'Float', 'String', 'Boolean'])

interface ModelOptions {
  /** Whether ids are global. */
  readonly hasGlobalIds: boolean
  /**
   * The exposed records, and whether clients may write them; undefined for all records with the rules of their
   * policies.
   */
  readonly only: ReadonlyMap<Class, boolean> | undefined
  /** Fields of `schema.addField` by type. */
  readonly added: ReadonlyMap<string, ReadonlyMap<string, unknown>>
  /** What the models have. Default: everything. */
  readonly visible?: VisibleMembers | undefined
}

/** A model to which relations are added once all models exist. */
interface MutableModel extends RecordModel {
  readonly fields: Map<string, FieldModel>
  readonly relations: Map<string, RelationModel>
  methods: readonly MethodModel[]
}

class ModelReader {
  readonly enums: EnumReader
  readonly #problems: Problems
  readonly #models = new Map<Table, MutableModel>()
  readonly #nested = new Map<Class, NestedModel>()
  readonly #keyHolders: ReadonlyMap<Column, string>
  readonly #hasGlobalIds: boolean
  readonly #only: ModelOptions['only']
  readonly #added: ModelOptions['added']

  /** @param keyColumns columns that contain keys, with the types of the keys */
  constructor(
    problems: Problems,
    keyColumns: ReadonlyMap<Column, string>,
    { hasGlobalIds, only, added }: ModelOptions,
  ) {
    this.#hasGlobalIds = hasGlobalIds
    this.#only = only
    this.#added = added
    this.#problems = problems
    this.#keyHolders = keyColumns
    this.enums = new EnumReader(problems)
  }

  read(table: Table): RecordModel {
    const { type, options } = table
    const policy = policyOf(table)
    reportPolicy(table, this.#problems)
    this.#reportInvalidName(type.name, `class ${type.name}`)
    const names = queryNames(type.name, options)
    this.#reportInvalidName(names.singular, `${type.name}: the query`)
    this.#reportInvalidName(names.plural, `${type.name}: the list query`)
    const model: MutableModel = {
      table,
      type,
      name: type.name,
      ...names,
      ids: this.#hasGlobalIds && hasKey(table) ? globalIds(type.name) : plainIds,
      fields: this.#readFields(table),
      relations: new Map(),
      methods: this.#readMethods(table),
      access: policy.read,
      writes: this.#only?.get(type) === false || !hasKey(table) ? noWrites : policy.writes,
    }
    this.#models.set(table, model)
    return model
  }

  relate(model: RecordModel): void {
    const { relations } = this.#models.get(model.table) as MutableModel
    const takenNames = this.#takenNames(model)
    for (const relation of model.table.relations.values()) {
      if (model.table.shape.byName.get(relation.name)?.hidden === true) continue
      const name = toCamelCase(relation.name)
      const where = `${model.name}.${relation.name}`
      this.#reportInvalidName(name, where)
      if (model.fields.has(name) || relations.has(name)) this.#reportDuplicate(where, name)
      const target = this.#models.get(relation.target)
      if (target === undefined) continue
      const isCounted = relation.kind !== 'belongsTo' && !takenNames.has(`${name}Count`)
      const countName = isCounted ? `${name}Count` : undefined
      relations.set(name, toRelation(relation, target, { name, countName }))
    }
  }

  hideMembers({ table, type }: RecordModel, visible: VisibleMembers): void {
    const model = this.#models.get(table) as MutableModel
    const { fields, relations } = model
    for (const [name, { column }] of fields)
      if (!storedColumnsOf(column).every(({ property }) => visible.shows(type, property)))
        fields.delete(name)
    for (const [name, { relation }] of relations)
      if (!visible.shows(type, relation.name)) relations.delete(name)
    model.methods = model.methods.filter(({ member }) => visible.shows(type, member))
  }

  /** The names that are used by fields of the application. */
  #takenNames({ name, fields, methods, table }: RecordModel): ReadonlySet<string> {
    return new Set([
      ...fields.keys(),
      ...methods.map((method) => method.name),
      ...[...table.relations.keys()].map(toCamelCase),
      ...(this.#added.get(name)?.keys() ?? []),
    ])
  }

  #readFields(table: Table): Map<string, FieldModel> {
    const fields = new Map<string, FieldModel>()
    if (this.#hasGlobalIds && (table.key.parts ?? []).length > 0)
      fields.set('id', this.#readGlobalKey(table))
    for (const column of table.columns) {
      if (column.field.hidden) continue
      const keyType = this.#keyHolders.get(column)
      // The global id is always named `id`, as `Node` requires.
      const isNode = this.#hasGlobalIds && keyType !== undefined && column.isKey
      const name = isNode ? 'id' : toCamelCase(column.property)
      const where = `${table.type.name}.${column.property}`
      this.#reportInvalidName(name, where)
      if (fields.has(name)) this.#reportDuplicate(where, name)
      fields.set(name, this.#readField(table, column, name, keyType))
    }
    return fields
  }

  /** The global id of a record whose key has several columns. */
  #readGlobalKey({ type, key }: Table): FieldModel {
    const parts = key.parts ?? []
    const keyParts = parts.map((column): JsonField => {
      const itemForm = undefined
      return {
        column,
        form: keyFormOf(column),
        itemForm,
        enumeration: undefined,
        idPrefix: undefined,
      }
    })
    const where = `${type.name}.${key.property}`
    const value = this.#readValue(key, 'id', where)
    return Object.freeze({ ...value, ...globalField(type.name), keyParts, isOrdered: false })
  }

  /** @param keyType the type whose keys the column contains */
  #readField(table: Table, column: Column, name: string, keyType: string | undefined): FieldModel {
    const where = `${table.type.name}.${column.property}`
    const access = policyOf(table).columns.get(column)
    const field = { ...this.#readValue(column, name, where), access }
    if (keyType !== undefined && this.#hasGlobalIds)
      return Object.freeze({ ...field, ...globalField(keyType) })
    if (keyType !== undefined && !column.isKey)
      return Object.freeze({ ...field, ...foreignKeyField })
    return Object.freeze(field)
  }

  /** @param column of a record, or a part of a nested class */
  #readValue(column: Column, name: string, where: string): FieldModel {
    const { field } = column
    const common = {
      name,
      where,
      column,
      isOrdered: isOrdered(column),
      access: undefined,
      ids: column.isKey ? plainIds : undefined,
      idPrefix: undefined,
    }
    const isWritable = !field.readOnly && !column.isKey
    const nested = field.nested && this.#readNested(field.nested(), where)
    if (nested !== undefined)
      return {
        ...common,
        ...objectField(nested, field.list),
        nested,
        isInput: isWritable && acceptsInput(nested.type),
      }
    const isList = field.list && field.nested === undefined && field.kind !== 'json'
    const enumeration = this.enums.read(where, field)
    const itemForm = formOf(column, enumeration, isList)
    const scalar = enumeration?.name ?? scalarOf(field)
    return {
      ...common,
      type: isList ? `[${scalar}!]` : scalar,
      form: isList ? 'list' : itemForm,
      itemForm: isList ? itemForm : undefined,
      enumeration,
      filter: filterOf(column, enumeration),
      isInput: isWritable,
      nested: undefined,
    }
  }

  /** @returns `undefined` for a class without fields, whose objects are JSON text */
  #readNested(type: Class, where: string): NestedModel | undefined {
    const existing = this.#nested.get(type)
    if (existing !== undefined) return existing
    const visible = readShape(type).fields.filter(({ hidden }) => !hidden)
    if (visible.length === 0) return undefined
    this.#reportInvalidName(type.name, `class ${type.name}`)
    const fields = new Map<string, FieldModel>()
    const nested: NestedModel = { type, name: type.name, where, fields }
    // Before its fields are read, because a class may contain itself.
    this.#nested.set(type, nested)
    for (const field of visible) {
      const name = toCamelCase(field.name)
      const place = `${type.name}.${field.name}`
      this.#reportInvalidName(name, place)
      if (fields.has(name)) this.#reportDuplicate(place, name)
      fields.set(name, Object.freeze(this.#readValue(partColumn(field), name, place)))
    }
    return nested
  }

  #readMethods(table: Table): MethodModel[] {
    const { type } = table
    const methods = [...readResolveMetadata(type)].filter(([, metadata]) =>
      this.#isAvailable(metadata),
    )
    return methods.map(([member, metadata]) => {
      const where = `${type.name}.${member}`
      const name = toCamelCase(member)
      this.#reportInvalidName(name, where)
      this.#reportInvalidOptions(where, metadata)
      reportFieldsRead(where, table, metadata.options, this.#problems)
      return { name, member, metadata, rules: methodRules(table, member) }
    })
  }

  /** With a selection of records, methods that return other records are left out. */
  #isAvailable({ type }: ResolveMetadata): boolean {
    if (this.#only === undefined) return true
    const base = type.replace(/[[\]!\s]/g, '')
    return builtInScalars.has(base) || [...this.#only.keys()].some(({ name }) => name === base)
  }

  #reportInvalidOptions(where: string, { options }: ResolveMetadata): void {
    this.#problems.addAll(resolveOptions.findProblems(options, `@Resolve of ${where}`))
    for (const [name, declared] of Object.entries(options.args ?? {}))
      if (typeof declared === 'object')
        this.#problems.addAll(
          argumentOptions.findProblems(declared, `@Resolve of ${where}, ${name}`),
        )
  }

  #reportInvalidName(name: string, where: string): void {
    if (isGraphqlName(name)) return
    this.#problems.add({
      code: 'GRAPHQL_NAME',
      message: `${where}: "${name}" is not a valid name in GraphQL.`,
      remedy: 'Use letters, digits and _. A name must not begin with a digit or __.',
    })
  }

  #reportDuplicate(where: string, name: string): void {
    this.#problems.add({
      code: 'GRAPHQL_NAME_TAKEN',
      message: `${where} would be the second field "${name}" of its GraphQL type.`,
      remedy: 'Rename one of them.',
    })
  }
}

/** Creates GraphQL enums from fields with `oneOf` and `enum`. */
class EnumReader {
  readonly #enums = new Map<string, EnumModel>()
  readonly #problems: Problems

  constructor(problems: Problems) {
    this.#problems = problems
  }

  all(): readonly EnumModel[] {
    return [...this.#enums.values()]
  }

  /** Fields with the same enum name share the enum. @returns `undefined` for a field without an enum */
  read(where: string, { rules, kind }: ShapeField): EnumModel | undefined {
    const { enum: name, oneOf } = rules
    if (name === undefined || oneOf === undefined) return undefined
    if (kind === 'boolean' || !isGraphqlName(name)) {
      const message = `${where}: "${name}" cannot be an enum${kind === 'boolean' ? ' of true and false' : "'s name"}.`
      return this.#reject(message, 'Remove enum, or give it a name of letters, digits and _.')
    }
    const created = toEnum(name, oneOf as readonly (string | number)[])
    const existing = this.#enums.get(name)
    if (existing !== undefined) {
      if (sameValues(existing, created)) return existing
      const message = `${where}: the enum ${name} has other values elsewhere.`
      return this.#reject(message, 'Give one of them another name.')
    }
    if (
      created.values.size < oneOf.length ||
      [...created.values.keys()].some((one) => !isValue(one))
    ) {
      const message = `${where}: the values of the enum ${name} do not make different names.`
      return this.#reject(message, 'Remove enum: the field stays a String.')
    }
    this.#enums.set(name, created)
    return created
  }

  #reject(message: string, remedy: string): EnumModel | undefined {
    this.#problems.add({ code: 'GRAPHQL_ENUM', message, remedy })
    return undefined
  }
}

function toEnum(name: string, oneOf: readonly (string | number)[]): EnumModel {
  const values = new Map(oneOf.map((value) => [toValueName(value), value]))
  const isPlain = [...values].every(([key, value]) => key === value)
  return Object.freeze({ name, values, isPlain })
}

/** `light-blue` is `light_blue`, `3` is `_3`. */
function toValueName(value: string | number): string {
  const name = String(value).replace(/[^A-Za-z0-9_]/g, '_')
  return /^\d|^$/.test(name) ? `_${name}` : name
}

function isValue(name: string): boolean {
  return isGraphqlName(name) && name !== 'true' && name !== 'false' && name !== 'null'
}

function sameValues(one: EnumModel, other: EnumModel): boolean {
  const values = [...one.values.values()]
  return (
    values.length === other.values.size &&
    values.every((value) => [...other.values.values()].includes(value))
  )
}

/** A foreign key is an `ID`, like the key that it refers to. */
const foreignKeyField = Object.freeze({
  type: 'ID',
  form: 'id',
  itemForm: undefined,
  enumeration: undefined,
  ids: plainIds,
  idPrefix: undefined,
  filter: 'IDFilter',
} as const)

function objectField({ name }: NestedModel, isList: boolean) {
  return {
    type: isList ? `[${name}!]` : name,
    form: 'object',
    itemForm: undefined,
    enumeration: undefined,
    filter: isList ? 'JsonFilter' : `${name}Where`,
  } as const
}

/** Whether clients may write a field of a nested class. GraphQL does not allow input types without fields. */
function acceptsInput(type: Class, outer: readonly Class[] = []): boolean {
  if (outer.includes(type)) return false
  return readShape(type).fields.some(
    ({ hidden, readOnly, nested }) =>
      !hidden && !readOnly && (nested === undefined || acceptsInput(nested(), [...outer, type])),
  )
}

function globalField(
  keyType: string,
): Pick<FieldModel, 'type' | 'form' | 'itemForm' | 'enumeration' | 'ids' | 'idPrefix' | 'filter'> {
  return {
    type: 'ID',
    form: 'id',
    itemForm: undefined,
    enumeration: undefined,
    ids: globalIds(keyType),
    idPrefix: `${keyType}:`,
    filter: 'IDFilter',
  }
}

function toRelation(
  relation: Relation,
  target: RecordModel,
  { name, countName }: Pick<RelationModel, 'name' | 'countName'>,
): RelationModel {
  return Object.freeze({
    name,
    countName,
    relation,
    target,
    isList: relation.kind !== 'belongsTo',
    isLinkable: isLinkable(relation),
    idsName: relation.kind === 'manyToMany' && isLinkable(relation) ? idsName(name) : undefined,
    rules: rulesOfRelation(relation),
  })
}

function formOf(
  { field, storage, isKey }: Column,
  enumeration: EnumModel | undefined,
  isList: boolean,
): FieldForm {
  if (isKey) return 'id'
  if (enumeration !== undefined) return 'enum'
  if (storage === 'json' && !isList) return 'json'
  return textForms[field.entry.storage] ?? formByType[scalarOf(field)]
}

/** The form of a part of a key, in the JSON list that is the key. */
function keyFormOf(column: Column): FieldForm {
  const form = formOf(column, undefined, false)
  return form === 'int' ? 'integer' : form
}

/** `Integer` if the rules permit values beyond the 32 bits of GraphQL's `Int`. */
function scalarOf({ entry, rules }: ShapeField): GraphqlScalar | 'Integer' {
  const { type } = entry.graphql
  if (type !== 'Int') return type
  return [rules.min, rules.max].every(isInt) ? type : 'Integer'
}

/** Whether a bound is within 32 bits, or missing. */
function isInt(bound: unknown): boolean {
  return typeof bound !== 'number' || (bound >= -(2 ** 31) && bound < 2 ** 31)
}

const formByType = {
  ID: 'id',
  Int: 'int',
  Integer: 'integer',
  Float: 'float',
  Boolean: 'boolean',
  String: 'text',
} as const satisfies Readonly<Record<GraphqlScalar | 'Integer', FieldForm>>

/** Storage classes that are not text but are sent as text. */
const textForms: Readonly<Partial<Record<StorageClass, FieldForm>>> = {
  bytes: 'bytes',
  json: 'json',
}

/** The name of the input type of a filter. `declare-inputs.ts` declares these types. */
function filterOf(column: Column, enumeration: EnumModel | undefined): string {
  if (column.compares === 'json') return 'JsonFilter'
  const scalar = column.field.entry.graphql.filter
  const name = enumeration?.name ?? scalar
  if (column.compares === 'list') return `${name}ListFilter`
  return `${column.isKey ? scalar : name}Filter`
}
