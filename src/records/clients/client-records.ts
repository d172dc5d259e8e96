/**
 * A record as one client sees it. REST, GraphQL and all other interfaces read and write for clients through it. Hidden
 * fields do not exist, invisible rows are missing, and secured fields are left out for callers without the role.
 * Source: decisions, Records: access rules.
 */
import { type MaybePromise, after } from '../../core/maybe-promise.js'
import { storedColumnsOf } from '../../engines/contract/table.js'
import type { Database } from '../database.js'
import type { AggregateOptions, AggregateRow } from '../aggregates/aggregate-types.js'
import type { OrderBy, Where } from '../model/record-types.js'
import type { Id, ListOptions, RelatedRows, RelationTree } from '../filters/list-options.js'
import { toKey } from '../model/codec.js'
import type { Table, Instance } from '../model/table.js'
import type { Repository } from '../repository.js'
import { relatedRowLimit } from '../budget/check-cost.js'
import { defaultLimits } from '../../http/limits.js'
import { checkAccess, type Caller, retryAfterGuards } from '../rights/caller.js'
import { ClientView, selectRelations } from '../policy/client-view.js'
import { deletedRowsView, deletionOrder } from '../policy/deleted-rows.js'
import type { CallerWriter } from '../policy/caller-writer.js'
import { checkWrite, type CheckContext } from './check-row.js'
import { clientWriter } from './client-writer.js'
import { toTypedKey } from '../statements/write-tree.js'
import { readTree } from '../statements/read-tree.js'
import { policyOf } from '../rights/record-policy.js'

export interface DeletedRows<T> {
  readonly rows: T[]
  /** The cursor of the next page. */
  readonly next: string | undefined
}

export class ClientRecords<T extends object> {
  readonly #table: Table<T>
  readonly #records: Repository<T>
  readonly #caller: Caller
  readonly #database: Database
  #showsWritten = true
  #cachedView: ClientView | undefined
  #cachedWriter: CallerWriter | undefined

  constructor(database: Database, records: Repository<T>, caller: Caller) {
    this.#table = records.table
    this.#records = records
    this.#caller = caller
    this.#database = database
  }

  /** Created on first use, because some reads of records without rules do not need it. */
  get #view(): ClientView {
    this.#cachedView ??= new ClientView({
      context: this.#database.context,
      caller: this.#caller,
      log: this.#database.log,
    })
    return this.#cachedView
  }

  get #writer(): CallerWriter {
    this.#cachedWriter ??= clientWriter(this.#database, this.#caller, this.#view)
    return this.#cachedWriter
  }

  get table(): Table<T> {
    return this.#table
  }

  /** @returns null if no row has the key, or the client cannot see it */
  find(id: Id): MaybePromise<T | null> {
    const records = this.#records as unknown as Repository<Instance>
    const { hasRows, columns } = policyOf(this.#table)
    const found = hasRows ? this.#writer.find(this.#table, id, records) : records.find(id)
    if (columns.size === 0) return found as MaybePromise<T | null>
    return after(found, (record) => this.#concealOrNull(record))
  }

  /** As `find`, with related rows and their counts, in one statement. @throws {HttpError} 401 or 403 for relations */
  async findWith(
    id: Id,
    {
      relations,
      ...counts
    }: Pick<ListOptions<T>, 'counts'> & { readonly relations?: RelationTree | undefined },
    cost = defaultLimits.cost,
  ): Promise<T | null> {
    const { key } = this.#table
    if (toKey(this.#database.context.codecOf(this.#table), id) === undefined) return null
    const where = { [key.property]: toTypedKey(this.#table, id) } as Where<T>
    const [found] = await this.list({ where, limit: 1, ...counts }, relations, cost)
    return found ?? null
  }

  /**
   * @param relations related records to load with the same statement
   * @param cost the maximum number of related rows
   * @throws {HttpError} 401 or 403 for a filter, an order or relations that the client may not use
   */
  async list(
    options: Omit<ListOptions<T>, 'view'>,
    relations?: RelationTree,
    cost = defaultLimits.cost,
  ): Promise<T[]> {
    const view = this.#view
    const related: { table: Table; record: Instance }[] = []
    const relatedRows: RelatedRows | undefined =
      relations === undefined || relations.size === 0
        ? undefined
        : {
            maxRows: relatedRowLimit(relations, options.limit, this.#database.sizes, cost),
            relations,
            read: (some, slots) => selectRelations(some, view, slots),
            found: (table, record) => {
              if (policyOf(table).columns.size > 0) related.push({ table, record })
            },
          }
    const relatedOptions = relatedRows === undefined ? {} : { related: relatedRows }
    const boundOptions: ListOptions<T> = Object.assign(relatedOptions, options, { view })
    const records = await this.#withGuards(() => this.#records.list(boundOptions) as Promise<T[]>)
    for (const { table, record } of related) without(record, await this.#concealed(table))
    if (policyOf(this.#table).columns.size === 0) return records
    const concealed = await this.#concealed()
    return records.map((record) => without(record as Instance, concealed) as T)
  }

  /** @throws {HttpError} as `list` */
  count(where: Where<T> = {}, distinct?: ListOptions<T>['distinct']): Promise<number> {
    return this.#withGuards(() => {
      const view = this.#view
      return this.#records.count(where, distinct === undefined ? { view } : { view, distinct })
    })
  }

  /** Counts up to `max` rows. Undefined if there are more. */
  countUpTo(max: number, where: Where<T>): Promise<number | undefined> {
    const { counts } = this.#records
    return this.#withGuards(() => counts.upTo(max, { where, view: this.#view }))
  }

  /** An estimate of the count. */
  estimate(where: Where<T>): Promise<number> {
    const { counts } = this.#records
    return this.#withGuards(() => counts.roughly({ where, view: this.#view }))
  }

  /** The position of a row in the order of a list. */
  cursorOf(row: T, orderBy?: OrderBy<T>): string {
    return this.#records.cursorOf(row, orderBy)
  }

  /**
   * Aggregates only rows that the client sees. @throws {HttpError} 401 or 403 for fields that the client may not read
   */
  aggregate(options: Omit<AggregateOptions<T>, 'view'>): Promise<AggregateRow<T>[]> {
    return this.#withGuards(() =>
      this.#records.aggregate(Object.assign({}, options, { view: this.#view })),
    )
  }

  /** False after a write whose row the client may not read. Then the returned row has only its key. */
  get showsWritten(): boolean {
    return this.#showsWritten
  }

  /**
   * @returns the new row; only its key if the client may not read the record
   * @throws {HttpError} 403 if the client could not see the new row; then nothing is written
   */
  create(values: Partial<T>): MaybePromise<T> {
    const tree = readTree(this.#table, values)
    if (policyOf(this.#table).blindWrites.create)
      return this.#writeBlindly(
        () => this.#writer.create(tree),
        (record) => this.#conceal(record),
      )
    return after(this.#writer.create(tree), (record) => this.#conceal(record))
  }

  /**
   * @param expected update only a row at one of these versions
   * @returns null if no row has the key, or the client cannot see it; otherwise as `create`
   * @throws {HttpError} as `create`; 409 `CONFLICT` for another version
   */
  update(id: Id, values: Partial<T>, expected?: readonly number[]): MaybePromise<T | null> {
    const tree = readTree(this.#table, values)
    if (policyOf(this.#table).blindWrites.update)
      return this.#writeBlindly(
        () => this.#writer.update(id, tree, { expected }),
        (record) => this.#concealOrNull(record),
      )
    return after(this.#writer.update(id, tree, { expected }), (record) =>
      this.#concealOrNull(record),
    )
  }

  /** Checks the right to read before the write, because a guard may fail. */
  #writeBlindly<R extends Instance | null, S extends T | null>(
    write: () => MaybePromise<R>,
    conceal: (record: R) => MaybePromise<S>,
  ): MaybePromise<S> {
    const { read } = policyOf(this.#table)
    const access = read === undefined ? 'admitted' : checkAccess(read, this.#caller)
    return after(access, (result) => {
      this.#showsWritten = result === 'admitted'
      return after(write(), (record) => {
        if (record !== null && !this.#showsWritten) keepKey(record, this.#table)
        return conceal(record)
      })
    })
  }

  /** Checks a creation or a change by reads alone: see `checkWrite`. */
  async check(id: Id | undefined, values: Partial<T>, options?: CheckContext): Promise<T | null> {
    const row = await checkWrite(this.#writer, id, readTree(this.#table, values), options)
    return this.#concealOrNull(row)
  }

  /** @returns false if no row has the key, or the client cannot see it */
  delete(id: Id, expected?: readonly number[]): MaybePromise<boolean> {
    return this.#writer.delete(this.#table, id, expected)
  }

  /**
   * The rows that are marked as deleted and that the client could see before, the latest first. Their time of deletion is set.
   *
   * @param cursor the cursor of this page
   * @returns the rows, and the cursor of the next page if there is one
   */
  async listDeleted(limit: number, cursor?: string): Promise<DeletedRows<T>> {
    const options: ListOptions<T> = {
      limit: limit + 1,
      withDeleted: true,
      view: deletedRowsView(this.#view),
      ...(cursor !== undefined && { after: cursor }),
    }
    const found = await this.#withGuards(() => this.#records.list(options) as Promise<T[]>)
    const page = found.slice(0, limit)
    const last = page.at(-1)
    const order = deletionOrder(this.#table) as OrderBy<T>
    const next = found.length > limit && last !== undefined ? this.cursorOf(last, order) : undefined
    const rows: T[] = []
    for (const record of page) rows.push(await this.#conceal(record as Instance))
    return { rows, next }
  }

  /**
   * @returns false if no row has the key, it is not marked as deleted, or the client could not see it before
   * @throws {HttpError} 409 `CONFLICT`; 403 if the client could not see the row afterwards
   */
  restore(id: Id): MaybePromise<boolean> {
    return after(this.#writer.restore(this.#table, id), (record) => record !== null)
  }

  /** Runs the query, and again after each guard that returns a promise. */
  #withGuards<R>(query: () => Promise<R>): Promise<R> {
    if (!policyOf(this.#table).mayAwaitGuards) return query()
    return Promise.resolve(retryAfterGuards(this.#caller, query))
  }

  #concealOrNull(record: Instance | null): MaybePromise<T | null> {
    return record === null ? null : this.#conceal(record)
  }

  #conceal(record: Instance): MaybePromise<T> {
    if (policyOf(this.#table).columns.size === 0) return record as T
    return after(this.#concealed(), (concealed) => without(record, concealed) as T)
  }

  /** The properties that the client may not read. */
  #concealed(table: Table = this.#table): MaybePromise<readonly string[]> {
    let concealed: MaybePromise<readonly string[]> = []
    for (const [{ property }, rule] of policyOf(table).columns) {
      concealed = after(concealed, (before) =>
        after(checkAccess(rule, this.#caller), (result) =>
          result === 'admitted' ? before : [...before, property],
        ),
      )
    }
    return concealed
  }
}

function keepKey(record: Instance, { key }: Table): void {
  const keyNames = storedColumnsOf(key).map(({ property }) => property)
  without(
    record,
    Object.keys(record).filter((property) => !keyNames.includes(property)),
  )
}

function without(record: Instance, properties: readonly string[]): Instance {
  // JSON leaves undefined properties out.
  for (const property of properties) record[property] = undefined
  return record
}
