/**
 * The planner: compiles a root field whose complete selection is generated to one SQL statement that returns its JSON.
 * Source: decisions, GraphQL.
 */
import type { GraphQLObjectType, GraphQLSchema } from 'graphql'
import { toKey } from '../../records/model/codec.js'
import type { Planner, PlanRequest, RootPlan } from '../planner-contract.js'
import { modelOf } from '../records/declare-node.js'
import { generatedOf, type GeneratedField, type RecordModel } from '../records/model.js'
import { allOf } from '../../sql/table.js'
import { readPageQuery } from '../records/pages.js'
import { keyCondition } from '../records/read-rows.js'
import { inGivenShard } from '../records/query-reader.js'
import { demandShard } from '../../records/statements/shard.js'
import type { RecordServices } from '../records/resolve-records.js'
import { compileArguments } from './compile-arguments.js'
import {
  formOf,
  pageOf,
  objectOf,
  SelectionCompiler,
  type ObjectSelection,
  type SelectedPage,
} from './selection.js'
import { PlannedMutation, PlannedQuery, Preparation, type ReadRoot } from './root-plans.js'

export function createPlanner(services: RecordServices, schema: GraphQLSchema): Planner {
  return {
    plan: (request) => {
      const generated = generatedOf(request.field)
      if (generated?.kind === 'node') return planNode(generated.models, request, services, schema)
      if (generated === undefined || !('model' in generated)) return undefined
      return planRoot(generated, request, services)
    },
  }
}

function planRoot(
  generated: Extract<GeneratedField, { model: RecordModel }>,
  { field, nodes, fragments, conditions }: PlanRequest,
  services: RecordServices,
): RootPlan | undefined {
  const { kind, model } = generated
  const compiler = new SelectionCompiler({ fragments, conditions })
  const [node] = nodes
  const args = compileArguments(field, node)
  const isFixed = args.constant !== undefined
  const read = compileRead(kind, { model, compiler, field, nodes, isFixed })
  const isMutation = kind === 'create' || kind === 'update' || kind === 'delete'
  // The shard of a written row is only known after the write, so resolvers read the result.
  if (isMutation && model.table.shard !== undefined) return undefined
  if (read === undefined && !isMutation) return undefined
  const object =
    kind === 'create' || kind === 'update'
      ? compiler.object(objectOf(field.type), model, nodes)
      : undefined
  const preparation = new Preparation(compiler, services)
  if (!isMutation && read !== undefined) {
    return new PlannedQuery({ args, read, preparation, services })
  }
  if (!isMutation || (object === undefined && kind !== 'delete')) return undefined
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
  const plans = new Map<RecordModel, RootPlan | undefined>()
  const planOf = (model: RecordModel): RootPlan | undefined => {
    if (plans.has(model)) return plans.get(model)
    const compiler = new SelectionCompiler({ fragments, conditions })
    const type = schema.getType(model.name) as GraphQLObjectType
    if (model.access !== undefined) compiler.demand(model.access)
    const object = compiler.object(type, model, nodes)
    const preparation = new Preparation(compiler, services)
    const read = object && readOne(model, object)
    const plan = read && new PlannedQuery({ args, read, preparation, services })
    plans.set(model, plan)
    return plan
  }
  return {
    run: (context, variables) => {
      const model = modelOf(models, args.read(variables).id)
      return model === undefined ? 'null' : planOf(model)?.run(context, variables)
    },
  }
}

interface Compiling extends Pick<PlanRequest, 'field' | 'nodes'> {
  readonly model: RecordModel
  readonly compiler: SelectionCompiler
  /** The root field's arguments contain no variables. */
  readonly isFixed: boolean
}

function compileRead(kind: GeneratedField['kind'], compiling: Compiling): ReadRoot | undefined {
  const { model, compiler, field, nodes, isFixed } = compiling
  if (kind === 'count') return readCount(model)
  if (kind === 'page') {
    const entries = compiler.page(objectOf(field.type), nodes)
    return entries && readPage(model, entries)
  }
  if (kind !== 'one' && kind !== 'list') return undefined
  const object = compiler.object(objectOf(field.type), model, nodes)
  if (object === undefined) return undefined
  if (kind === 'list') {
    return (args, reader) => {
      // Only resolvers support `distinct`.
      if (args.distinct !== undefined && args.distinct !== null)
        throw new TypeError('A list of distinct rows is not planned.')
      const query = reader.list(model, args, isFixed)
      const { table } = model
      demandShard(table, query.where)
      return (relationQueries) => ({
        query: 'objects',
        rows: { table, ...query },
        form: formOf(object, relationQueries),
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
  return ({ id }, reader, context) => {
    const codec = context.codecOf(model.table)
    const key = toKey(codec, model.ids.read(id))
    if (key === undefined) return undefined
    const rows = reader.rows(model.table)
    const where = allOf(keyCondition(model.table, key, reader), rows)
    demandShard(model.table, where)
    return (relationQueries) => ({
      query: 'object',
      rows: { table: model.table, where },
      form: formOf(object, relationQueries),
    })
  }
}

function readCount(model: RecordModel): ReadRoot {
  return ({ where }, reader) => {
    const rows = { table: model.table, where: reader.condition(model, where) }
    demandShard(rows.table, rows.where)
    return () => ({ query: 'count', rows })
  }
}

function readPage(model: RecordModel, entries: readonly SelectedPage[]): ReadRoot {
  return (args, reader, context) => {
    const page = readPageQuery(model, args, reader, context)
    demandShard(model.table, page.filter)
    // Only resolvers support pages of a search, whose cursors are offsets.
    if (page.position !== undefined) throw new TypeError('A page of a search is not planned.')
    const slots = {
      limit: reader.values.push(page.count) - 1,
      oneMore: reader.values.push(page.count + 1) - 1,
    }
    return (relationQueries) => pageOf(model, entries, page, slots, relationQueries)
  }
}
