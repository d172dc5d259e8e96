/** Runs questions: lists, counts, single rows and the rows behind relations, one statement each. */
import {
  arrange,
  Slot,
  type Plan,
  type RawBuilder,
  type Sql,
} from '../../records/statements/builder.js'
import type { ColumnCodec } from '../../records/model/codec.js'
import { type Later, after, attempt } from '../../core/later.js'
import type { Row } from '../../engines/contract/engine.js'
import type { Condition } from '../../records/filters/condition.js'
import { FilterWriter } from '../../records/filters/filter-sql.js'
import { Kept } from '../../core/kept.js'
import { writeOrder, type Order } from '../../records/filters/order.js'
import type { RecordsContext, Source } from '../../records/statements/source.js'
import {
  boundToShard,
  demandShard,
  noShard,
  sameShard,
  shardCondition,
} from '../../records/statements/shard.js'
import { selected } from '../../records/statements/selected.js'
import type { Relation, Table } from '../../records/model/table.js'
import { toClientError } from '../../records/statements/write-faults.js'
import { joined } from '../../records/policy/client-view.js'
import type { ListQuestion, QuestionReader } from './question.js'

export type Instance = Record<string, unknown>

/** The rows of a list. */
export function readList(
  table: Table,
  question: ListQuestion,
  reader: QuestionReader,
  source: Source,
): Later<Instance[]> {
  const { condition, order, limit, offset } = question
  demandShard(table, condition)
  const selection = { condition, key: reader.key, count: limit, withDeleted: false }
  const plan = source.context
    .plansOf(table)
    .list(selection, order, { hasLimit: true, hasOffset: offset !== undefined })
  return after(run(plan, reader.values, table, source), (rows) => instances(table, rows, source))
}

/** The first row that a condition finds. */
export function readFirst(
  table: Table,
  condition: Condition,
  { key, values }: { readonly key: string; readonly values: readonly unknown[] },
  source: Source,
): Later<Instance | undefined> {
  demandShard(table, condition)
  const selection = { condition, key, count: values.length, withDeleted: false }
  const plan = source.context.plansOf(table).list(selection, byKey(table), { hasLimit: true })
  return after(
    run(plan, [...values, 1], table, source),
    (rows) => instances(table, rows, source)[0],
  )
}

export function readCount(
  table: Table,
  condition: Condition | undefined,
  { key, values }: { readonly key: string; readonly values: readonly unknown[] },
  source: Source,
): Later<number> {
  demandShard(table, condition)
  const selection = { condition, key, count: values.length, withDeleted: false }
  const plan = source.context.plansOf(table).count(selection)
  return after(run(plan, values, table, source), ([row]) => Number(row?.[0]))
}

/** A condition for one key, with its key and values to go with it. */
export function keyCondition(codec: ColumnCodec, key: unknown, reader: QuestionReader): Condition {
  reader.key += '='
  return { kind: 'compare', codec, operator: 'eq', slot: reader.values.push(key) - 1 }
}

/**
 * The rows behind a relation of many records: of each the ones that its own list asks for.
 *
 * @param keys driver's values of the relation's `local` column, each once
 * @returns by the key's text
 */
export function readRelated(
  relation: Relation,
  keys: readonly unknown[],
  question: ListQuestion,
  reader: QuestionReader,
  source: Source,
): Later<Map<string, Instance[]>> {
  const { context } = source
  const { values } = reader
  const packed = values.push(context.dialect.encodeList(relation.local, keys)) - 1
  const isMine =
    relation.shards === undefined ? undefined : shardCondition(relation.table, context, reader)
  if (relation.shards !== undefined && isMine === undefined) throw noShard(relation.table)
  const plan = relatedPlans(context, relation).get(reader.key, () =>
    planRelated(relation, question, { packed, isMine }, context),
  )
  return after(run(plan, values, relation.target, source), (rows) =>
    grouped(relation, rows, source),
  )
}

/** The one row behind each key, by the key's text. */
export function readByKey(
  target: Table,
  keys: readonly unknown[],
  reader: QuestionReader,
  source: Source,
): Later<Map<string, Instance>> {
  const { context } = source
  const codec = context.codecOf(target).key
  const rows = reader.rows(target)
  const packed = context.dialect.encodeList(target.key, keys)
  const slots = [reader.values.push(packed) - 1]
  const among: Condition = { kind: 'list', codec, slots, packed: true, orNull: false }
  const { values } = reader
  const condition = boundToShard(target, context, reader, joined(among, rows))
  const selection = { condition, key: `b${reader.key}`, count: values.length, withDeleted: false }
  const plan = context.plansOf(target).list(selection, byKey(target), {})
  return after(run(plan, values, target, source), (found) => {
    const owners = new Map<string, Instance>()
    for (const owner of instances(target, found, source))
      owners.set(String(owner[target.key.property]), owner)
    return owners
  })
}

const plans = new WeakMap<RecordsContext, WeakMap<Relation, Kept<Plan>>>()

function relatedPlans(context: RecordsContext, relation: Relation): Kept<Plan> {
  let ofContext = plans.get(context)
  if (ofContext === undefined) plans.set(context, (ofContext = new WeakMap()))
  let kept = ofContext.get(relation)
  if (kept === undefined) ofContext.set(relation, (kept = new Kept(100)))
  return kept
}

/**
 * Each record's own list is read by itself, inside the one statement: a window over the rows of all of them would read
 * every row that any of them has, where their lists ask for three.
 *
 * @param keys the slot of the records' keys, and what says their shard
 */
function planRelated(
  relation: Relation,
  question: ListQuestion,
  { packed, isMine }: { readonly packed: number; readonly isMine: Condition | undefined },
  context: RecordsContext,
): Plan {
  const { builder, dialect } = context
  const { sql } = builder
  const { table, target, local } = relation
  const writer = new FilterWriter(sql, dialect)
  const { condition, order } = question
  // The outer one first: what stands for the test is then the inner one's.
  const shown = order.rank && writer.rank(order.rank, 't')
  const ranking = order.rank && writer.rank(order.rank, 'i')
  const tests = [
    sql`${ledBy(relation, sql)} = ${writer.ref('p', local)}${sameShard(relation, sql, 'p', 'i')}`,
    ...(target.deletedAt === undefined ? [] : [sql`${writer.ref('i', target.deletedAt)} is null`]),
    ...(condition === undefined ? [] : [writer.write(condition, 'i')]),
  ]
  const passed = question.offset === undefined ? sql`` : sql` offset ${new Slot(question.offset)}`
  const inner = (columns: RawBuilder<unknown>): RawBuilder<unknown> =>
    sql`select ${columns} from ${ranking?.from ?? sql``}${fromOf(relation, sql)} where ${sql.join(tests, sql` and `)} order by ${writeOrder(order.terms, writer, 'i', ranking)}${writer.limit(question.limit)}${passed}`
  const columnsOf = (alias: string): RawBuilder<unknown> =>
    sql.join(target.columns.map((column) => writer.ref(alias, column)))
  const answered = sql.join(target.columns.map((column) => selected(column, { sql, dialect }, 't')))
  const [before, behind] = dialect.listTest
  const led = writer.ref('p', local)
  const own = isMine === undefined ? sql`` : sql` and ${writer.write(isMine, 'p')}`
  const asked = sql`${led} ${sql.raw(before)}${new Slot(packed)}${sql.raw(behind)}${own}`
  const parents = sql`${sql.table(table.name)} as p`
  const chosen = sql`select ${led} as filigree_led, ${answered}`
  // Without `lateral` the rows of a list of keys are found at once.
  const rows = !dialect.hasLateral
    ? sql`${chosen} from ${parents} cross join ${sql.table(target.name)} as t${shown?.behind ?? sql``} where ${asked}${shown === undefined ? sql`` : sql` and ${shown.test}`}${sameShard(relation, sql, 'p', 't')} and ${writer.ref('t', target.key)} in (${inner(writer.ref('i', target.key))})`
    : sql`${chosen} from ${parents} cross join lateral (${inner(columnsOf('i'))}) as t where ${asked}`
  const fragment = sql`${rows} order by ${writeOrder(order.terms, writer, 't', shown)}`
  return builder.compile(fragment, { table: table.name })
}

function ledBy({ join, foreign }: Relation, sql: Sql): RawBuilder<unknown> {
  return join === undefined ? sql.ref(`i.${foreign.name}`) : sql.ref(`j.${join.from}`)
}

/** The table behind a relation as `i`, with the pairs that lead there as `j`. */
function fromOf({ join, foreign, target }: Relation, sql: Sql): RawBuilder<unknown> {
  const table = sql`${sql.table(target.name)} as i`
  if (join === undefined) return table
  return sql`${sql.table(join.name)} as j inner join ${table} on ${sql.ref(`i.${foreign.name}`)} = ${sql.ref(`j.${join.to}`)}`
}

function grouped(
  { target }: Relation,
  rows: readonly Row[],
  source: Source,
): Map<string, Instance[]> {
  const { readRow } = source.context.codecOf(target)
  const byKeyText = new Map<string, Instance[]>()
  for (const [led, ...row] of rows) {
    const key = String(led)
    const list = byKeyText.get(key)
    if (list === undefined) byKeyText.set(key, [readRow(row) as Instance])
    else list.push(readRow(row) as Instance)
  }
  return byKeyText
}

function run(
  plan: Plan,
  values: readonly unknown[],
  table: Table,
  source: Source,
): Later<readonly Row[]> {
  return attempt(
    () => source.runner().rows(plan.statement, arrange(plan, values)),
    (error) => {
      throw toClientError(error, table, 'read')
    },
  )
}

function instances(table: Table, rows: readonly Row[], source: Source): Instance[] {
  const { readRow } = source.context.codecOf(table)
  return rows.map((row) => readRow(row) as Instance)
}

function byKey(table: Table): Order {
  return { terms: [{ column: table.key, descending: false, nullsFirst: false }], key: '' }
}
