/**
 * Declares the mutations of many rows: `createProducts(input: [...])`, `updateProducts(input: [{ id, … }])`,
 * `deleteProducts(ids)`, and `upsertProduct(by, input)`. Source: decisions, Second storey: records, Many.
 */
import { openAccess, tokenAccess, type AccessRule } from '../../auth/access.js'
import { callerOf } from '../caller.js'
import type { FieldDeclaration, TypeDeclaration } from '../declarations.js'
import { declareInput } from './declare-types.js'
import { generatedKey } from '../generated-part.js'
import { hasInput, type RecordModel } from './model.js'
import { pluralOf } from './names.js'
import type { RecordServices } from './resolve-records.js'
import { keyName } from './read-input.js'
import { withShardArgument } from './shard-argument.js'
import { ManyWriter, uniqueFields, namesOf } from './write-many.js'

export function declareManyMutations(
  model: RecordModel,
  { database, listMax }: RecordServices,
): [string, FieldDeclaration][] {
  const { name, writes } = model
  const many = pluralOf(name)
  const extensions = { [generatedKey]: { kind: 'many', model } }
  const writer = (context: unknown): ManyWriter =>
    new ManyWriter(database(), callerOf(context), listMax)
  const mutations: [string, FieldDeclaration][] = []
  if (writes.delete !== false)
    mutations.push([
      `delete${many}`,
      withShardArgument(model, {
        type: 'Int',
        description: 'How many were there.',
        args: { ids: '[ID!]!' },
        access: writes.delete,
        extensions,
        resolve: (_root, { ids }, context) => writer(context).delete(model, ids as string[]),
      }),
    ])
  if (!hasInput(model)) return mutations
  if (writes.create !== false)
    mutations.push([
      `create${many}`,
      {
        type: `[${name}!]`,
        description: 'All or none, in order.',
        args: { input: `[${name}Input!]!` },
        access: writes.create,
        extensions,
        resolve: (_root, { input }, context) => writer(context).create(model, input as unknown[]),
      },
    ])
  if (writes.update !== false)
    mutations.push([
      `update${many}`,
      {
        type: `[${name}!]`,
        description: 'All or none, in order.',
        args: { input: `[${name}Changes!]!` },
        access: writes.update,
        extensions,
        resolve: (_root, { input }, context) => writer(context).update(model, input as unknown[]),
      },
    ])
  if (uniqueFields(model).length === 0) return mutations
  mutations.push([
    `upsert${name}`,
    {
      type: name,
      description:
        'Changes the row that has the unique values, or creates it. What is not named stays.',
      args: { by: `${name}Unique!`, input: `${name}Input!` },
      access: upsertAccess(writes),
      extensions,
      resolve: (_root, { by, input }, context) => writer(context).upsert(model, by, input),
    },
  ])
  return mutations
}

/** If creating and updating have different rules, the writer demands the one that applies, so here any caller with a token. */
function upsertAccess({ create, update }: RecordModel['writes']): AccessRule | undefined {
  if (create === update || update === false) return create || undefined
  if (create === false) return update
  return create?.open === true || update?.open === true ? openAccess : tokenAccess
}

/** `ProductChanges` and `ProductUnique`. */
export function declareManyTypes(model: RecordModel): [string, TypeDeclaration][] {
  const { name } = model
  const input = declareInput(model)
  if (input?.kind !== 'input') return []
  const changes: TypeDeclaration = {
    kind: 'input',
    description: 'A row, by its key, and what changes.',
    fields: { [keyName(model)]: 'ID!', ...input.fields },
  }
  const unique = uniqueFields(model)
  const types: [string, TypeDeclaration][] = [[`${name}Changes`, changes]]
  if (unique.length > 0) {
    const description = `The name of a unique field, or a list of names that are unique together: ${namesOf(unique)}.`
    types.push([`${name}Unique`, { kind: 'scalar', description }])
  }
  return types
}
