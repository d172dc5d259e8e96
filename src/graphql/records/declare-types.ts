/** Declares the object and input types of a record. Source: specification, GraphQL types generated from a record class. */
import { withDemands } from '../../auth/access.js'
import type { ArgumentDeclaration, FieldDeclaration, TypeDeclaration } from '../declarations.js'
import { admitted } from '../../records/rights/caller.js'
import { callerOf } from '../caller.js'
import { describeOutput } from '../describe.js'
import { nodeName } from './declare-node.js'
import { generatedKey } from '../generated-part.js'
import { hasInput } from './model.js'
import type { FieldModel, MethodModel, RecordModel, RelationModel } from './model.js'
import {
  describedMember,
  describeField,
  describeKey,
  describeRecord,
  describeRelation,
} from './describe-field.js'
import { outputOf } from './output.js'
import { operationsOn } from './read-input.js'
import { defaultLimit } from './question.js'
import { countResolver, relationResolver, type RecordServices } from './resolve-records.js'

/**
 * `Product`. All but the key can be null: a field that cannot be resolved then costs nothing around it.
 *
 * ```graphql
 * type Product { id: ID!  name: String  category: Category  reviews(limit: Int = 10, …): [Review!] }
 * ```
 */
export function declareObject(model: RecordModel, services: RecordServices): TypeDeclaration {
  const fields: Record<string, FieldDeclaration> = {}
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

function declareColumn(field: FieldModel, model: RecordModel): FieldDeclaration {
  const { type, column, access } = field
  const output = outputOf(field)
  return {
    type: column.isKey ? `${type}!` : type,
    description: describeColumn(field, model),
    extensions: { [generatedKey]: { kind: 'column', field } },
    resolve:
      access === undefined
        ? output
        : (record, _args, context) => admitted([access], callerOf(context), () => output(record)),
  }
}

function declareRelation(relation: RelationModel, services: RecordServices): FieldDeclaration {
  const { target, isList } = relation
  return {
    type: isList ? `[${target.name}!]` : target.name,
    ...(isList ? { args: listArguments(target) } : {}),
    description: describeRelation(relation.relation),
    extensions: { [generatedKey]: { kind: 'relation', relation } },
    resolve: relationResolver(relation, services),
  }
}

function declareCount(relation: RelationModel, services: RecordServices): FieldDeclaration {
  return {
    type: 'Int',
    description: `The number of rows in ${relation.name} that the caller may see.`,
    extensions: { [generatedKey]: { kind: 'relationCount', relation } },
    resolve: countResolver(relation, services),
  }
}

/** What is said of a field wherever it stands. */
export function describeColumn({ column, ids, access }: FieldModel, { type }: RecordModel): string {
  const isPlain = ids?.type === undefined || column.isKey
  const text = isPlain ? describeField(type, column.field) : describeKey(column.field, ids.type)
  return withDemands(text, access)
}

/** `(limit: Int = 10, offset: Int = 0, where: ProductWhere, orderBy: [ProductOrder!])` */
export function listArguments({ name }: RecordModel): Record<string, ArgumentDeclaration> {
  return {
    limit: { type: 'Int', default: defaultLimit },
    offset: { type: 'Int', default: 0 },
    where: { type: `${name}Where` },
    orderBy: { type: `[${name}Order!]` },
  }
}

function declareMethod(
  { member, note, access }: MethodModel,
  { type }: RecordModel,
): FieldDeclaration {
  const { args, description = describedMember(type, member) } = note.options
  const prototype = type.prototype as Readonly<Record<string, unknown>>
  const call = prototype[member] as (args: unknown, context: unknown) => unknown
  return {
    type: note.type,
    args,
    description: withDemands(description ?? describeOutput(note.type), access),
    resolve: (record, given, context) =>
      admitted([access], callerOf(context), () => call.call(record, given, context) as never),
  }
}

/**
 * `ProductInput`: for create and update alike, so nothing in it is required here.
 *
 * @returns `undefined` where clients can give nothing
 */
export function declareInput(model: RecordModel): TypeDeclaration | undefined {
  const fields: Record<string, ArgumentDeclaration> = {}
  for (const field of model.fields.values()) {
    const { name, type, isInput } = field
    if (isInput) fields[name] = { type, description: describeColumn(field, model) }
  }
  for (const { name, target, isList, idsName } of model.relations.values()) {
    if (idsName !== undefined) {
      const description = `The keys of every ${target.name} that it is tied to, in place of those before.`
      fields[idsName] = { type: '[ID!]', description }
    }
    if (operationsOn(target, isList && idsName === undefined).length === 0) continue
    const type = isList ? `[${target.name}NestedList!]` : `${target.name}Nested`
    fields[name] = { type, description: `What is done with its ${target.name}.` }
  }
  const description = `What a client may say of a ${model.name}. An update changes only what it names.`
  return hasInput(model) ? { kind: 'input', fields, description } : undefined
}
