/**
 * Declares the mutations of many rows: `createProducts(input: [...])`, `updateProducts(input: [{ id, … }])`,
 * `deleteProducts(ids)`, and `upsertProduct(by, input)`. Source: decisions, Records: writes.
 */

import type { Instance } from '../../records/model/table.js'
import { isPlainObject } from '../../core/json.js'
import type { MaybePromise } from '../../core/maybe-promise.js'
import { invalid } from '../../records/filters/query-errors.js'
import type { Database } from '../../records/database.js'
import type { Id } from '../../records/filters/list-options.js'
import { partsOfKey } from '../../records/model/record-key.js'
import type { Caller } from '../../records/rights/caller.js'
import { clientWriter } from '../../records/clients/client-writer.js'
import type { CallerWriter } from '../../records/policy/caller-writer.js'
import { RowListWriter } from '../../records/policy/row-list-writer.js'
import { noSuchRow } from '../../records/statements/client-errors.js'
import { uniqueKeys } from '../../records/statements/upsert.js'
import { type FieldModel, type RecordModel, hasInput } from './model.js'
import {
  checkOperations,
  type KeyedTree,
  type WriteTree,
} from '../../records/statements/write-tree.js'
import {
  declareKey,
  declareKeyType,
  hasKeyParts,
  keyNames,
  keyType,
  readInputKey,
  readKey,
} from './row-keys.js'
import { readInput, resultExtensions } from './write-records.js'
import { openAccess, tokenAccess, type AccessRule } from '../../auth/access.js'
import { callerOf } from '../operation-caller.js'
import { type GraphqlField, type TypeDeclaration, generatedKey } from '../declarations.js'
import { declareInput } from './declare-types.js'
import { pluralOf } from './names.js'
import type { RecordServices } from './resolve-records.js'
import { withShardArgument } from './query-reader.js'

/** Reads the inputs of these mutations, and writes them through the record's policy. */
class ManyWriter {
  readonly #writer: CallerWriter
  readonly #lists: RowListWriter
  readonly #maxRows: number

  /** @param maxRows the maximum number of rows in one mutation */
  constructor(database: Database, caller: Caller, maxRows: number) {
    this.#writer = clientWriter(database, caller)
    this.#lists = new RowListWriter(this.#writer)
    this.#maxRows = maxRows
  }

  /** @throws {HttpError} 400 `VALIDATION` and 409 `CONFLICT` with paths below `input.0`; 403 outside the caller's rows */
  create(model: RecordModel, inputs: readonly unknown[]): MaybePromise<Instance[]> {
    this.#check('input', inputs)
    const trees = inputs.map((one, index) => readInput(model, one, `input.${index}`))
    return this.#lists.create({
      table: model.table,
      values: trees.map(({ values }) => values),
      treeAt: (index) => trees[index] as WriteTree,
    })
  }

  /** @throws {HttpError} as `create`; 404 `NOT_FOUND` for a row that does not exist or that the caller may not see */
  update(model: RecordModel, inputs: readonly unknown[]): MaybePromise<Instance[]> {
    this.#check('input', inputs)
    const names = keyNames(model)
    const { table } = model
    const trees = inputs.map((one, index): KeyedTree => {
      const fields = isPlainObject(one) ? one : {}
      const values = Object.entries(fields).filter(([name]) => !names.includes(name))
      const tree = readInput(model, Object.fromEntries(values), `input.${index}`)
      checkOperations(tree)
      const { key, text } = readKey(model, fields, names[0])
      if (key === undefined && (model.ids.type !== undefined || hasKeyParts(model)))
        throw noSuchRow(model.name, text)
      return { id: key as Id, tree }
    })
    return this.#lists.update({
      table,
      values: trees.map(({ id, tree: { values } }) => ({
        ...values,
        ...partsOfKey(table.key, id),
      })),
      treeAt: (index) => trees[index] as KeyedTree,
    })
  }

  delete(model: RecordModel, ids: readonly unknown[]): MaybePromise<number> {
    this.#check('ids', ids)
    const keys = ids.map((id) => readInputKey(model, id))
    return this.#lists.delete(
      model.table,
      keys.filter((key) => key !== undefined),
    )
  }

  /** @throws {HttpError} as `create`; 400 if the fields are not unique, or if the input has no values for them */
  upsert(model: RecordModel, by: unknown, input: unknown): Promise<Instance> {
    const keys = uniqueFields(model)
    const names: ReadonlySet<unknown> = new Set(Array.isArray(by) ? by : [by])
    const fields = keys.find(
      (key) => key.length === names.size && key.every(({ name }) => names.has(name)),
    )
    if (fields === undefined) {
      const visible = keys.filter((key) => key.every(({ access }) => access === undefined))
      throw invalid(
        'by',
        'unique',
        `must name a unique field, or fields that are unique together: ${namesOf(visible)}`,
      )
    }
    const tree = readInput(model, input, 'input')
    checkOperations(tree)
    for (const { column, name } of fields) {
      const value = tree.values[column.property]
      if (value === undefined || value === null)
        throw invalid(`input.${name}`, 'required', 'is required, because it identifies the row')
    }
    return this.#writer.upsert(
      tree,
      fields.map(({ column }) => column),
    )
  }

  #check(path: string, items: readonly unknown[]): void {
    if (items.length > this.#maxRows)
      throw invalid(path, 'maxItems', `must have at most ${this.#maxRows} items`)
  }
}

/** The unique fields, alone or together, whose values inputs may contain. */
function uniqueFields({ fields, table }: RecordModel): FieldModel[][] {
  const inputs = [...fields.values()].filter(({ isInput }) => isInput)
  return uniqueKeys(table, true).flatMap((columns) => {
    const key = inputs.filter(({ column }) => columns.includes(column))
    return key.length === columns.length ? [key] : []
  })
}

/** `name, ["userId", "articleId"]` */
function namesOf(keys: readonly (readonly FieldModel[])[]): string {
  const texts = keys.map((key) => {
    const [first, ...rest] = key.map(({ name }) => name)
    return rest.length === 0 ? first : JSON.stringify([first, ...rest])
  })
  return texts.join(', ')
}

export function declareManyMutations(
  model: RecordModel,
  { database, listMax }: RecordServices,
): [string, GraphqlField][] {
  const { name, writes } = model
  const many = pluralOf(name)
  const extensions = { [generatedKey]: { kind: 'many', model } }
  const writer = (context: unknown): ManyWriter =>
    new ManyWriter(database(), callerOf(context), listMax)
  const mutations: [string, GraphqlField][] = []
  if (writes.delete !== false)
    mutations.push([
      `delete${many}`,
      withShardArgument(model, {
        type: 'Int',
        description: 'Deletes rows. Returns the number of rows that existed.',
        args: { ids: `[${keyType(model)}!]!` },
        access: writes.delete,
        extensions,
        resolve: (_root, { ids }, context) => writer(context).delete(model, ids as unknown[]),
      }),
    ])
  if (!hasInput(model)) return mutations
  if (writes.create !== false)
    mutations.push([
      `create${many}`,
      {
        type: `[${name}!]`,
        description: 'Creates rows, all or none. Returns them in the order of the input.',
        args: { input: `[${name}Input!]!` },
        access: writes.create,
        extensions: { ...extensions, ...resultExtensions(model, 'create') },
        resolve: (_root, { input }, context) => writer(context).create(model, input as unknown[]),
      },
    ])
  if (writes.update !== false)
    mutations.push([
      `update${many}`,
      {
        type: `[${name}!]`,
        description: 'Updates rows, all or none. Returns them in the order of the input.',
        args: { input: `[${name}Changes!]!` },
        access: writes.update,
        extensions: { ...extensions, ...resultExtensions(model, 'update') },
        resolve: (_root, { input }, context) => writer(context).update(model, input as unknown[]),
      },
    ])
  if (uniqueFields(model).length === 0) return mutations
  mutations.push([
    `upsert${name}`,
    {
      type: name,
      description:
        'Updates the row with the unique values, or creates it. Fields that the input does not name keep their values.',
      args: { by: `${name}Unique!`, input: `${name}Input!` },
      access: upsertAccess(writes),
      extensions: { ...extensions, ...resultExtensions(model, 'create', 'update') },
      resolve: (_root, { by, input }, context) => writer(context).upsert(model, by, input),
    },
  ])
  return mutations
}

/**
 * If creating and updating have different rules, any caller with a token may call it, and the writer checks the rule
 * that applies.
 */
function upsertAccess({ create, update }: RecordModel['writes']): AccessRule | undefined {
  if (create === update || update === false) return create || undefined
  if (create === false) return update
  return create?.open === true || update?.open === true ? openAccess : tokenAccess
}

/** `ProductChanges` and `ProductUnique`, and `OrderLineKey` for a key of several fields. */
export function declareManyTypes(model: RecordModel): [string, TypeDeclaration][] {
  const { name } = model
  const input = declareInput(model)
  const keyTypes = declareKeyType(model)
  if (input?.kind !== 'input') return keyTypes
  const changes: TypeDeclaration = {
    kind: 'input',
    description: 'The key of a row, and its changes.',
    fields: { ...input.fields, ...declareKey(model, keyNames(model)[0]) },
  }
  const unique = uniqueFields(model)
  const types: [string, TypeDeclaration][] = [...keyTypes, [`${name}Changes`, changes]]
  if (unique.length > 0) {
    const description = `The name of a unique field, or a list of names that are unique together: ${namesOf(unique)}.`
    types.push([`${name}Unique`, { kind: 'scalar', description }])
  }
  return types
}
