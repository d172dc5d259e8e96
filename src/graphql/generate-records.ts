/**
 * Generates the GraphQL declarations of record classes: types, inputs, filters, queries, mutations and subscriptions,
 * with the planner that compiles them to SQL. Source: decisions, GraphQL.
 */
import type { Problem } from '../errors/declaration-error.js'
import { readTables } from '../records/model/read-table.js'
import { policyOf } from '../records/rights/record-policy.js'
import type { FieldDeclaration, TypeDeclaration, GenerateRecords } from './declarations.js'
import { createPlanner } from './planner/create-planner.js'
import { declareAggregateTest, declareAggregateTypes } from './records/declare-aggregates.js'
import {
  declareEnum,
  declareOrder,
  declareScalarFilters,
  declareWhere,
} from './records/declare-filters.js'
import {
  declareConnection,
  declareMutations,
  declarePageInfo,
  declareQueries,
} from './records/declare-operations.js'
import { changeEvent, declareChange, declareSubscription } from './records/declare-subscriptions.js'
import { declareNode, declareNodeQueries, nodeName } from './records/declare-node.js'
import { describeRoots, describeTypes } from './records/describe-generated.js'
import { declareManyMutations, declareManyTypes } from './records/declare-many.js'
import { declareNestedTypes } from './records/declare-nested.js'
import { declareInput, declareObject } from './records/declare-types.js'
import { createFieldCosts } from './records/create-field-costs.js'
import type { RecordModel } from './records/model.js'
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
  const { problems, database, listMax, maxEvents, now } = context
  const services: RecordServices = { database, listMax, maxEvents, now }
  // Records that a package adds to records of the application are not exposed.
  const tables = readTables(classes, problems, false)
  const { only } = context
  const models = readModels(
    only === undefined ? tables : tables.filter(({ type }) => only.has(type)),
    problems,
    { hasGlobalIds: context.relay, only, added: context.added },
  )
  const types = new Names<TypeDeclaration>('type', problems)
  const queries = new Names<FieldDeclaration>('query', problems)
  const mutations = new Names<FieldDeclaration>('mutation', problems)
  const subscriptions = new Names<FieldDeclaration>('subscription', problems)
  declareTypes(models, services, types)
  if (context.relay) {
    const byName = new Map(models.records.map((model) => [model.name, model]))
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
    if (!context.subscriptions || model.table.options.subscriptions === false) continue
    types.addAll([declareChange(model)], model)
    subscriptions.addAll([declareSubscription(model, services)], model)
  }
  if (subscriptions.all.size > 0) types.add('ChangeEvent', changeEvent, 'the subscriptions')
  for (const model of models.records) {
    for (const [name, query] of declareQueries(model, services))
      if (name === model.simplePlural && !queries.all.has(name)) queries.all.set(name, query)
    // If a class has the name of the plural, its own mutation wins.
    for (const [name, mutation] of declareManyMutations(model, services))
      if (!mutations.all.has(name)) mutations.all.set(name, mutation)
  }
  describeTypes(types.all)
  for (const { all } of [queries, mutations, subscriptions]) describeRoots(all)
  return {
    types: types.all,
    queries: queries.all,
    mutations: mutations.all,
    subscriptions: subscriptions.all,
    createPlanner: (schema) => createPlanner(services, schema),
    fieldCosts: createFieldCosts(services),
    securedNames: new Set(models.records.flatMap(securedNames)),
  }
}

function securedNames({ fields, relations, table }: RecordModel): string[] {
  const securedRelations = policyOf(table).relations
  const secured = [...relations.values()].filter(({ relation }) => securedRelations.has(relation))
  return [
    ...[...fields.values()].filter(({ access }) => access !== undefined).map(({ name }) => name),
    ...secured.flatMap(({ name, countName }) => [name, ...(countName ? [countName] : [])]),
  ]
}

function declareTypes(
  { records, enums }: Models,
  services: RecordServices,
  types: Names<TypeDeclaration>,
): void {
  for (const model of records) {
    types.add(model.name, declareObject(model, services), model.name)
    const input = declareInput(model)
    if (input !== undefined) types.add(`${model.name}Input`, input, model.name)
    types.add(`${model.name}Where`, declareWhere(model), model.name)
    types.add(`${model.name}Order`, declareOrder(model), model.name)
    types.addAll(declareConnection(model), model)
    types.addAll(declareAggregateTypes(model), model)
    types.addAll(declareManyTypes(model), model)
    types.addAll(declareNestedTypes(model, records), model)
  }
  for (const one of enums)
    for (const [name, type] of declareEnum(one)) types.add(name, type, `the enum ${one.name}`)
  const [first] = records
  if (first === undefined) return
  for (const [name, type] of declareScalarFilters(records)) types.add(name, type, 'the filters')
  for (const [name, type] of declareAggregateTest()) types.add(name, type, 'the aggregates')
  types.add('PageInfo', declarePageInfo(first), 'the pages')
}

/** Declarations by name. Reports names that two records would use. */
class Names<T> {
  readonly all = new Map<string, T>()
  readonly #owners = new Map<string, string>()
  readonly #kind: string
  readonly #problems: Problem[]

  constructor(kind: string, problems: Problem[]) {
    this.#kind = kind
    this.#problems = problems
  }

  addAll(entries: readonly (readonly [string, T])[], { name }: RecordModel): void {
    for (const [key, value] of entries) this.add(key, value, name)
  }

  add(name: string, value: T, owner: string): void {
    const other = this.#owners.get(name)
    if (other === undefined) {
      this.#owners.set(name, owner)
      this.all.set(name, value)
      return
    }
    this.#problems.push({
      code: 'GRAPHQL_NAME_TAKEN',
      message: `${owner} and ${other} both make the GraphQL ${this.#kind} "${name}".`,
      remedy: /Change(Event)?$/.test(name)
        ? 'Rename the class, or leave subscriptions out: new GraphQL({ subscriptions: false }).'
        : "Rename one: another class name, or @Record({ name: '…', plural: '…' }).",
    })
  }
}
