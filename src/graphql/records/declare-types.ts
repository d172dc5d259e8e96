/** Declares the object type and the input type of a record. */

import { formats } from '../../fields/formats.js'
import { type FieldRules, describeWriteRule } from '../../fields/rules.js'
import type { ShapeField } from '../../fields/shape.js'
import { storedColumnsOf, type Column } from '../../engines/contract/table.js'
import type { Class } from '../../metadata/class.js'
import { classDoc, memberDocs } from '../../openapi/doc.js'
import type { Relation, Table } from '../../records/model/table.js'
import { titled, describeOutput } from '../type-notation.js'
import { withDemands, type AccessRule } from '../../auth/access.js'
import {
  type ArgumentDeclaration,
  type GraphqlField,
  type TypeDeclaration,
  generatedKey,
} from '../declarations.js'
import type { Problems } from '../../errors/problems.js'
import { admitted } from '../../records/rights/caller.js'
import {
  inheritedRules,
  reportFieldsRead,
  type FieldsRead,
} from '../../records/rights/method-access.js'
import { callerOf } from '../operation-caller.js'
import { declareArguments } from './declare-arguments.js'
import { nodeName } from './declare-node.js'
import {
  hasInput,
  type FieldModel,
  type MethodModel,
  type NestedModel,
  inputTypeOf,
  type RecordModel,
  type RelationModel,
} from './model.js'
import { countResolver, relationResolver, type RecordServices } from './resolve-records.js'
import { outputOf } from './field-output.js'
import { keyType } from './row-keys.js'
import { operationsOn } from './write-records.js'

/** The description of a record: `@Doc`, otherwise a default. */
function describeRecord({ type }: Pick<Table, 'type'>): string {
  const doc = classDoc(type)
  return doc?.description ?? doc?.summary ?? `The record ${type.name}.`
}

/** The description of a method or property by `@Doc`. */
function documentedDescription(type: Class, member: string): string | undefined {
  const doc = memberDocs(type).get(member)
  return doc?.description ?? doc?.summary
}

/**
 * The description of a field: the option `description`, `@Doc`, otherwise its rules: `A string, at most 80 characters.
 * Unique.`
 */
function describeField(type: Class, field: ShapeField): string {
  const { description, writes } = field.rules
  const text =
    description ?? documentedDescription(type, field.name) ?? sentences(describeRules(field))
  return writes === undefined || writes === false ? text : `${text} ${describeWriteRule(writes)}`
}

/** The description of a foreign key, if ids are global. */
function describeKey(field: ShapeField, typeName: string): string {
  return field.rules.description ?? `The id of a ${typeName}.`
}

function describeRelation({ name, kind, table, target, local, foreign }: Relation): string {
  const doc = documentedDescription(table.type, name)
  if (doc !== undefined) return doc
  const other = target.type.name
  if (kind === 'belongsTo') return `The ${other} whose key is ${namesOf(local)}.`
  if (kind === 'manyToMany') return `Every linked ${other}.`
  return `Every ${other} whose ${namesOf(foreign)} is the key of this record.`
}

function namesOf(column: Column): string {
  return storedColumnsOf(column)
    .map(({ property }) => property)
    .join(', ')
}

function describeRules({ entry, nested, list, rules, readOnly, nullable }: ShapeField): string[] {
  const { format } = rules
  let label = format === undefined ? entry.label : formats[format].label
  if (nested !== undefined) label = `the parts of a ${nested().name}`
  const value = [list ? `a list, each ${label}` : label, ...describeBounds(rules)].join(', ')
  return [
    value,
    ...(rules.minItems !== undefined || rules.maxItems !== undefined
      ? [describeRange(rules.minItems, rules.maxItems, 'items')]
      : []),
    ...(rules.unique === true ? ['unique'] : []),
    ...(rules.oneOf === undefined
      ? []
      : [`one of ${rules.oneOf.map((value) => describeChoice(value, rules.labels)).join(', ')}`]),
    ...(nullable ? ['may be null'] : []),
    ...(readOnly ? ['set by the server'] : []),
  ]
}

/** `new (Not started)` */
function describeChoice(value: unknown, labels: FieldRules['labels'] = {}): string {
  const label = labels[String(value)]
  return label === undefined ? String(value) : `${String(value)} (${label})`
}

function describeBounds(rules: Readonly<FieldRules>): string[] {
  const { min, max, minLength, maxLength, pattern } = rules
  return [
    ...(min === undefined && max === undefined ? [] : [describeRange(min, max, '')]),
    ...(minLength === undefined && maxLength === undefined
      ? []
      : [describeRange(minLength, maxLength, 'characters')]),
    ...(pattern === undefined ? [] : [`in the form ${String(pattern)}`]),
  ]
}

/** `from 1 to 5`, `at most 80 characters`. */
function describeRange(
  min: number | string | undefined,
  max: number | string | undefined,
  unit: string,
): string {
  const counted = unit === '' ? '' : ` ${unit}`
  if (min !== undefined && max !== undefined) return `from ${min} to ${max}${counted}`
  return min === undefined ? `at most ${max}${counted}` : `at least ${min}${counted}`
}

function sentences(phrases: readonly string[]): string {
  return phrases.map((phrase) => `${titled(phrase)}.`).join(' ')
}

/**
 * `Product`. All fields except the key are nullable, so that an error in one field does not affect the others.
 *
 * ```graphql
 * type Product { id: ID!  name: String  category: Category  reviews(limit: Int = 10, …): [Review!] }
 * ```
 */
export function declareObject(model: RecordModel, services: RecordServices): TypeDeclaration {
  const fields: Record<string, GraphqlField> = {}
  for (const field of model.fields.values()) fields[field.name] = declareColumn(field, model)
  for (const relation of model.relations.values()) {
    fields[relation.name] = declareRelation(relation, services)
    const { countName } = relation
    if (countName !== undefined) fields[countName] = declareCount(relation, services)
  }
  for (const method of model.methods) fields[method.name] = declareMethod(method, model)
  const interfaces = model.ids.type === undefined ? [] : [nodeName]
  return { kind: 'object', fields, interfaces, description: describeRecord(model) }
}

/** `Money`, a nested class. All fields are nullable, because rows may be older than a field. */
export function declareNestedObject(model: NestedModel): TypeDeclaration {
  const fields: Record<string, GraphqlField> = {}
  for (const field of model.fields.values()) fields[field.name] = declareColumn(field, model)
  return { kind: 'object', fields, description: describeNested(model) }
}

/** `MoneyInput`. @returns `undefined` if clients cannot write any field */
export function declareNestedInput(model: NestedModel): TypeDeclaration | undefined {
  const fields: Record<string, ArgumentDeclaration> = {}
  for (const field of model.fields.values())
    if (field.isInput)
      fields[field.name] = { type: inputTypeOf(field), description: describeColumn(field, model) }
  const description = `The values of a ${model.name}. It is replaced as a whole.`
  return Object.keys(fields).length === 0 ? undefined : { kind: 'input', fields, description }
}

function describeNested({ type }: NestedModel): string {
  const doc = classDoc(type)
  return doc?.description ?? doc?.summary ?? `The parts of a ${type.name}.`
}

function declareColumn(
  field: FieldModel,
  model: Pick<RecordModel, 'type'> & Partial<Pick<RecordModel, 'table'>>,
): GraphqlField {
  const { type, column, access } = field
  const output = outputOf(field)
  return {
    type: column.isKey || isPartOfKey(model, column) ? `${type}!` : type,
    description: describeColumn(field, model),
    extensions: { [generatedKey]: { kind: 'column', field } },
    resolve:
      access === undefined
        ? output
        : (record, _args, context) => admitted([access], callerOf(context), () => output(record)),
  }
}

function isPartOfKey({ table }: Partial<Pick<RecordModel, 'table'>>, column: Column): boolean {
  return table?.key.parts?.includes(column) === true
}

function declareRelation(relation: RelationModel, services: RecordServices): GraphqlField {
  const { target, isList } = relation
  return {
    type: isList ? `[${target.name}!]` : target.name,
    ...(isList ? { args: declareArguments(target, 'related') } : {}),
    description: describeRelation(relation.relation),
    extensions: { [generatedKey]: { kind: 'relation', relation } },
    resolve: relationResolver(relation, services),
  }
}

function declareCount(relation: RelationModel, services: RecordServices): GraphqlField {
  return {
    type: 'Int',
    description: `The number of rows in ${relation.name} that the caller may see.`,
    extensions: { [generatedKey]: { kind: 'relationCount', relation } },
    resolve: countResolver(relation, services),
  }
}

/** The description of a field, in every type. */
export function describeColumn(
  { column, ids, access }: FieldModel,
  { type }: Pick<RecordModel, 'type'>,
): string {
  const isPlain = ids?.type === undefined || column.isKey
  const text = isPlain ? describeField(type, column.field) : describeKey(column.field, ids.type)
  return withDemands(text, access)
}

function declareMethod(
  { member, metadata, rules }: MethodModel,
  { type }: RecordModel,
): GraphqlField {
  const { args, description = documentedDescription(type, member) } = metadata.options
  const prototype = type.prototype as Readonly<Record<string, unknown>>
  const call = prototype[member] as (args: unknown, context: unknown) => unknown
  return {
    type: metadata.type,
    args,
    description: withAllDemands(description ?? describeOutput(metadata.type), rules),
    resolve: (record, args, context) =>
      admitted(rules, callerOf(context), () => call.call(record, args, context) as never),
  }
}

function withAllDemands(description: string, rules: readonly AccessRule[]): string {
  return rules.reduce(withDemands, description)
}

/** A field of `addField` on a record, with the rules of the fields that it needs. */
export function protectAddedField(
  table: Table,
  name: string,
  field: GraphqlField,
  problems: Problems,
): GraphqlField {
  const { extensions = {} } = field
  // Without a resolver, the field reads the property of its name.
  const ownName = field.resolve === undefined ? [name] : undefined
  const fields = fieldsReadOf(extensions)
  reportFieldsRead(`${table.type.name}.${name}`, table, fields, problems)
  const rules = inheritedRules(table, { needs: ownName, ...fields })
  if (rules.length === 0) return field
  const readOwn = (record: unknown): unknown => (record as Record<string, unknown>)[name]
  return {
    ...field,
    description: withAllDemands(field.description ?? describeOutput(field.type), rules),
    resolve: (record, args, context, info) =>
      admitted(rules, callerOf(context), () =>
        field.resolve === undefined ? readOwn(record) : field.resolve(record, args, context, info),
      ),
  }
}

/** The options `needs` and `open` of `addField`. */
function fieldsReadOf({ needs, open }: Readonly<Record<string, unknown>>): FieldsRead {
  return {
    ...(needs !== undefined && { needs: needs as readonly string[] }),
    ...(open !== undefined && { open: open === true }),
  }
}

/**
 * `ProductInput`, for creating and updating, so no field is required.
 *
 * @returns `undefined` if clients cannot write any field
 */
export function declareInput(model: RecordModel): TypeDeclaration | undefined {
  const fields: Record<string, ArgumentDeclaration> = {}
  for (const field of model.fields.values()) {
    const { name, isInput } = field
    if (isInput)
      fields[name] = { type: inputTypeOf(field), description: describeColumn(field, model) }
  }
  for (const { name, target, isList, isLinkable, idsName } of model.relations.values()) {
    if (idsName !== undefined) {
      const description = `The keys of every linked ${target.name}. Replaces all links.`
      fields[idsName] = { type: `[${keyType(target)}!]`, description }
    }
    if (operationsOn(target, isLinkable).length === 0) continue
    const type = isList ? `[${target.name}NestedList!]` : `${target.name}Nested`
    fields[name] = { type, description: `Writes to the related ${target.name}.` }
  }
  const description = `The values of a ${model.name}. An update changes only the fields that it names.`
  return hasInput(model) ? { kind: 'input', fields, description } : undefined
}
