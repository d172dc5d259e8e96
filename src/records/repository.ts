/** The rows of one record class: found, listed, written. Source: public face, Records. */
import { arrange, type Plan } from './statements/builder.js'
import type { TableCodec } from './model/codec.js'
import { type Later, after, attempt, promise } from '../core/later.js'
import type { Row } from './engines/engine.js'
import { deleteRow } from './statements/delete-row.js'
import { invalid } from './filters/invalid.js'
import type { Where } from './filters/filter-types.js'
import { ManyRecords } from './many-records.js'
import { toKey } from './model/key.js'
import {
  checkCountOptions,
  checkFindOptions,
  checkListOptions,
  readCount,
  type FindOneOptions,
  type Id,
  type ListOptions,
} from './filters/list-options.js'
import { readOrder } from './filters/order.js'
import { createRelationLoader } from './statements/load-relations.js'
import type { TablePlans } from './statements/plans.js'
import { selectRows } from './statements/select-rows.js'
import { findReferrer } from './statements/find-referrer.js'
import { isInTransaction } from './statements/guarded-runner.js'
import type { Source } from './statements/source.js'
import { staysWithin, type RowsWithin } from './statements/rows-within.js'
import type { Table } from './model/table.js'
import { valuesToInsert, valuesToUpdate } from './statements/write-values.js'
import { findBrokenRelation } from './statements/broken-relation.js'
import { toClientError, type Doing, type Referrer } from './statements/write-faults.js'

/**
 * Every method answers a promise. What a client can help is an `HttpError`: 400 `VALIDATION` with paths, 409 `CONFLICT`
 * with the field's name, 503 `DATABASE_UNAVAILABLE` with `Retry-After`.
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

  /** @returns null where no (living) row has the key, or the value can be no key */
  find(id: Id, options?: FindOneOptions): Promise<T | null> {
    return promise(() => {
      if (options !== undefined) checkFindOptions(options)
      const key = toKey(this.#codec, id)
      if (key === undefined) return null
      const runner = this.source.runner()
      const isHeld = options?.lock === true
      if (isHeld && !isInTransaction(runner)) throw new TypeError(lockOutside)
      const { statement } = isHeld ? this.#plans.findToWrite : this.#plans.find
      const found = this.#guard('read', () => runner.first(statement, [key]))
      return after(found, (row) => {
        if (row === undefined) return null
        const record = this.#codec.readRow(row)
        return options?.with === undefined ? record : this.#load([record], options.with, true)
      })
    })
  }

  /** The rows that a filter finds, in order. */
  list(options: ListOptions<T> = {}): Promise<T[]> {
    return promise(() => {
      const { limit, offset, view } = options
      checkListOptions(options)
      const order = readOrder(this.table, options.orderBy, view !== undefined)
      view?.order(this.table, order)
      const { selection, values } = selectRows(this.table, this.source.context, options, order)
      if (limit !== undefined) values.push(readCount('limit', limit))
      if (offset !== undefined) values.push(readCount('offset', offset))
      const plan = this.#plans.list(selection, order, limit !== undefined, offset !== undefined)
      return after(this.#rows(plan, values, 'read'), (rows) => {
        const records = this.#readRows(rows)
        return options.with === undefined
          ? records
          : after(this.#load(records, options.with, false), () => records)
      })
    })
  }

  /** The number of rows that a filter finds. Default: of all living ones. */
  count(
    where?: Where<T>,
    options: Pick<ListOptions<T>, 'withDeleted' | 'view'> = {},
  ): Promise<number> {
    return promise(() => {
      checkCountOptions(options)
      const { selection, values } = selectRows(this.table, this.source.context, {
        ...options,
        where,
      })
      const plan = this.#plans.count(selection)
      return after(this.#rows(plan, values, 'read'), ([row]) => Number(row?.[0]))
    })
  }

  /**
   * Writes a new row. Defaults, the key and timestamps are filled in.
   *
   * @returns the record as it was stored
   */
  create(values: Partial<T>): Promise<T> {
    return promise(() => this.createNow(values))
  }

  /** As `create`, without a promise where the database needs none: what fails is thrown at once, or later. */
  createNow(values: Partial<T>): Later<T> {
    const checked = this.source.context.checksOf(this.table, 'program').create(values)
    return after(checked, (record) => {
      const { columns, values } = valuesToInsert(this.table, this.#codec, record)
      const plan = this.#plans.insert(columns, 1, 'row')
      return this.#announced((here) =>
        after(here.#rows(plan, values, 'write', record), ([row]) =>
          here.#stored('created', row as Row),
        ),
      )
    })
  }

  /**
   * Changes what is named, nothing else. The record's own key may be among it and is left alone.
   *
   * @returns the record as it is now; null where no row has the key
   */
  update(id: Id, values: Partial<T>): Promise<T | null> {
    return promise(() => this.updateNow(id, values))
  }

  /**
   * As `update`, without a promise where the database needs none.
   *
   * @param within also null, and nothing written, where the row is none of these or might be none afterwards
   */
  updateNow(id: Id, values: Partial<T>, within?: RowsWithin): Later<T | null> {
    const key = toKey(this.#codec, id)
    if (key === undefined) return null
    const given = this.#withoutKey(values, key)
    const checked = this.source.context.checksOf(this.table, 'program').update(given)
    return after(checked, (record) => this.#updateChecked(id, key, record, within))
  }

  #updateChecked(
    id: Id,
    key: unknown,
    record: Record<string, unknown>,
    within: RowsWithin | undefined,
  ): Later<T | null> {
    const { context } = this.source
    const { columns, values } = valuesToUpdate(this.table, this.#codec, record, context)
    if (within !== undefined && !staysWithin(within, columns)) return null
    if (columns.length === 0) return this.find(id)
    values.push(key)
    const plan = this.#plans.update(columns, within)
    const all = within === undefined ? values : [...within.values, ...values]
    return this.#announced((here) =>
      after(here.#rows(plan, all, 'write', record), ([row]) =>
        row === undefined ? null : here.#stored('updated', row),
      ),
    )
  }

  /** @returns false where no (living) row has the key */
  delete(id: Id): Promise<boolean> {
    return promise(() => this.deleteNow(id))
  }

  /**
   * As `delete`, without a promise where the database needs none.
   *
   * @param mayTell whether the fault of a row that is still referred to may say by which record
   */
  deleteNow(id: Id, mayTell?: (referrer: Referrer) => boolean): Later<boolean> {
    const key = toKey(this.#codec, id)
    if (key === undefined) return false
    return attempt(
      () => deleteRow(this.table, this.source, key),
      (error) =>
        after(findReferrer(this.table, this.source, error, key), (referrer): boolean => {
          const told = referrer && (mayTell?.(referrer) ?? true) ? referrer : undefined
          throw toClientError(error, this.table, 'delete', { referrer: told })
        }),
    )
  }

  protected on(source: Source): Repository<T> {
    return new Repository(this.table, source)
  }

  #rows(
    plan: Plan,
    values: readonly unknown[],
    doing: Doing,
    record?: Record<string, unknown>,
  ): Later<readonly Row[]> {
    const run = (): Later<readonly Row[]> =>
      this.source.runner().rows(plan.statement, arrange(plan, values))
    return this.#guard(doing, run, record)
  }

  /** Runs, and tells a client what the database refused. */
  #guard<R>(doing: Doing, run: () => Later<R>, record?: Record<string, unknown>): Later<R> {
    return attempt(run, (error) => {
      if (record === undefined) throw toClientError(error, this.table, doing)
      return after(findBrokenRelation(this.table, this.source, error, record), (broken): R => {
        throw toClientError(error, this.table, doing, { broken })
      })
    })
  }

  #readRows(rows: readonly Row[]): T[] {
    const { readRow } = this.#codec
    const records = new Array<T>(rows.length)
    for (let index = 0; index < rows.length; index++) records[index] = readRow(rows[index] as Row)
    return records
  }

  #load(records: T[], paths: readonly string[], one: true): Later<T>
  #load(records: T[], paths: readonly string[], one: false): Later<void>
  #load(records: T[], paths: readonly string[], one: boolean): Later<T | void> {
    const load = createRelationLoader(this.table, paths)
    return after(load(records, this.source), () => (one ? records[0] : undefined))
  }

  #withoutKey(values: Partial<T>, key: unknown): object {
    const { property } = this.table.key
    const given = values as Record<string, unknown>
    if (typeof values !== 'object' || !(property in given)) return values
    const { [property]: own, ...rest } = given
    if (own !== undefined && toKey(this.#codec, own) !== key)
      throw invalid(property, 'readOnly', 'cannot be changed')
    return rest
  }

  /** Runs a write; in a transaction where a message to other processes goes with it. */
  #announced<R>(write: (here: Repository<T>) => Later<R>): Later<R> {
    const { table } = this
    return after(this.source.announces(table), (isAnnounced) =>
      isAnnounced
        ? this.source.atomically((inner) => promise(() => write(new Repository(table, inner))))
        : write(this),
    )
  }

  /** Reads a row that was written, and takes note that it was. */
  #stored(event: 'created' | 'updated', row: Row): T {
    const record = this.#codec.readRow(row)
    const id = (record as Record<string, unknown>)[this.table.key.property] as Id
    this.source.changed({ event, table: this.table, ids: [id] })
    return record
  }
}

const lockOutside =
  'find: { lock: true } holds the row until its transaction ends, and none is open here. Call it in database.transaction(…), or in a route with { transaction: true }.'
