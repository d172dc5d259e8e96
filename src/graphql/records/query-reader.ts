/**
 * Converts the arguments of a list (`where`, `orderBy`, `limit`, `offset`) to conditions with separate values, and adds
 * the caller's row filter. Used by resolvers and the planner. Source: decisions, GraphQL.
 */
import { HttpError } from '../../errors/http-error.js'
import type { Condition, Table } from '../../records/model/table.js'
import { isPlainObject } from '../../core/json.js'
import { equals } from '../../sql/condition.js'
import { FilterReader, maxConditions } from '../../records/filters/filter.js'
import { invalid } from '../../records/filters/query-errors.js'
import { readOrder } from '../../records/filters/order.js'
import { checkRanked, rankedOrder, searchLimitOf, searchOf } from '../../records/filters/search.js'
import type { Database } from '../../records/database.js'
import type { Column } from '../../engines/contract/table.js'
import type { Order } from '../../sql/order.js'
import type { Limit } from '../../sql/tree.js'
import { defaultLimit } from '../../records/clients/operation-inputs.js'
import type { Caller } from '../../records/rights/caller.js'
import { ClientView } from '../../records/policy/client-view.js'
import type { FieldArguments, ArgumentDeclaration, GraphqlField } from '../declarations.js'
import { plainIds, type IdForm } from './global-ids.js'
import type { FieldModel, NestedModel, RecordModel } from './model.js'
import { inShard } from '../../records/statements/shard.js'

export interface ListQuery {
  readonly where: Condition | undefined
  readonly order: Order
  /** The index of the limit in the values, or the limit itself if it is constant. */
  readonly limit: Limit
  /** The index of the offset in the values; undefined for offset 0. */
  readonly offset: number | undefined
}

export interface QueryReaderOptions {
  readonly database: Pick<Database, 'context' | 'log'>
  readonly caller: Caller
  /** The maximum of `limit`. */
  readonly listMax: number
}

/** Reads the arguments of one statement. Collects their values in a list, and their form in a cache key. */
export class QueryReader {
  readonly values: unknown[] = []
  /** The cache key of the statement. Equal for arguments that differ only in their values. */
  key = ''
  /** The rights of the caller. */
  readonly #view: ClientView
  readonly #options: QueryReaderOptions

  constructor(options: QueryReaderOptions) {
    this.#options = options
    const { database, caller } = options
    this.#view = new ClientView({ context: database.context, caller, log: database.log })
  }

  /** Whether the statement or its values depend on the caller. */
  get isPersonal(): boolean {
    return this.#view.isPersonal
  }

  /**
   * Reads the arguments of a list. Adds the values of the condition first, then limit and offset.
   *
   * @param isFixed the arguments are constant
   * @throws {HttpError} 400 `VALIDATION` with the argument's path; 401 or 403 for fields that the caller may not read
   */
  list(model: RecordModel, args: FieldArguments, isFixed = false): ListQuery {
    const where = this.condition(model, args.where)
    const order = this.order(model, args.orderBy, where)
    const limitValue = this.#count('limit', args.limit ?? defaultLimit)
    const limit = isFixed ? { fixed: limitValue } : this.values.push(limitValue) - 1
    const passedOver = readCount('offset', args.offset ?? 0)
    checkRanked(order, limitValue + passedOver)
    if (passedOver === 0) return { where, order, limit, offset: undefined }
    this.key += '~'
    return { where, order, limit, offset: this.values.push(passedOver) - 1 }
  }

  /**
   * The condition of rows that match the filter, are not deleted, and are visible to the caller; `undefined` for all
   * rows.
   */
  condition(model: RecordModel, where: unknown): Condition | undefined {
    if (where === undefined || where === null) return this.rowFilter(model.table)
    const reader = new FilterReader(this.#options.database.context, true, this.values)
    const clientCondition = reader.read(
      model.table,
      this.#translate(model, where, 'where'),
      'where',
    )
    this.key += reader.key
    return this.#view.bind(model.table, clientCondition, this)
  }

  /**
   * @param condition the condition of the rows; a search in it determines the default order
   *
   * @throws {HttpError} 400 `VALIDATION`
   */
  order(model: RecordModel, orderBy: unknown, condition: Condition | undefined): Order {
    const isPresent = orderBy !== undefined && orderBy !== null
    const terms = isPresent ? this.orderTerms(model, orderBy) : undefined
    const requestedOrder = readOrder(model.table, terms, true)
    const bound = this.#view.order(model.table, requestedOrder, this)
    const ranked = searchLimitOf(model.table, this.#options.database.context)
    const order = rankedOrder(bound, condition, terms !== undefined, ranked)
    this.key += `o${order.key};`
    return order
  }

  /** Converts the names in a client's order to the names of the record. */
  orderTerms(model: RecordModel, orderBy: unknown): object[] {
    return (orderBy as unknown[]).map((term, index) =>
      this.#orderTerm(model, term, `orderBy.${index}`),
    )
  }

  /** The caller's row filter; `undefined` if all rows are visible. */
  rowFilter(table: Table): Condition | undefined {
    return this.#view.rows(table, this)
  }

  /** The condition for one key, in the driver's form. */
  keyCondition({ key }: Table, value: unknown): Condition {
    this.key += '='
    return equals(key, this.values.push(value) - 1)
  }

  /** Converts the names in a client's filter to the names of the record. */
  translate(model: RecordModel, where: unknown): object {
    return this.#translate(model, where, 'where') as object
  }

  /** @throws {HttpError} 400 if the number is over the maximum, negative or not an integer */
  readLimit(name: string, input: unknown): number {
    return this.#count(name, input)
  }

  #translate(model: RecordModel, where: unknown, path: string): unknown {
    if (!isPlainObject(where)) return where
    const translated: Record<string, unknown> = {}
    for (const name of Object.keys(where)) {
      const value = where[name]
      const at = `${path}.${name}`
      if (name === 'and' || name === 'or') {
        // A longer list is refused later, by its length.
        translated[name] = Array.isArray(value)
          ? value
              .slice(0, maxConditions + 1)
              .map((part, index) => this.#translate(model, part, `${at}.${index}`))
          : value
        continue
      }
      if (name === 'not') {
        translated[name] = this.#translate(model, value, at)
        continue
      }
      if (searchOf(model.table, name) !== undefined) {
        translated[name] = value
        continue
      }
      const relation = model.relations.get(name)
      if (relation === undefined) {
        const field = this.#field(model, name)
        translated[field.column.property] = toFieldTest(field, value, at)
        continue
      }
      translated[relation.relation.name] = this.#translate(relation.target, value, at)
    }
    return translated
  }

  #orderTerm(model: RecordModel, term: unknown, path: string): Record<string, unknown> {
    const names = isPlainObject(term) ? Object.keys(term) : []
    const [name] = names
    if (name === undefined || names.length > 1) throw invalid(path, 'type', 'must name one field')
    const value = (term as Record<string, unknown>)[name]
    const relation = model.relations.get(name)
    return relation === undefined
      ? { [this.#field(model, name).column.property]: value }
      : { [relation.relation.name]: this.#orderTerm(relation.target, value, `${path}.${name}`) }
  }

  #field(model: RecordModel, name: string): FieldModel {
    const field = model.fields.get(name)
    if (field === undefined) throw new HttpError(400, `${name} is unknown`, { code: 'VALIDATION' })
    return field
  }

  #count(name: string, input: unknown): number {
    const { listMax } = this.#options
    const count = readCount(name, input)
    if (count > listMax) throw invalid(name, 'max', `must be at most ${listMax}`)
    return count
  }
}

function readCount(name: string, input: unknown): number {
  if (Number.isSafeInteger(input) && (input as number) >= 0) return input as number
  throw invalid(name, 'min', 'must be an integer from 0')
}

/** Converts ids to keys, and names of parts to those of the nested class. */
function toFieldTest(field: FieldModel, value: unknown, path: string): unknown {
  const { ids, nested, column } = field
  if (nested !== undefined && !column.field.list) return toPartNames(nested, value)
  return ids === undefined ? value : toIds(field, value, path)
}

function toPartNames(model: NestedModel, value: unknown): unknown {
  if (!isPlainObject(value)) return value
  const entries = Object.entries(value).map(([name, test]): [string, unknown] => {
    if (name === 'and' || name === 'or')
      return [
        name,
        Array.isArray(test)
          ? test.slice(0, maxConditions + 1).map((part) => toPartNames(model, part))
          : test,
      ]
    if (name === 'not') return [name, toPartNames(model, test)]
    const field = model.fields.get(name)
    // A test of the object itself, such as isNull.
    return field === undefined
      ? [name, test]
      : [field.column.property, toFieldTest(field, test, name)]
  })
  return Object.fromEntries(entries)
}

/** Converts ids to keys. Invalid ids remain strings, which the filter rejects. */
function toIds({ column, ids = plainIds }: FieldModel, value: unknown, path: string): unknown {
  const isText = ids.type === undefined && column.isUuid
  if (isText || !isPlainObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([operator, operand]) => {
      const toId = (id: unknown): unknown =>
        typeof id === 'string' ? toKeyValue(column, ids, id, `${path}.${operator}`) : id
      return [operator, Array.isArray(operand) ? operand.map(toId) : toId(operand)]
    }),
  )
}

/**
 * Converts the id of a client to a value of the property. Returns an invalid key unchanged, which the field then
 * rejects.
 *
 * @throws {HttpError} 400 `VALIDATION` for an id of another type
 */
export function toKeyValue(column: Column, ids: IdForm, id: string, path: string): unknown {
  const key = ids.read(id)
  if (typeof key !== 'string') throw invalid(path, 'type', `must be the id of a ${ids.type ?? ''}`)
  return column.field.entry.fromText(key) ?? key
}

/** The field that the record is sharded by; `undefined` if the record is not sharded, or if the field is hidden. */
function shardField({ table, fields }: RecordModel): FieldModel | undefined {
  if (table.shard === undefined) return undefined
  return [...fields.values()].find(({ column }) => column === table.shard)
}

/**
 * Adds an argument with the shard to an operation on one row of a sharded record. Clients need it if the caller's row filter
 * does not determine the shard.
 *
 * @returns the declaration unchanged if the record needs no such argument
 */
export function withShardArgument(model: RecordModel, field: GraphqlField): GraphqlField {
  const shard = shardField(model)
  if (shard === undefined) return field
  const argument: ArgumentDeclaration = {
    type: shard.type,
    description: `The shard of the ${model.name}. Required if neither the caller's rights nor the input determine it.`,
  }
  return {
    ...field,
    args: { ...field.args, [shard.name]: argument },
    resolve: (root, args, context, info) =>
      inGivenShard(model, args, () => field.resolve?.(root, args, context, info)),
  }
}

/** Runs `work` in the shard of the argument. */
export function inGivenShard<R>(model: RecordModel, args: FieldArguments, work: () => R): R {
  const shard = shardField(model)
  const argument = shard && args[shard.name]
  if (shard === undefined || argument === undefined || argument === null) return work()
  const { column, ids, name } = shard
  const value =
    ids !== undefined && typeof argument === 'string'
      ? toKeyValue(column, ids, argument, name)
      : argument
  return inShard(model.table, value, work)
}
