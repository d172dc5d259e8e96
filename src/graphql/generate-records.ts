/**
 * Generates the GraphQL declarations of record classes: types, inputs, filters, queries, mutations and subscriptions,
 * with the planner that compiles them to SQL. Source: decisions, GraphQL.
 */

import type {
  GraphqlField,
  TypeDeclaration,
  GenerateContext,
  GenerateRecords,
} from './declarations.js'
import type { RecordModel, RelationModel } from './records/model.js'
import { describeRootFields, describeTypes } from './records/generated-descriptions.js'
import { hasKey } from '../engines/contract/table.js'
import type { Problems } from '../errors/problems.js'
import { readTables } from '../records/model/read-table.js'
import { policyOf } from '../records/rights/record-policy.js'
import { createPlanner } from './planner/create-planner.js'
import { declareSharedAggregateTypes, declareAggregateTypes } from './records/declare-aggregates.js'
import {
  declareEnum,
  declareOrder,
  declareScalarFilters,
  declarePartsWhere,
  declareWhere,
  declareNestedTypes,
} from './records/declare-inputs.js'
import {
  declareConnection,
  declareMutations,
  declarePageInfo,
  declareQueries,
} from './records/declare-operations.js'
import { changeEvent, declareChange, declareSubscription } from './records/subscriptions.js'
import { declareNode, declareNodeQueries, nodeName } from './records/declare-node.js'
import { declareManyMutations, declareManyTypes } from './records/declare-many.js'
import {
  declareInput,
  declareNestedInput,
  declareNestedObject,
  declareObject,
  protectAddedField,
} from './records/declare-types.js'
import { createFieldCosts } from './records/create-field-costs.js'
import { readModels, type Models } from './records/read-models.js'
import type { RecordServices } from './records/resolve-records.js'

/**
 * Includes the records that relations lead to. The simple plural (`categorys`) is left out if another query has its
 * name.
 *
 * ```graphql
 * category(id: ID): Category        categories(limit: Int = 10, …): [Category!]      categoryCount(where: CategoryWhere): Int
 * categoriesPage(first: Int, …): CategoryConnection     createCategory(input: CategoryInput): Category
 * categoriesAggregate(groupBy: [CategoryGroup!], …): [CategoryAggregate!]
 * categoryChanged: CategoryChange
 * ```
 */
export const generateRecords: GenerateRecords = (classes, context) => {
  const { problems, database, findDatabase, listMax, maxEvents, now } = context
  const services: RecordServices = { database, findDatabase, listMax, maxEvents, now }
  // Records that a package adds to records of the application are not exposed.
  const tables = readTables(classes, problems, { withAddedRecords: false })
  const { only, visible } = context
  const models = readModels(
    only === undefined ? tables : tables.filter(({ type }) => only.has(type)),
    problems,
    { hasGlobalIds: context.relay, only, added: context.added, visible },
  )
  const types = new NamedDeclarations<TypeDeclaration>('type', problems)
  const queries = new NamedDeclarations<GraphqlField>('query', problems)
  const mutations = new NamedDeclarations<GraphqlField>('mutation', problems)
  const subscriptions = new NamedDeclarations<GraphqlField>('subscription', problems)
  declareTypes(models, services, types)
  if (context.relay) {
    const keyed = models.records.filter(({ table }) => hasKey(table))
    const byName = new Map(keyed.map((model) => [model.name, model]))
    types.add(nodeName, declareNode(byName), 'graphql: { relay: true }')
    for (const [name, query] of declareNodeQueries(byName, services))
      queries.add(name, query, 'graphql: { relay: true }')
  }
  for (const model of models.records) {
    queries.addAll(
      declareQueries(model, services).filter(([name]) => name !== model.simplePlural),
      model,
    )
    mutations.addAll(declareMutations(model, services), model)
    const { table } = model
    if (!context.subscriptions || table.options.subscriptions === false || !hasKey(table)) continue
    types.addAll([declareChange(model)], model)
    subscriptions.addAll([declareSubscription(model, services)], model)
  }
  if (subscriptions.all.size > 0) types.add('ChangeEvent', changeEvent, 'the subscriptions')
  for (const model of models.records) {
    queries.addUntaken(
      declareQueries(model, services).filter(([name]) => name === model.simplePlural),
    )
    // If a class has the name of the plural, its own mutation wins.
    mutations.addUntaken(declareManyMutations(model, services))
  }
  describeTypes(types.all)
  for (const { all } of [queries, mutations, subscriptions]) describeRootFields(all)
  return {
    types: types.all,
    queries: queries.all,
    mutations: mutations.all,
    subscriptions: subscriptions.all,
    createPlanner: (schema) => createPlanner(services, schema),
    fieldCosts: createFieldCosts(services),
    added: protectAddedFields(models.records, context),
    securedNames: new Set(models.records.flatMap(securedNames)),
    recordOfType: types.byOwner(models.records),
  }
}

function protectAddedFields(
  models: readonly RecordModel[],
  { added, problems }: GenerateContext,
): Map<string, Map<string, GraphqlField>> {
  return new Map(
    models.map(({ name: type, table }) => {
      const fields = [...(added.get(type) ?? [])].map(
        ([name, field]) => [name, protectAddedField(table, name, field, problems)] as const,
      )
      return [type, new Map(fields)]
    }),
  )
}

function securedNames({ fields, relations, methods, table }: RecordModel): string[] {
  const securedRelations = policyOf(table).relations
  const secured = [...relations.values()].filter(({ relation }) => securedRelations.has(relation))
  return [
    ...[...fields.values()].filter(({ access }) => access !== undefined).map(({ name }) => name),
    ...methods.filter(({ rules }) => rules.length > 0).map(({ name }) => name),
    ...secured.flatMap(({ name, countName }) => [name, ...(countName ? [countName] : [])]),
  ]
}

function declareTypes(
  { records, nested, enums }: Models,
  services: RecordServices,
  types: NamedDeclarations<TypeDeclaration>,
): void {
  const leadingTo = relationsByTarget(records)
  for (const model of records) {
    types.add(model.name, declareObject(model, services), model.name)
    const input = declareInput(model)
    if (input !== undefined) types.add(`${model.name}Input`, input, model.name)
    types.add(`${model.name}Where`, declareWhere(model), model.name)
    types.add(`${model.name}Order`, declareOrder(model), model.name)
    types.addAll(declareConnection(model), model)
    types.addAll(declareAggregateTypes(model), model)
    types.addAll(declareManyTypes(model), model)
    types.addAll(declareNestedTypes(model, leadingTo.get(model) ?? []), model)
  }
  for (const model of nested) {
    const owner = `${model.name} (the class of ${model.where})`
    const input = declareNestedInput(model)
    types.add(model.name, declareNestedObject(model), owner)
    if (input !== undefined) types.add(`${model.name}Input`, input, owner)
    types.add(`${model.name}Where`, declarePartsWhere(model), owner)
  }
  for (const one of enums)
    for (const [name, type] of declareEnum(one)) types.add(name, type, `the enum ${one.name}`)
  const [first] = records
  if (first === undefined) return
  for (const [name, type] of declareScalarFilters([...records, ...nested]))
    types.add(name, type, 'the filters')
  for (const [name, type] of declareSharedAggregateTypes()) types.add(name, type, 'the aggregates')
  types.add('PageInfo', declarePageInfo(first), 'the pages')
}

function relationsByTarget(
  records: readonly RecordModel[],
): ReadonlyMap<RecordModel, readonly RelationModel[]> {
  const all = new Map<RecordModel, RelationModel[]>()
  for (const { relations } of records)
    for (const relation of relations.values()) {
      const others = all.get(relation.target)
      if (others === undefined) all.set(relation.target, [relation])
      else others.push(relation)
    }
  return all
}

/** Declarations by name. Reports names that two records would use. */
class NamedDeclarations<T> {
  readonly all = new Map<string, T>()
  readonly #owners = new Map<string, string>()
  readonly #kind: string
  readonly #problems: Problems

  constructor(kind: string, problems: Problems) {
    this.#kind = kind
    this.#problems = problems
  }

  /** The records that names belong to, by name. */
  byOwner(records: readonly RecordModel[]): ReadonlyMap<string, string> {
    const recordNames = new Set(records.map(({ name }) => name))
    return new Map([...this.#owners].filter(([, owner]) => recordNames.has(owner)))
  }

  addAll(entries: readonly (readonly [string, T])[], { name }: RecordModel): void {
    for (const [key, value] of entries) this.add(key, value, name)
  }

  /** Adds only entries whose names no record uses. */
  addUntaken(entries: readonly (readonly [string, T])[]): void {
    for (const [name, value] of entries) if (!this.all.has(name)) this.all.set(name, value)
  }

  add(name: string, value: T, owner: string): void {
    const other = this.#owners.get(name)
    if (other === undefined) {
      this.#owners.set(name, owner)
      this.all.set(name, value)
      return
    }
    this.#problems.add({
      code: 'GRAPHQL_NAME_TAKEN',
      message: `${owner} and ${other} both make the GraphQL ${this.#kind} "${name}".`,
      remedy: /Change(Event)?$/.test(name)
        ? 'Rename the class, or leave subscriptions out: new GraphQL({ subscriptions: false }).'
        : "Rename one: another class name, or @Record({ name: '…', plural: '…' }).",
    })
  }
}
