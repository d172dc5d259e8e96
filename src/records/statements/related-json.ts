/**
 * Reads related rows in the statement of their parents: each relation is a column with the JSON of its rows, in the
 * form in which the driver would return them. Source: decisions, Second storey: records, `crud`.
 */
import { HttpError } from '../../errors/http-error.js'
import { FilterWriter } from '../filters/filter-sql.js'
import type { Condition } from '../filters/condition.js'
import type { Relation, Table } from '../model/table.js'
import type { Row } from '../../engines/contract/engine.js'
import type { RawBuilder } from './builder.js'
import type { Slots } from './rows-view.js'
import { sameShard } from './shard.js'
import type { RecordsContext } from './source.js'

type Fragment = RawBuilder<unknown>
type Instance = Record<string, unknown>

/** What is wanted of a relation. */
export interface RelatedQuestion {
  readonly relation: Relation
  /** The condition for its rows; the values are in the statement's slots. */
  readonly condition: Condition | undefined
  readonly below: readonly RelatedQuestion[]
}

/** Columns after those of a list. */
export interface RelatedColumns {
  /** The same for queries that differ in values only. */
  readonly key: string
  /** @param columns the columns of the rows, with the alias `t` */
  around(rows: Fragment, columns: Fragment): Fragment
}

/** The parts of a list besides its rows and their order. */
export interface ListParts {
  readonly hasLimit?: boolean
  readonly hasOffset?: boolean
  readonly related?: RelatedColumns | undefined
}

/** Related rows to read with a list, for a client. */
export interface RelatedRows {
  /** Rows that may come along behind one relation, with those behind them; `undefined` where there cannot be many. */
  readonly most?: number | undefined
  /** Reads what is wanted; values go behind those of the rows. */
  read(slots: Slots): readonly RelatedQuestion[]
  /** Receives every related row. */
  found(table: Table, record: Record<string, unknown>): void
}

/** On some engines functions accept at most a hundred arguments. */
const mostArguments = 45

/** @param most as in `RelatedRows` */
export function relatedColumns(
  context: RecordsContext,
  questions: readonly RelatedQuestion[],
  key: string,
  most?: number,
): RelatedColumns {
  return {
    key: `w${most ?? ''}${shapeOf(questions)}|${key}`,
    around: (rows, columns) => {
      const { sql } = context.builder
      const writer = new RelatedWriter(context)
      const more = questions.map((question) => {
        const found = writer.rows(question, 't')
        if (most === undefined) return found
        const isFine = sql`${writer.count(question, rows, most)} <= ${sql.raw(String(most))}`
        return sql`case when ${isFine} then ${found}${writer.instead(question)} end`
      })
      return sql`select ${sql.join([columns, ...more])} from (${rows}) as t`
    },
  }
}

function shapeOf(questions: readonly RelatedQuestion[]): string {
  return questions.map(({ relation, below }) => `${relation.name}(${shapeOf(below)})`).join()
}

class RelatedWriter {
  readonly #context: RecordsContext
  readonly #filters: FilterWriter
  #aliases = 0

  constructor(context: RecordsContext) {
    this.#context = context
    this.#filters = new FilterWriter(context.builder.sql, context.dialect)
  }

  /** The JSON of a relation's rows, for the row with the outer alias. */
  rows({ relation, condition, below }: RelatedQuestion, outer: string): Fragment {
    const { sql } = this.#context.builder
    const { rowJson } = this.#context.dialect
    const { target, kind } = relation
    const alias = this.#newAlias()
    const parts = this.#conditions(relation, condition, alias, outer)
    const rows = sql`from ${this.#from(relation, alias)} where ${sql.join(parts, sql` and `)}`
    const row = this.#row(target, below, alias)
    if (kind === 'belongsTo') return sql`(select ${row} ${rows})`
    const columns = target.columns.map(({ name }) => sql.ref(`${alias}.${name}`))
    const by = sql.ref(`${alias}.${target.key.name}`)
    const [before, behind] = rowJson.all
    return sql`(select ${sql.raw(before)}${row}${sql.raw(behind)} from (select ${sql.join(columns)} ${rows} order by ${by}) as ${sql.id(alias)})`
  }

  /**
   * How many rows would come, counted no further than one more than may: lists behind lists of rows that are tied to many
   * are as many as the product of them, whatever there is on the average.
   */
  count(question: RelatedQuestion, page: Fragment, most: number): Fragment {
    const { sql } = this.#context.builder
    const limit = sql.raw(` limit ${most + 1}`)
    const counts = pathsOf(question).map((path) => {
      let outer = 't'
      let from = sql`(${page}) as t`
      for (const [index, { relation, condition }] of path.entries()) {
        const alias = this.#newAlias()
        const next = path[index + 1]?.relation.local.name
        const wanted = next === undefined ? sql`1 as n` : sql.ref(`${alias}.${next}`)
        const tests = sql.join(this.#conditions(relation, condition, alias, outer), sql` and `)
        const tables = sql`${from}, ${this.#from(relation, alias)}`
        outer = `${alias}p`
        // The limit of each keeps engines from beginning at the other end.
        from = sql`(select ${wanted} from ${tables} where ${tests}${limit}) as ${sql.id(outer)}`
      }
      return sql`(select count(*) from ${from})`
    })
    return sql`(${sql.join(counts, sql` + `)})`
  }

  /** None that conditions give to rows behind them. */
  #newAlias(): string {
    return `w${this.#aliases++}`
  }

  /** What stands for too many rows: what else is never there. */
  instead({ relation }: RelatedQuestion): Fragment {
    const { sql } = this.#context.builder
    const empty = sql.raw(`${this.#context.dialect.rowJson.list}()`)
    return relation.kind === 'belongsTo' ? sql` else ${empty}` : sql``
  }

  #conditions(
    relation: Relation,
    condition: Condition | undefined,
    alias: string,
    outer: string,
  ): Fragment[] {
    const { sql } = this.#context.builder
    const parts = [this.#tied(relation, alias, outer)]
    if (condition !== undefined) parts.push(this.#filters.write(condition, alias))
    if (relation.target.deletedAt !== undefined)
      parts.push(sql`${sql.ref(`${alias}.${relation.target.deletedAt.name}`)} is null`)
    return parts
  }

  #from({ join, target, foreign }: Relation, alias: string): Fragment {
    const { sql } = this.#context.builder
    const table = sql`${sql.table(target.name)} as ${sql.id(alias)}`
    if (join === undefined) return table
    const pair = `${alias}j`
    return sql`${sql.table(join.name)} as ${sql.id(pair)} inner join ${table} on ${sql.ref(`${alias}.${foreign.name}`)} = ${sql.ref(`${pair}.${join.to}`)}`
  }

  #tied(relation: Relation, alias: string, outer: string): Fragment {
    const { sql } = this.#context.builder
    const { join, local, foreign } = relation
    const theirs = join === undefined ? `${alias}.${foreign.name}` : `${alias}j.${join.from}`
    return sql`${sql.ref(theirs)} = ${sql.ref(`${outer}.${local.name}`)}${sameShard(relation, sql, outer, alias)}`
  }

  /** The list of a row's values, and of its related rows. */
  #row(table: Table, below: readonly RelatedQuestion[], alias: string): Fragment {
    const { sql } = this.#context.builder
    const { rowJson, jsonOfSubquery } = this.#context.dialect
    const values = table.columns.map((column) => {
      const [before, behind] = rowJson.value(column) ?? ['', '']
      return sql`${sql.raw(before)}${sql.ref(`${alias}.${column.name}`)}${sql.raw(behind)}`
    })
    for (const question of below) {
      const [before, behind] = jsonOfSubquery
      values.push(sql`${sql.raw(before)}${this.rows(question, alias)}${sql.raw(behind)}`)
    }
    const list = (some: readonly Fragment[]): Fragment =>
      sql`${sql.raw(rowJson.list)}(${sql.join(some)})`
    const lists: Fragment[] = []
    for (let from = 0; from < values.length; from += mostArguments)
      lists.push(list(values.slice(from, from + mostArguments)))
    return list(lists)
  }
}

/** Each way from the rows to those behind them. */
function pathsOf(question: RelatedQuestion): RelatedQuestion[][] {
  return [
    [question],
    ...question.below.flatMap((one) => pathsOf(one).map((path) => [question, ...path])),
  ]
}

/** What related rows are read by. */
interface Reading {
  readonly context: RecordsContext
  readonly most?: number | undefined
  /** Gets every related row. */
  found(table: Table, record: Instance): void
}

/** Sets related rows on a record, from the columns after its own. */
export function readRelated(
  record: object,
  row: Row,
  questions: readonly RelatedQuestion[],
  reading: Reading,
): void {
  const first = row.length - questions.length
  for (const [index, question] of questions.entries()) {
    const given = row[first + index]
    const value: unknown = typeof given === 'string' ? JSON.parse(given) : given
    Object.assign(record, { [question.relation.name]: toRecords(value, question, reading) })
  }
}

function isTooMany(kind: Relation['kind'], value: unknown): boolean {
  return kind === 'belongsTo' ? Array.isArray(value) && value.length === 0 : value === null
}

function tooMany({ name }: Relation): HttpError {
  const message = `Behind ${name} there are more rows than one answer may bring along. Ask for fewer rows, or for those behind them by themselves.`
  const errors = [{ path: 'with', code: 'TOO_COSTLY', message }]
  return new HttpError(400, message, { code: 'TOO_COSTLY', errors })
}

function toRecords(
  value: unknown,
  { relation, below }: RelatedQuestion,
  reading: Reading,
): Instance | Instance[] | null {
  const { target, kind } = relation
  if (reading.most !== undefined && isTooMany(kind, value)) throw tooMany(relation)
  const { readRow } = reading.context.codecOf(target)
  const bytes = target.columns.flatMap(({ storage }, index) => (storage === 'bytes' ? [index] : []))
  const read = (lists: readonly Row[]): Instance => {
    const row = lists.flat()
    for (const index of bytes)
      if (typeof row[index] === 'string') row[index] = Buffer.from(row[index], 'base64')
    const record = readRow(row) as Instance
    readRelated(record, row, below, reading)
    reading.found(target, record)
    return record
  }
  if (kind !== 'belongsTo') return (value as Row[][]).map(read)
  return value === null || value === undefined ? null : read(value as Row[])
}
