/**
 * Generates the GraphQL declarations of record classes: types, inputs, filters, queries, mutations and subscriptions,
 * with the planner that compiles them to SQL. Source: decisions, GraphQL.
 */

import type {
  ArgumentDeclaration,
  GraphqlField,
  TypeDeclaration,
  GenerateContext,
  GenerateRecords,
} from './declarations.js'
import { generatedOf, type GeneratedField, type RecordModel } from './records/model.js'
import type { Problems } from '../errors/problems.js'
import { readTables } from '../records/model/read-table.js'
import { policyOf } from '../records/rights/record-policy.js'
import { createPlanner } from './planner/create-planner.js'
import { declareAggregateTest, declareAggregateTypes } from './records/declare-aggregates.js'
import {
  declareEnum,
  declareOrder,
  declareScalarFilters,
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
import { declareInput, declareObject, protectAddedField } from './records/declare-types.js'
import { createFieldCosts } from './records/create-field-costs.js'
import { readModels, type Models } from './records/read-models.js'
import type { RecordServices } from './records/resolve-records.js'

/** The descriptions of arguments and fields with the same meaning in every type. */
const descriptions: Readonly<Record<string, string>> = {
  after: 'A cursor. Returns only rows after it.',
  and: 'All of these conditions must hold.',
  asc: 'Smallest first, nulls last.',
  avg: 'Averages of fields.',
  before: 'A cursor. Returns only rows before it.',
  by: 'The unique field, or fields, that identify the row.',
  count: 'The number of rows.',
  cursor: 'The position of the row, for `after` and `before`.',
  edges: 'The rows of the page, in order.',
  endCursor: 'The cursor of the last row. Null if the page is empty.',
  event: 'The kind of the change.',
  expectedVersion:
    'The version that the client has read. If the row has another version, nothing is written.',
  first: 'The number of rows from the beginning, or after `after`. Default 10.',
  groupBy: 'The fields whose values form the groups. Without it, all rows are one group.',
  groupByTime: 'Timestamps and dates whose local time forms groups, in addition to `groupBy`.',
  hasNextPage: 'Whether there are rows after the page.',
  hasPreviousPage: 'Whether there are rows before the page.',
  having: 'Conditions for groups.',
  id: 'The key.',
  ids: 'The keys.',
  input: 'The values to write.',
  last: 'The number of rows from the end, or before `before`. Cannot be combined with `first`.',
  limit: 'The maximum number of rows.',
  max: 'Largest values of fields.',
  min: 'Smallest values of fields.',
  node: 'The record.',
  not: 'This condition must not hold.',
  offset: 'The number of rows to skip.',
  or: 'At least one of these conditions must hold.',
  orderBy: 'The order of the rows. Default: by the key.',
  pageInfo: 'The position of the page.',
  path: 'The path of the value: keys and list indexes.',
  startCursor: 'The cursor of the first row. Null if the page is empty.',
  sum: 'Sums of fields.',
  totalCount: 'The number of rows on all pages.',
  where: 'Conditions for the rows. All must hold. Default: all rows.',
}

/** The descriptions of root fields by their kind. */
const roots: Readonly<
  Partial<Record<GeneratedField['kind'], (model: Pick<RecordModel, 'name'>) => string>>
> = {
  one: ({ name }) =>
    `A ${name} by its key. Null if it does not exist or the caller may not see it.`,
  list: ({ name }) => `Every ${name} that the caller may see, at most 10 by default.`,
  count: ({ name }) => `The number of ${name} rows that the caller may see.`,
  page: ({ name }) => `A page of ${name} rows, by cursor.`,
  create: ({ name }) => `Creates a ${name}.`,
  update: ({ name }) =>
    `Updates the fields of a ${name} that input names. Null with the error NOT_FOUND if it does not exist.`,
  delete: ({ name }) => `Deletes a ${name}. Returns false if it does not exist.`,
}

function describeRoots(fields: Map<string, GraphqlField>): void {
  for (const [name, field] of fields) fields.set(name, withDescription(field, undefined))
}

function describeTypes(types: Map<string, TypeDeclaration>): void {
  for (const [name, type] of types) {
    if (type.kind === 'object') {
      const fields = Object.entries(type.fields).map(([key, field]) => [
        key,
        withDescription(typeof field === 'string' ? { type: field } : field, descriptions[key]),
      ])
      types.set(name, { ...type, fields: Object.fromEntries(fields) as typeof type.fields })
    } else if (type.kind === 'input')
      types.set(name, { ...type, fields: describeInputs(type.fields) })
  }
}

function withDescription(field: GraphqlField, fallback: string | undefined): GraphqlField {
  const generated = generatedOf(field)
  const generatedDescription =
    generated !== undefined && 'model' in generated
      ? roots[generated.kind]?.(generated.model)
      : undefined
  const description = field.description ?? generatedDescription ?? fallback
  return {
    ...field,
    ...(description === undefined ? {} : { description }),
    ...(field.args === undefined ? {} : { args: describeInputs(field.args) }),
  }
}

function describeInputs(
  declarations: Readonly<Record<string, string | ArgumentDeclaration>>,
): Record<string, ArgumentDeclaration> {
  const all: Record<string, ArgumentDeclaration> = {}
  for (const [name, declared] of Object.entries(declarations)) {
    const argument = typeof declared === 'string' ? { type: declared } : declared
    const description = argument.description ?? descriptions[name]
    all[name] = description === undefined ? argument : { ...argument, description }
  }
  return all
}

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
  const tables = readTables(classes, problems, false)
  const { only, visible } = context
  const models = readModels(
    only === undefined ? tables : tables.filter(({ type }) => only.has(type)),
    problems,
    { hasGlobalIds: context.relay, only, added: context.added, visible },
  )
  const types = new Names<TypeDeclaration>('type', problems)
  const queries = new Names<GraphqlField>('query', problems)
  const mutations = new Names<GraphqlField>('mutation', problems)
  const subscriptions = new Names<GraphqlField>('subscription', problems)
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
