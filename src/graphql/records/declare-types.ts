/** Declares the object and input types of a record. Source: specification, GraphQL types generated from a record class. */
import type { ArgumentDeclaration, FieldDeclaration, TypeDeclaration } from '../declarations.js'
import { admitted } from '../../records/policy/caller.js'
import { callerOf } from '../caller.js'
import { nodeName } from './declare-node.js'
import { generatedKey } from './model.js'
import type { FieldModel, MethodModel, RecordModel, RelationModel } from './model.js'
import { outputOf } from './output.js'
import { defaultLimit } from './question.js'
import { relationResolver, type RecordServices } from './resolve-records.js'

/**
 * `Product`. All but the key can be null: a field that cannot be resolved then costs nothing around it.
 *
 * ```graphql
 * type Product { id: ID!  name: String  category: Category  reviews(limit: Int = 10, …): [Review!] }
 * ```
 */
export function declareObject(model: RecordModel, services: RecordServices): TypeDeclaration {
  const fields: Record<string, FieldDeclaration> = {}
  for (const field of model.fields.values()) fields[field.name] = declareColumn(field)
  for (const relation of model.relations.values())
    fields[relation.name] = declareRelation(relation, model, services)
  for (const method of model.methods) fields[method.name] = declareMethod(method, model)
  const interfaces = model.ids.type === undefined ? [] : [nodeName]
  return { kind: 'object', fields, interfaces }
}

function declareColumn(field: FieldModel): FieldDeclaration {
  const { type, column, access } = field
  const output = outputOf(field)
  return {
    type: column.isKey ? `${type}!` : type,
    description: column.field.rules.description,
    extensions: { [generatedKey]: { kind: 'column', field } },
    resolve:
      access === undefined
        ? output
        : (record, _args, context) => admitted([access], callerOf(context), () => output(record)),
  }
}

function declareRelation(
  relation: RelationModel,
  { table }: RecordModel,
  services: RecordServices,
): FieldDeclaration {
  const { target, isList } = relation
  const description = table.shape.byName.get(relation.relation.name)?.rules.description
  return {
    type: isList ? `[${target.name}!]` : target.name,
    ...(isList ? { args: listArguments(target) } : {}),
    description,
    extensions: { [generatedKey]: { kind: 'relation', relation } },
    resolve: relationResolver(relation, services),
  }
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
  const { args, description } = note.options
  const prototype = type.prototype as Readonly<Record<string, unknown>>
  const call = prototype[member] as (args: unknown, context: unknown) => unknown
  return {
    type: note.type,
    args,
    description,
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
  for (const { name, type, column, isInput } of model.fields.values()) {
    if (isInput) fields[name] = { type, description: column.field.rules.description }
  }
  for (const { name, target, isList, idsName } of model.relations.values()) {
    if (idsName !== undefined) fields[idsName] = { type: '[ID!]' }
    else if (hasInput(target))
      fields[name] = { type: isList ? `[${target.name}Input!]` : `${target.name}Input` }
  }
  return hasInput(model) ? { kind: 'input', fields } : undefined
}

/** True where a client can give something: GraphQL has no empty inputs. */
export function hasInput({ fields, relations, isWritable }: RecordModel): boolean {
  if (!isWritable) return false
  if ([...fields.values()].some(({ isInput }) => isInput)) return true
  return [...relations.values()].some(({ idsName }) => idsName !== undefined)
}
