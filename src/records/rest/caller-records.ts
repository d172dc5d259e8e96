/**
 * A record with the rights of a request's caller, for handlers and packages. It does what a controller with `crud`
 * does, without a route. Hidden fields do not exist, invisible rows are missing, and values are checked like a body.
 * Source: public API, Records; decisions, Records: access rules.
 */
import { tokenAccess } from '../../auth/access.js'
import { attempt, type MaybePromise } from '../../core/maybe-promise.js'
import { unmarked } from '../../errors/field-errors.js'
import { HttpError } from '../../errors/http-error.js'
import type { TextValues } from '../../http/query-string.js'
import type { HttpRequest } from '../../http/request.js'
import type { Class } from '../../metadata/class.js'
import type { Database } from '../database.js'
import type { Database as PublicDatabase } from '../public-database.js'
import type { FindOneOptions, FindOptions, KeyOf, ListOptions } from '../filters/list-options.js'
import type { RowBy, RowOf } from '../model/loaded-rows.js'
import type { SelectOptions } from '../model/record-types.js'
import { readId } from '../model/record-key.js'
import { hasKey } from '../../engines/contract/table.js'
import { pageOrder } from '../filters/order.js'
import { writeOffsetCursor } from '../filters/search.js'
import type { Table } from '../model/table.js'
import { checkCost } from '../budget/check-cost.js'
import { defaultLimits } from '../../http/limits.js'
import { costOf, recordNaming } from '../budget/query-cost.js'
import { readRelationTree, ClientView } from '../policy/client-view.js'
import { bodyChecksOf, type BodyChecks } from './crud-bodies.js'
import { readCrudQuery } from './crud-query.js'
import { checkWriteRight } from '../policy/tree-rights.js'
import { checkRules, requestCaller, type Caller } from '../rights/caller.js'
import { methodRules } from '../rights/method-access.js'
import { policyOf, type WriteOperation } from '../rights/record-policy.js'
import { admits, readRights, type RecordRights } from './record-rights.js'
import { providerOf } from '../statements/source.js'
import type { CheckContext } from '../clients/check-row.js'
import { ClientRecords, type DeletedRows } from '../clients/client-records.js'
import { largestLimit } from '../clients/operation-inputs.js'

/** The values of a write, as in the body of `POST` and `PATCH` of `crud`. */
type InputValues = Readonly<Record<string, unknown>>

type CallerFirstOptions<T> = Pick<ListOptions<T>, 'where' | 'orderBy' | 'with'>

type CallerListOptions<T> = CallerFirstOptions<T> & Pick<ListOptions<T>, 'limit' | 'after'>

/** The number of rows that `all` reads in one page. */
const pageSize = 500
/** The page size with related rows, because each row may have many of them. */
const relatedPageSize = 100
/** Bytes of a page. Pages of large rows are shorter. */
const pageBytes = 8 * 1024 * 1024

/**
 * A record as the caller of a request may read and write it. The record's policy applies, and values are checked like
 * the body of a controller with `crud`.
 *
 * ```ts
 * const tickets = recordsAs(database, Ticket, request)
 * await tickets.update(7, { status: 'closed' })   // null if the caller cannot see it; throws 400, 403 and 409
 * ```
 */
export function recordsAs<T extends object>(
  database: PublicDatabase,
  type: Class<T>,
  request: HttpRequest,
): CallerRecords<T> {
  return new CallerRecords(database as Database, type, request)
}

/** The record of one caller. Create it with `recordsAs`. */
export class CallerRecords<T extends object = object> {
  readonly #database: Database
  readonly #table: Table<T>
  readonly #caller: Caller
  readonly #records: ClientRecords<T>
  readonly #type: Class<T>

  constructor(database: Database, type: Class<T>, request: HttpRequest) {
    this.#database = database
    this.#table = database.table(type)
    this.#type = type
    this.#caller = requestCaller(request)
    this.#records = new ClientRecords(database, database.recordsFor(type, request), this.#caller)
  }

  /** The database and the record, for other parts of the framework. */
  static partsOf(records: CallerRecords): { readonly database: Database; readonly type: Class } {
    return { database: records.#database, type: records.#type }
  }

  /** The rights of the caller. It does not throw if the caller has no rights. */
  rights(): Promise<RecordRights> {
    const view = this.#view()
    return readRights(this.#table, this.#caller, (table) => view.seesAny(table))
  }

  /** Whether the caller may read all rows, because `rows` excludes none. */
  async seesAll(): Promise<boolean> {
    const isReader = await admits([policyOf(this.#table).read], this.#caller)
    return isReader && this.#view().seesAll(this.#table)
  }

  /** A provider of the application, as in hooks. */
  get<P>(token: Class<P> | string | symbol): P {
    return providerOf(this.#database.context.providers, token as Class) as P
  }

  /**
   * An estimate of how many rows the database searches one by one for a text of the query, because no index finds it.
   * Sharded tables do not count.
   *
   * @param query as for `all`
   * @throws {HttpError} 400 for a query that `crud` would refuse
   */
  searchedRows(query: TextValues): number {
    const { sizes } = this.#database
    sizes.refresh()
    const { where } = readCrudQuery(this.#table, query).options
    return costOf(recordNaming(this.#table), { where }, sizes).searchedRows
  }

  /** Whether the rules of a method admit the caller: `@Secured`, and for `@Resolve` the rules of the fields it needs. */
  mayCall(method: string): Promise<boolean> {
    return admits(methodRules(this.#table, method), this.#caller)
  }

  /**
   * @param options `lock` locks the row until the open transaction ends; `with` names relations
   * @returns null if no row has the key, or the caller cannot see it
   * @throws {HttpError} 401 or 403 for a record that the caller may not read
   */
  find<const O extends FindOneOptions<T> = object>(
    key: KeyOf<T>,
    options?: O & SelectOptions<O, FindOneOptions<T>, T>,
  ): Promise<RowBy<T, O, 'visible'> | null>
  async find(
    key: KeyOf<T>,
    { lock = false, with: paths = [] }: FindOneOptions<T> = {},
  ): Promise<T | null> {
    await this.#checkRead()
    const id = readId(this.#table, key)
    if (lock) await this.#database.records<object>(this.#type).find(id, { lock: true })
    if (paths.length === 0) return this.#records.find(id)
    return this.#records.findWith(id, { relations: readRelationTree(this.#table, paths) })
  }

  /** @throws {HttpError} 401 or 403, also for fields that the caller may not read */
  list<const O extends CallerListOptions<T>>(
    options: O & SelectOptions<O, CallerListOptions<T>, T>,
  ): Promise<RowBy<T, O, 'visible'>[]>
  async list({ with: paths = [], ...options }: CallerListOptions<T>): Promise<T[]> {
    await this.#checkRead()
    return this.#records.list(options, readRelationTree(this.#table, paths))
  }

  /**
   * The first row that matches a filter, in order.
   *
   * @returns null if the caller can see no such row
   * @throws {HttpError} 401 or 403, also for fields that the caller may not read
   */
  first<const O extends CallerFirstOptions<T> = object>(
    options?: O & SelectOptions<O, CallerFirstOptions<T>, T>,
  ): Promise<RowBy<T, O, 'visible'> | null>
  async first({ with: paths = [], ...options }: CallerFirstOptions<T> = {}): Promise<T | null> {
    await this.#checkRead()
    const [row] = await this.#records.list(
      { ...options, limit: 1 },
      readRelationTree(this.#table, paths),
    )
    return row ?? null
  }

  /**
   * All rows of a list, read in pages. The query is the one of `crud`, `?status=open&orderBy=-id`. Its `limit`,
   * `offset` and `after` are ignored.
   *
   * @param options `with` names relations
   * @throws {HttpError} 400 for a query that `crud` would refuse, 401 or 403
   */
  all<const O extends FindOptions<T> = object>(
    query: TextValues,
    options?: O & SelectOptions<O, FindOptions<T>, T>,
  ): AsyncGenerator<RowBy<T, O, 'visible'>[], void, undefined>
  async *all(
    query: TextValues,
    { with: paths = [] }: FindOptions<T> = {},
  ): AsyncGenerator<T[], void, undefined> {
    await this.#checkRead()
    const related = readRelationTree(this.#table, paths)
    const { sizes } = this.#database
    sizes.refresh()
    const rowBytes = Math.max(1, sizes.bytesOf(this.#table.name))
    const maxRows = related.size === 0 ? pageSize : relatedPageSize
    let limit = Math.min(maxRows, Math.max(1, Math.floor(pageBytes / rowBytes)))
    const { where, orderBy } = readCrudQuery(this.#table, query).options
    checkCost(this.#table, { where, orderBy, limit }, sizes, defaultLimits.cost)
    const order = pageOrder(this.#table, orderBy) as never
    let cursor: { after?: string } = {}
    let count = 0
    for (;;) {
      const options = { where: where as never, orderBy: order, limit, ...cursor }
      const rows = await this.#records.list(options, related).catch((error: unknown) => {
        // The rows are larger than the sizes of the table say.
        if (limit === 1 || !isTooCostly(error)) throw error
        return undefined
      })
      if (rows === undefined) {
        limit = Math.ceil(limit / 8)
        continue
      }
      // The cursor is created from the stored row, before the consumer can change it.
      const last = rows.at(-1)
      count += rows.length
      if (last !== undefined)
        cursor = {
          after: hasKey(this.#table)
            ? this.#records.cursorOf(last, order)
            : writeOffsetCursor(count),
        }
      if (rows.length > 0) yield rows
      if (rows.length < limit) return
    }
  }

  /**
   * @returns the new row; only its key if the caller may not read the record
   * @throws {HttpError} 400 as for a body, 401, 403, 409
   */
  async create(values: InputValues): Promise<RowOf<T>> {
    await this.#checkWriteRight('create')
    const checked = await this.#checks.complete(values)
    return ofCaller(() => this.#records.create({ ...checked }))
  }

  /**
   * Checks the values of a new row like a body. It writes nothing and looks nothing up.
   *
   * @throws {HttpError} as `create`
   */
  async check(values: InputValues): Promise<void> {
    await this.#checkWriteRight('create')
    await this.#checks.complete(values)
  }

  /**
   * The methods that run with a write, which `checkCreate` and `checkUpdate` leave out. Those that run before a write may
   * change or refuse the row, and those after it may refuse it.
   */
  get writeHooks(): { readonly before: readonly string[]; readonly after: readonly string[] } {
    const { beforeWrite, afterWrite } = this.#table.hooks
    return { before: beforeWrite, after: afterWrite }
  }

  /**
   * Checks a new row by reads alone, without hooks. It also looks up unique values and keys of other rows, and whether the
   * caller could see the row, unless hooks run before the write.
   *
   * @param context what is known from the checks of earlier rows
   * @returns the row as it would be stored, without the key that the database makes
   * @throws {HttpError} as `create`
   */
  async checkCreate(
    values: InputValues,
    context?: Omit<CheckContext, 'expected'>,
  ): Promise<RowOf<T>> {
    await this.#checkWriteRight('create')
    const checked = await this.#checks.complete(values)
    const row = await ofCaller(() => this.#records.check(undefined, { ...checked }, context))
    return row as T
  }

  /**
   * Checks a change as `checkCreate` checks a new row.
   *
   * @param context `expected`: as for `update`
   * @returns the row as it would be stored; null if no row has the key, or the caller cannot see it
   * @throws {HttpError} as `update`
   */
  async checkUpdate(
    key: KeyOf<T>,
    values: InputValues,
    context?: CheckContext,
  ): Promise<RowOf<T> | null> {
    await this.#checkWriteRight('update')
    const id = readId(this.#table, key)
    const checked = await this.#checks.changes(values)
    return ofCaller(() => this.#records.check(id, { ...checked }, context))
  }

  /**
   * @param expected update only a row at one of these versions
   * @returns null if no row has the key, or the caller cannot see it; otherwise as `create`
   * @throws {HttpError} as `create`; 409 `CONFLICT` for another version
   */
  async update(
    key: KeyOf<T>,
    values: InputValues,
    expected?: readonly number[],
  ): Promise<RowOf<T> | null> {
    await this.#checkWriteRight('update')
    const id = readId(this.#table, key)
    const checked = await this.#checks.changes(values)
    return ofCaller(() => this.#records.update(id, { ...checked }, expected))
  }

  /** @returns false if no row has the key, or the caller cannot see it */
  async delete(key: KeyOf<T>, expected?: readonly number[]): Promise<boolean> {
    await this.#checkWriteRight('delete')
    return this.#records.delete(readId(this.#table, key), expected)
  }

  /** Whether `delete` only marks rows, so that they can be restored. */
  get isSoftDeleted(): boolean {
    return this.#table.deletedAt !== undefined
  }

  /**
   * The rows that `softDelete` has marked as deleted and that the caller could see before, the latest first. It needs the rights
   * to read and to delete. The rows have `deletedAt`.
   *
   * @param page `limit` is at most 1,000, by default 50; `after` is the `next` of the previous page
   * @throws {HttpError} 401 or 403
   */
  async deleted({
    limit = 50,
    after: cursor,
  }: { readonly limit?: number; readonly after?: string | undefined } = {}): Promise<
    DeletedRows<RowOf<T>>
  > {
    await this.#checkRead()
    await this.#checkWriteRight('delete')
    if (!this.isSoftDeleted) return { rows: [], next: undefined }
    const max = Math.min(limit, largestLimit)
    return this.#records.listDeleted(max, cursor)
  }

  /**
   * Restores a row that `softDelete` has marked as deleted. It needs the right to delete, and runs the hooks of a write.
   *
   * @returns false if no row has the key, it is not marked as deleted, or the caller could not see it before
   * @throws {HttpError} 401, 403, 409
   */
  async restore(key: KeyOf<T>): Promise<boolean> {
    await this.#checkWriteRight('delete')
    return this.isSoftDeleted && this.#records.restore(readId(this.#table, key))
  }

  #view(): ClientView {
    const { context, log } = this.#database
    return new ClientView({ context, caller: this.#caller, log })
  }

  get #checks(): BodyChecks {
    return bodyChecksOf(this.#table, this.#database.context)
  }

  #checkRead(): MaybePromise<void> {
    return checkRules([policyOf(this.#table).read], this.#caller)
  }

  async #checkWriteRight(operation: WriteOperation): Promise<void> {
    const { writes } = policyOf(this.#table)
    if (writes[operation] === undefined) await checkRules([tokenAccess], this.#caller)
    await checkWriteRight(this.#table, operation, this.#caller)
  }
}

function isTooCostly(error: unknown): boolean {
  return error instanceof HttpError && error.code === 'TOO_COSTLY'
}

/** Runs a write of values of the caller. As with `crud`, every validation error is the caller's, not the program's. */
function ofCaller<T>(write: () => MaybePromise<T>): MaybePromise<T> {
  return attempt(write, (error) => {
    throw unmarked(error, () => true)
  })
}
