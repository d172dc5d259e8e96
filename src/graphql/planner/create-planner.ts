/**
 * The planner: compiles a root field whose complete selection is generated to one SQL statement that returns its JSON.
 * Source: decisions, GraphQL.
 */
import type { GraphQLObjectType, GraphQLSchema } from 'graphql'
import { toKey } from '../../records/model/codec.js'
import {
  isUnplannable,
  unplannable,
  type Planner,
  type PlanRequest,
  type RootPlan,
  type Unplannable,
} from '../planner-contract.js'
import { hasUnplannedInput } from '../records/declare-arguments.js'
import { modelOf } from '../records/declare-node.js'
import { generatedOf, type GeneratedField, type RecordModel } from '../records/model.js'
import { allOf } from '../../sql/condition.js'
import type { Limit, Reading } from '../../sql/tree.js'
import { readRequestedPage } from '../records/pages.js'
import { inGivenShard, type QueryReader } from '../records/query-reader.js'
import { listReadingOf } from '../../records/statements/select-rows.js'
import type { RecordsContext } from '../../records/statements/source.js'
import { readKey } from '../records/row-keys.js'
import { checkShard } from '../../records/statements/shard.js'
import type { RecordServices } from '../records/resolve-records.js'
import { compileArguments } from './compile-arguments.js'
import {
  selectionOf,
  pageOf,
  objectOf,
  SelectionCompiler,
  type ObjectSelection,
  type SelectedPage,
} from './selection.js'
import { PlannedMutation, PlannedQuery, StatementPreparation, type ReadRoot } from './root-plans.js'

export function createPlanner(services: RecordServices, schema: GraphQLSchema): Planner {
  return {
    plan: (request) => {
      const generated = generatedOf(request.field)
      if (generated?.kind === 'node') return planNode(generated.models, request, services, schema)
      if (generated === undefined || !('model' in generated))
        return unplannable(`${request.field.name} has a resolver.`)
      return planRoot(generated, request, services)
    },
  }
}

function planRoot(
  generated: Extract<GeneratedField, { model: RecordModel }>,
  { field, nodes, fragments, conditions }: PlanRequest,
  services: RecordServices,
): RootPlan | Unplannable {
  const { kind, model } = generated
  const compiler = new SelectionCompiler(
    { fragments, conditions },
    services.database().context.dialect,
  )
  const [node] = nodes
  const args = compileArguments(field, node)
  const preparation = new StatementPreparation(compiler, services)
  if (kind !== 'create' && kind !== 'update' && kind !== 'delete') {
    const isFixed = args.constant !== undefined
    const read = compileRead(kind, { model, compiler, field, nodes, isFixed })
    return isUnplannable(read) ? read : new PlannedQuery({ args, read, preparation, services })
  }
  if (model.table.shard !== undefined)
    return unplannable('The shard of a written row is only known after the write.')
  const object = kind === 'delete' ? undefined : compiler.object(objectOf(field.type), model, nodes)
  if (isUnplannable(object)) return object
  return new PlannedMutation({ kind, model, args, object, preparation, services })
}

/**
 * Plans `node(id)`. The id decides about the type of the record, so each type gets its own plan when it is first used.
 */
function planNode(
  models: ReadonlyMap<string, RecordModel>,
  { field, nodes, fragments, conditions }: PlanRequest,
  services: RecordServices,
  schema: GraphQLSchema,
): RootPlan {
  const args = compileArguments(field, nodes[0])
  const plans = new Map<RecordModel, RootPlan | Unplannable>()
  const planOf = (model: RecordModel): RootPlan | Unplannable => {
    const cached = plans.get(model)
    if (cached !== undefined) return cached
    const compiler = new SelectionCompiler(
      { fragments, conditions },
      services.database().context.dialect,
    )
    const type = schema.getType(model.name) as GraphQLObjectType
    if (model.access !== undefined) compiler.demand(model.access)
    const object = compiler.object(type, model, nodes)
    const preparation = new StatementPreparation(compiler, services)
    const plan = isUnplannable(object)
      ? object
      : new PlannedQuery({ args, read: readOne(model, object), preparation, services })
    plans.set(model, plan)
    return plan
  }
  return {
    kind: 'plan',
    run: (context, variables) => {
      const model = modelOf(models, args.read(variables).id)
      if (model === undefined) return 'null'
      const plan = planOf(model)
      return plan.kind === 'plan' ? plan.run(context, variables) : plan
    },
  }
}

interface Compiling extends Pick<PlanRequest, 'field' | 'nodes'> {
  readonly model: RecordModel
  readonly compiler: SelectionCompiler
  /** The root field's arguments contain no variables. */
  readonly isFixed: boolean
}

function compileRead(kind: GeneratedField['kind'], compiling: Compiling): ReadRoot | Unplannable {
  const { model, compiler, field, nodes, isFixed } = compiling
  if (kind === 'count') return readCount(model)
  if (kind === 'page') {
    const entries = compiler.page(objectOf(field.type), nodes)
    return isUnplannable(entries) ? entries : readPage(model, entries)
  }
  if (kind !== 'one' && kind !== 'list') return unplannable(`${field.name} has a resolver.`)
  const object = compiler.object(objectOf(field.type), model, nodes)
  if (isUnplannable(object)) return object
  if (kind === 'list') {
    return (args, reader, context) => {
      if (hasUnplannedInput(args))
        return unplannable(`Resolvers read arguments of ${field.name} beyond those of relations.`)
      const query = reader.list(model, args, isFixed)
      const { table } = model
      checkShard(table, query.where)
      const rows = { table, ...query }
      const reading = readingOf(rows, rows.limit, reader, context)
      return (relationQueries) => ({
        query: 'objects',
        rows: { ...rows, reading },
        selection: selectionOf(object, relationQueries),
      })
    }
  }
  return readOne(model, object)
}

function readOne(model: RecordModel, object: ObjectSelection): ReadRoot {
  const read = readByKey(model, object)
  if (model.table.shard === undefined) return read
  return (args, reader, context) => inGivenShard(model, args, () => read(args, reader, context))
}

function readByKey(model: RecordModel, object: ObjectSelection): ReadRoot {
  return (args, reader, context) => {
    const { key: id } = readKey(model, args)
    const key = id === undefined ? undefined : toKey(context.codecOf(model.table), id)
    if (key === undefined) return undefined
    const rowFilter = reader.rowFilter(model.table)
    const where = allOf(reader.keyCondition(model.table, key), rowFilter)
    checkShard(model.table, where)
    return (relationQueries) => ({
      query: 'object',
      rows: { table: model.table, where },
      selection: selectionOf(object, relationQueries),
    })
  }
}

function readCount(model: RecordModel): ReadRoot {
  return ({ where }, reader) => {
    const rows = { table: model.table, where: reader.condition(model, where) }
    checkShard(rows.table, rows.where)
    return () => ({ query: 'count', rows })
  }
}

function readPage(model: RecordModel, entries: readonly SelectedPage[]): ReadRoot {
  return (args, reader, context) => {
    const page = readRequestedPage(model, args, reader, context)
    checkShard(model.table, page.filter)
    if (page.position !== undefined)
      return unplannable('Resolvers read pages of a search, whose cursors are offsets.')
    const slots = {
      limit: reader.values.push(page.count) - 1,
      oneMore: reader.values.push(page.count + 1) - 1,
    }
    const selected = { table: model.table, where: page.filter, order: page.readingOrder }
    const reading = readingOf(selected, slots.oneMore, reader, context)
    return (relationQueries) => {
      const query = pageOf(model, entries, page, slots, relationQueries)
      return { ...query, rows: { ...query.rows, reading } }
    }
  }
}

/** How a list with a limit reads its matches. Statements that read them in another way have another key. */
function readingOf(
  rows: Parameters<typeof listReadingOf>[0],
  limit: Limit,
  reader: QueryReader,
  context: RecordsContext,
): Reading | undefined {
  const reading = typeof limit === 'number' ? listReadingOf(rows, context) : undefined
  if (reading !== undefined) reader.key += reading
  return reading
}
