/**
 * The same schema with resolvers as one would write them by hand: a repository call for every field, without batching
 * and without code shared with the planner.
 */
import type { GraphQLField, GraphQLObjectType, GraphQLSchema } from 'graphql'
import { buildSchema, printSchema } from 'graphql'
import type { Database } from '../../../src/index.js'
import { camel } from './random-operations.js'
import type { RandomField, RandomRecord } from './random-records.js'

type Args = Readonly<Record<string, unknown>>
type Instance = Record<string, unknown>
type Field = GraphQLField<unknown, unknown>

export function plainSchema(
  built: GraphQLSchema,
  records: readonly RandomRecord[],
  database: Database,
): GraphQLSchema {
  const schema = buildSchema(printSchema(built))
  for (const record of records) {
    new PlainRecord(record, database).resolve(schema)
  }
  return schema
}

class PlainRecord {
  readonly #record: RandomRecord
  readonly #database: Database

  constructor(record: RandomRecord, database: Database) {
    this.#record = record
    this.#database = database
  }

  resolve(schema: GraphQLSchema): void {
    const { name } = this.#record
    const lower = name.toLowerCase()
    const query = (schema.getQueryType() as GraphQLObjectType).getFields()
    set(query[lower], (_, { id }) => this.#find(id))
    set(query[`${lower}s`], (_, args) => this.#list(this.#record, args, {}))
    set(query[`${lower}Count`], (_, { where }) =>
      this.#database.records(this.#record.type).count(toWhere(this.#record, where ?? {})),
    )
    set(query[`${lower}sPage`], (_, args) => this.#page(args))
    const fields = (schema.getType(name) as GraphQLObjectType).getFields()
    for (const field of this.#record.fields)
      set(fields[camel(field.name)], (row) => toOutput(field, (row as Instance)[field.name]))
    for (const { name: owner, by, target } of this.#record.owners) {
      set(fields[owner], (row) => {
        const key = (row as Instance)[by] as number | null | undefined
        return key === null || key === undefined
          ? null
          : this.#database.records(target.type).find(key)
      })
    }
    for (const { name: list, target } of this.#record.lists) {
      const owner = target.owners.find((one) => `${one.name}Of${target.name}` === list)
      set(fields[list], (row, args) =>
        this.#list(target, args, { [owner?.by ?? '']: (row as Instance).id }),
      )
    }
    for (const { name: pair, target } of this.#record.pairs) {
      set(fields[pair], (row, args) =>
        this.#list(target, args, { partners: { id: (row as Instance).id } }),
      )
    }
  }

  async #find(id: unknown): Promise<unknown> {
    const isText = this.#record.isUuid || typeof id !== 'string' || !/^\d+$/.test(id)
    return this.#database.records(this.#record.type).find((isText ? id : Number(id)) as number)
  }

  #list(record: RandomRecord, args: Args, among: object): Promise<object[]> {
    if ((args.offset as number) < 0) throw new RangeError('offset must be an integer from 0')
    return this.#database.records(record.type).list({
      where: { and: [among, toWhere(record, args.where ?? {})] },
      orderBy: toOrder(record, args.orderBy) as never,
      limit: args.limit as number,
      offset: args.offset as number,
    })
  }

  async #page(args: Args): Promise<object> {
    const first = args.first as number
    const { type } = this.#record
    const where = toWhere(this.#record, args.where ?? {})
    const orderBy = toOrder(this.#record, args.orderBy)
    const rows = await this.#database
      .records(type)
      .list({ where, orderBy: orderBy as never, limit: first + 1 })
    const pageRows = rows.slice(0, first)
    const cursors = pageRows.map((row) => this.#cursor(row as Instance, orderBy))
    return {
      edges: pageRows.map((node, index) => ({ node, cursor: cursors[index] })),
      totalCount: await this.#database.records(type).count(where),
      pageInfo: {
        hasNextPage: rows.length > first,
        hasPreviousPage: false,
        startCursor: cursors[0] ?? null,
        endCursor: cursors.at(-1) ?? null,
      },
    }
  }

  /** The cursor contains only the values, without the markers of the order. */
  #cursor(row: Instance, orderBy: readonly Record<string, unknown>[] | undefined): string {
    const names = (orderBy ?? []).flatMap((term) => Object.keys(term))
    const all = names.includes('id') ? names : [...names, 'id']
    return JSON.stringify([...new Set(all)].map((name) => row[name] ?? null))
  }
}

function set(field: Field | undefined, resolve: (row: unknown, args: Args) => unknown): void {
  if (field !== undefined) field.resolve = (row, args) => resolve(row, args as Args)
}

function toOutput({ kind, rules }: RandomField, value: unknown): unknown {
  if (value === undefined || value === null) return null
  if (rules.oneOf !== undefined) return (value as string).replace(/\W/g, '_').replace(/^\d/, '_$&')
  if (kind === 'json') return JSON.stringify(value)
  return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value
}

function toWhere(record: RandomRecord, where: unknown): object {
  const entries = Object.entries(where as object).map(([name, value]): [string, unknown] => {
    if (name === 'or') return [name, (value as unknown[]).map((part) => toWhere(record, part))]
    if (name === 'not') return [name, toWhere(record, value)]
    if (name === 'id') return [name, { in: (value as { in: string[] }).in.map(Number) }]
    const relation = [...record.owners, ...record.lists, ...record.pairs].find(
      (one) => one.name === name,
    )
    if (relation !== undefined) return [name, toWhere(relation.target, value)]
    const field = record.fields.find((one) => camel(one.name) === name)
    return [field?.name ?? name, field?.rules.oneOf === undefined ? value : toColors(field, value)]
  })
  return Object.fromEntries(entries)
}

function toColors({ rules }: RandomField, value: unknown): object {
  const toColor = (name: unknown): unknown =>
    rules.oneOf?.find(
      (color) => String(color).replace(/\W/g, '_').replace(/^\d/, '_$&') === name,
    ) ?? name
  return Object.fromEntries(
    Object.entries(value as object).map(([operator, operand]: [string, unknown]) => [
      operator,
      Array.isArray(operand) ? operand.map(toColor) : toColor(operand),
    ]),
  )
}

function toOrder(record: RandomRecord, orderBy: unknown): Record<string, unknown>[] | undefined {
  if (orderBy === undefined || orderBy === null) return undefined
  return (orderBy as Record<string, string>[]).map((term) => {
    const [name = '', direction = ''] = Object.entries(term)[0] ?? []
    const property = record.fields.find((one) => camel(one.name) === name)?.name ?? name
    const nulls = direction.endsWith('first') ? 'first' : 'last'
    return { [property]: { direction: direction.split('_')[0], nulls } }
  })
}
