/** The repository of a record class: it finds, lists and writes rows. Source: public API, Records. */
import type { Changes } from './statements/additions.js'
import {
  type NestedChanges,
  type NewValues,
  namesRelations,
  readTree,
} from './statements/read-tree.js'
import {
  readDeleteOptions,
  readUpdateOptions,
  type DeleteOptions,
  type UpdateOptions,
} from './statements/write-options.js'
import { type TableCodec, toKey } from './model/codec.js'
import { checkKeyed, readId } from './model/record-key.js'
import { type MaybePromise, after, promise, settle } from '../core/maybe-promise.js'
import { createOne, deleteOne, updateOne } from './statements/write-one.js'
import type { RowBy, RowOf } from './model/loaded-rows.js'
import type { Selected, SelectOptions, Where } from './model/record-types.js'
import { ManyRecords } from './many-records.js'
import {
  checkCountOptions,
  checkFindOptions,
  checkFilterOptions,
  checkFirstOptions,
  type CountOptions,
  type FindOneOptions,
  type FirstOptions,
  type Id,
  type KeyOf,
  type ListOptions,
  readDistinct,
} from './filters/list-options.js'
import { createRelationLoader } from './statements/load-relations.js'
import type { TablePlans } from './statements/plans.js'
import { readApart } from './statements/apart.js'
import { planList } from './statements/list-plan.js'
import { readNumber, readRecords } from './statements/read-records.js'
import { restoreOne } from './statements/restore-row.js'
import { selectRows } from './statements/select-rows.js'
import { arrangeValues } from '../sql/write-statement.js'
import { isInTransaction } from './statements/transaction-runners.js'
import { inShardOf, keyValues } from './statements/shard.js'
import type { Source } from './statements/source.js'
import type { Instance, Table } from './model/table.js'
import { markingWrite } from './statements/write-check.js'
import { toClientError } from './statements/client-errors.js'

/**
 * Finds, lists and writes the rows of one record class. Every method returns a promise. Errors that a client can
 * correct are `HttpError`s: 400 `VALIDATION` with paths, 409 `CONFLICT` with the field's name. 503
 * `DATABASE_UNAVAILABLE` has `Retry-After`.
 */
export class Repository<T extends object = object> extends ManyRecords<T> {
  readonly #plans: TablePlans
  readonly #codec: TableCodec<T>

  /** Use `database.records(Class)`. */
  constructor(table: Table<T>, source: Source) {
    super(table, source)
    this.#plans = source.context.plansOf(table)
    this.#codec = source.context.codecOf(table) as TableCodec<T>
  }

  /** @returns null if no row has the key, if the row is marked as deleted, or if the value cannot be a key */
  find<const O extends FindOneOptions<T> & Partial<T> = object>(
    id: KeyOf<T>,
    options?: O & SelectOptions<O, FindOneOptions<T> & Partial<T>, T>,
  ): Promise<RowBy<T, O> | null>
  find(id: KeyOf<T>, options?: FindOneOptions<T> & Partial<T>): Promise<T | null> {
    return promise(() => {
      checkKeyed(this.table, 'find')
      if (options !== undefined) checkFindOptions(options, this.table.shard)
      const key = toKey(this.#codec, id)
      if (key === undefined) return null
      const runner = this.source.runner()
      const isLocked = options?.lock === true
      if (isLocked && !isInTransaction(runner)) throw new TypeError(lockOutside)
      const plan = isLocked ? this.#plans.findToWrite : this.#plans.find
      const values = keyValues(this.table, this.source.context, key, options)
      return settle(
        () => runner.run(plan.statement, arrangeValues(plan, values), 'first'),
        (row): MaybePromise<T | null> => {
          if (row === undefined) return null
          const record = this.#codec.readRow(row)
          return options?.with === undefined ? record : this.#load([record], options.with, true)
        },
        (error) => {
          throw toClientError(error, this.table, 'read')
        },
      )
    })
  }

  /**
   * The rows that match a filter, in order. With `counts`, each row has the numbers of its related rows, such as
   * `reviewsCount`.
   */
  list<const O extends ListOptions<T> = object>(
    input?: O & SelectOptions<O, ListOptions<T>, T>,
  ): Promise<RowBy<T, O>[]>
  list(input: ListOptions<T> = {}): Promise<T[]> {
    return promise(() => this.#list(input))
  }

  /**
   * The first row that matches a filter, in order: `first({ where: { status: 'open' }, orderBy: '-createdAt' })`.
   *
   * @returns null if no row matches
   */
  first<const O extends FirstOptions<T> = object>(
    input?: O & SelectOptions<O, FirstOptions<T>, T>,
  ): Promise<RowBy<T, O> | null>
  first(input: FirstOptions<T> = {}): Promise<T | null> {
    return promise(() => {
      checkFirstOptions(input)
      return after(this.#list({ ...input, limit: 1 }), ([row]) => row ?? null)
    })
  }

  /**
   * The number of rows that match a filter. With `distinct`, rows with equal values in its fields count once. Default:
   * all rows that are not marked as deleted.
   */
  count(): Promise<number>
  count<const W extends Where<T>>(
    where: W & Selected<W, Where<T>>,
    options?: CountOptions<T>,
  ): Promise<number>
  count(...args: [where?: Where<T>, options?: CountOptions<T>]): Promise<number> {
    return promise(() => {
      const [where, options = {}] = args
      if (args.length > 0) checkFilterOptions({ where })
      checkCountOptions(options)
      const { context } = this.source
      const query = args.length > 0 ? { where, ...options } : options
      const { filter, values } = selectRows(this.table, context, query)
      const { distinct, view } = options
      const columns = distinct === undefined ? undefined : readDistinct(this.table, distinct, view)
      const plan = this.#plans.count(filter, columns)
      return readNumber(this.table, this.source, plan, values)
    })
  }

  /**
   * Inserts a row. Defaults, the key and timestamps are filled in. Related rows are written with it, all or nothing:
   * `{ name: 'Oak', products: { create: [{ … }], connect: [7] } }`.
   *
   * @returns the record as stored
   */
  create(values: NewValues<T>): Promise<RowOf<T>> {
    const { table } = this
    if (!namesRelations(table, values))
      return promise(() => {
        checkKeyed(table, 'create')
        return createOne(table, this.source, values) as MaybePromise<T>
      })
    return this.write(() => this.writer.create(readTree(table, values)) as MaybePromise<T>)
  }

  /**
   * Changes only the named fields. `{ stock: { add: -1 } }` adds to the stored value. The record's own key is ignored.
   * If the values include the version, it must equal the row's. Related rows are written with it, all or nothing: `{
   * products: { create: [{ … }], update: [{ id: 1, … }], connect: [2], disconnect: [3], delete: [4] } }`.
   *
   * @returns the updated record; null if no row has the key, or `where` does not match
   * @throws {HttpError} 409 `CONFLICT` if the row is at another version
   */
  update<const O extends UpdateOptions<T> & Partial<T>>(
    key: KeyOf<T>,
    values: NestedChanges<T>,
    options?: O & SelectOptions<O, UpdateOptions<T> & Partial<T>, T>,
  ): Promise<RowOf<T> | null> {
    return promise(() => {
      const { table } = this
      checkKeyed(table, 'update')
      const id = readId(table, key)
      const conditions = readUpdateOptions(table, options as UpdateOptions<never>)
      return table.shard === undefined
        ? this.#update(id, values, conditions)
        : inShardOf(table, { ...values, ...options }, () => this.#update(id, values, conditions))
    })
  }

  #update(
    id: Id,
    values: NestedChanges<T>,
    conditions: ReturnType<typeof readUpdateOptions>,
  ): MaybePromise<T | null> {
    const { table, source } = this
    return markingWrite(table, () =>
      namesRelations(table, values)
        ? this.writer.update(id, readTree(table, values), conditions)
        : updateOne(table, source, id, values, conditions),
    ) as MaybePromise<T | null>
  }

  /**
   * Changes every row that matches a filter, all or none; `{}` matches all.
   *
   * @returns the number of changed rows
   */
  updateWhere<const W extends Where<T>>(
    where: W & Selected<W, Where<T>>,
    changes: Changes<T>,
  ): Promise<number> {
    return promise(() => {
      checkKeyed(this.table, 'updateWhere')
      return this.lists.updateWhere(this.table, { where, values: changes })
    })
  }

  /**
   * Deletes every row that matches a filter, all or none; `{}` matches all.
   *
   * @returns the number of deleted rows
   */
  deleteWhere<const W extends Where<T>>(where: W & Selected<W, Where<T>>): Promise<number> {
    return promise(() => {
      checkKeyed(this.table, 'deleteWhere')
      return this.lists.deleteWhere(this.table, where)
    })
  }

  /**
   * @returns false if no row has the key, or the row is already marked as deleted
   * @throws {HttpError} 409 `CONFLICT` if other rows refer to it, or it is at another version
   */
  delete(key: KeyOf<T>, options?: DeleteOptions & Partial<T>): Promise<boolean> {
    return promise(() => {
      const { table, source } = this
      checkKeyed(table, 'delete')
      const id = readId(table, key)
      const expected = readDeleteOptions(table, options)
      return table.shard === undefined
        ? deleteOne(table, source, id, { expected })
        : inShardOf(table, options, () => deleteOne(table, source, id, { expected }))
    })
  }

  /**
   * Restores a row that `softDelete` has marked as deleted. The write hooks run, with the deleted row as `before`. Rows that were
   * deleted with it stay deleted.
   *
   * @returns the restored record; null if no row has the key, or it is not marked as deleted
   * @throws {HttpError} 409 `CONFLICT` if another row has taken a unique value, or a row that it refers to is deleted
   */
  restore(key: KeyOf<T>, options?: Partial<T>): Promise<RowOf<T> | null> {
    return promise(() => {
      const { table, source } = this
      checkKeyed(table, 'restore')
      const id = readId(table, key)
      const restore = (): MaybePromise<RowOf<T> | null> =>
        markingWrite(table, () => restoreOne(table, source, id)) as MaybePromise<RowOf<T> | null>
      return table.shard === undefined ? restore() : inShardOf(table, options, restore)
    })
  }

  #list(options: ListOptions<T>): MaybePromise<T[]> {
    const { table, source } = this
    const paths = options.with
    const { apart, ...query } = planList(table, source.context, options)
    const rows = readRecords(table, source, query) as MaybePromise<T[]>
    const found =
      apart === undefined
        ? rows
        : after(rows, (records) =>
            after(readApart(source, records as Instance[], apart, options), () => records),
          )
    return paths === undefined
      ? found
      : after(found, (records) => after(this.#load(records, paths, false), () => records))
  }

  #load(records: T[], paths: readonly string[], one: true): MaybePromise<T>
  #load(records: T[], paths: readonly string[], one: false): MaybePromise<void>
  #load(records: T[], paths: readonly string[], one: boolean): MaybePromise<T | void> {
    const load = createRelationLoader(this.table, paths)
    return after(load(records, this.source), () => (one ? records[0] : undefined))
  }
}

const lockOutside =
  'find: { lock: true } locks the row until its transaction ends, but no transaction is open here. Call it in database.transaction(…), or in a route with { transaction: true }.'
