/**
 * Creates, updates and deletes for a client, with nested rows and links, all or nothing. Each row is checked before the
 * write, as it is stored, and afterwards with its children and links; keys may only name rows that the caller can see.
 * Source: decisions, Records: access rules.
 */
import { type MaybePromise, after, isThenable, promise } from '../../core/maybe-promise.js'
import type { Database } from '../database.js'
import type { Id } from '../filters/list-options.js'
import { toKey } from '../model/codec.js'
import { isolationOf } from '../model/write-hooks.js'
import type { Table } from '../model/table.js'
import type { ClientWriting } from '../../engines/contract/engine.js'
import type { Isolation } from '../../core/transaction.js'
import { ServerRequest } from '../../http/server-request.js'
import { Repository } from '../repository.js'
import type { Source } from '../statements/source.js'
import { hasAddition } from '../statements/additions.js'
import { isolationToDelete } from '../statements/delete-rows.js'
import { refuseOtherVersion } from '../statements/change-row.js'
import { inShard, inShardOf } from '../statements/shard.js'
import { allowingSwaps } from '../statements/swapped-values.js'
import { referencesToMarked } from '../statements/write-row.js'
import type { Caller } from '../rights/caller.js'
import { ClientView } from '../policy/client-view.js'
import { KeyChecker, type WriteTarget } from '../policy/row-lookup.js'
import {
  toTypedKey,
  hasNestedWrites,
  tablesOf,
  type Instance,
  type WriteTree,
} from '../statements/write-tree.js'
import { canNameReferrers, concealErrors } from '../rights/secured-responses.js'
import { policyOf, type WriteOperation } from '../rights/record-policy.js'
import { demandFields, refuseTooManyNested, TreeRights } from '../policy/tree-rights.js'
import { checkRow } from './check-row.js'
import { changeTree, insertTree, TreeWriter, writerFor } from '../policy/tree-writer.js'

const noKeys: ReadonlySet<string> = new Set()

/** Options of a check by reads alone. */
export interface CheckOptions {
  /** Accept only a row at one of these versions. */
  readonly expected?: readonly number[] | undefined
  /** The keys, as text, of rows that would be changed before. Their stored unique values do not count. */
  readonly changedKeys?: ReadonlySet<string> | undefined
}

/** The writes of one request. */
export class ClientWriter {
  readonly view: ClientView
  readonly source: Source
  readonly #database: Database
  readonly #caller: Caller
  /** The client's request. Nothing is stored after its timeout. */
  readonly #request: ClientWriting | undefined
  readonly #target: WriteTarget
  #keyChecker: KeyChecker | undefined

  /** @param view the caller's view, if it was created for reads before */
  constructor(
    database: Database,
    caller: Caller,
    view = new ClientView({ context: database.context, caller, log: database.log }),
  ) {
    const { request } = caller
    this.#database = database
    this.#caller = caller
    this.#request = request instanceof ServerRequest ? request : database.startingRequest
    this.source = database.writesFor(this.#request)
    this.view = view
    this.#target = { source: this.source, records: (table) => this.#repository(table) }
  }

  /**
   * The right to write the row itself was checked earlier. Rights for the other rows are checked here.
   *
   * @throws {HttpError} 400 `VALIDATION`, 409 `CONFLICT`; 401 or 403 for fields and nested records that the caller may
   * not write; 404 `NOT_FOUND` for missing nested rows; 403 `FORBIDDEN` if the caller could not see a row afterwards.
   * Nothing is written then
   */
  create(tree: WriteTree): MaybePromise<Instance> {
    return after(this.#demandFields(tree), () =>
      tree.table.shard === undefined
        ? this.#createNow(tree)
        : this.inShard(tree.table, tree.values, () => this.#createNow(tree)),
    )
  }

  /**
   * @param expected update only a row at one of these versions
   * @returns null if no row has the key, or the caller cannot see it
   * @throws {HttpError} as `create`; 409 `CONFLICT` for another version
   */
  update(id: Id, tree: WriteTree, expected?: readonly number[]): MaybePromise<Instance | null> {
    return after(this.#demandFields(tree), () =>
      tree.table.shard === undefined
        ? this.#updateNow(id, tree, expected)
        : this.inShard(tree.table, tree.values, () => this.#updateNow(id, tree, expected)),
    )
  }

  /**
   * Checks a creation or a change by reads alone: see `checkRow`. It does not check whether the client could see the row
   * afterwards.
   *
   * @param id undefined for a new row
   * @returns the row as it would be stored; null if no row has the key, or the caller cannot see it
   * @throws {HttpError} as `create` and `update`
   */
  async check(
    id: Id | undefined,
    tree: WriteTree,
    { expected, changedKeys = noKeys }: CheckOptions = {},
  ): Promise<Instance | null> {
    const { table } = tree
    const isNew = id === undefined
    await this.#demandFields(tree)
    refuseTooManyNested(tree, this.#caller)
    const isRootOpen = isOpen(table, isNew ? 'create' : 'update')
    await new TreeRights(this.#caller, isRootOpen).demand(tree, isNew)
    const before = isNew ? undefined : await this.find(table, id)
    if (before === null) return null
    if (before !== undefined) refuseOtherVersion(table, before, expected)
    await this.#keys.check(tree, before)
    return promise(() => checkRow(this.#target, tree, { before, changedKeys })).catch(
      (error: unknown) => {
        throw tree.toClientError(concealErrors(error, table, this.#caller))
      },
    )
  }

  /**
   * Whether a row needs only the checks of its fields, so that many rows can be written together.
   *
   * @throws {HttpError} 401 or 403 for fields that the caller may not write
   */
  admitsAlone(tree: WriteTree): MaybePromise<boolean> {
    return after(this.#demandFields(tree), () => this.#isAlone(tree))
  }

  #demandFields(tree: WriteTree): MaybePromise<void> {
    return policyOf(tree.table).restrictsFields ? demandFields(tree, this.#caller) : undefined
  }

  #isAlone(tree: WriteTree): boolean {
    return !hasNestedWrites(tree) && !this.view.isBound(tree.table) && !this.#namesCheckedKey(tree)
  }

  #namesCheckedKey(tree: WriteTree): boolean {
    const { checkedRelations } = policyOf(tree.table)
    return checkedRelations.size > 0 && this.#keys.namesCheckedKey(tree)
  }

  /** True if a creation or change is a single statement, which is sent without waiting for anything. */
  isOneStatement(tree: WriteTree): boolean {
    const { table } = tree
    if (!mayBeOneStatement(this.#database, table)) return false
    if (!this.#isAlone(tree) || hasAddition(table, tree.values)) return false
    const announced = this.#database.announces(table)
    if (!isThenable(announced)) return !announced
    // The promise is not awaited, because only the next write uses its result.
    announced.catch(() => undefined)
    return false
  }

  get #keys(): KeyChecker {
    return (this.#keyChecker ??= new KeyChecker(this.#target, this.view))
  }

  #createNow(tree: WriteTree): MaybePromise<Instance> {
    if (this.#isAlone(tree)) return insertTree(this.#target, tree, this.#caller)
    return this.#writeWithChecks(tree, true, (writer) => writer.create(tree))
  }

  #updateNow(id: Id, tree: WriteTree, expected?: readonly number[]): MaybePromise<Instance | null> {
    const { table } = tree
    if (hasNestedWrites(tree) || this.#namesCheckedKey(tree))
      return this.#changeWithChecks(id, tree, expected)
    if (!this.view.isBound(table))
      return changeTree(this.#target, id, tree, this.#caller, { expected })
    const slots = { values: [] as unknown[], key: '' }
    const condition = this.view.rows(table, slots)
    if (condition === undefined)
      return changeTree(this.#target, id, tree, this.#caller, { expected })
    const rowFilter = { condition, ...slots }
    const changing = changeTree(this.#target, id, tree, this.#caller, { expected, rowFilter })
    return after(changing, (changed) => changed ?? this.#changeWithChecks(id, tree, expected))
  }

  /**
   * @returns false if no row has the key, or the caller cannot see it
   * @throws {HttpError} 409 `CONFLICT` if other rows refer to it; their record is named only if the caller may see it
   */
  delete(table: Table, id: Id, expected?: readonly number[]): MaybePromise<boolean> {
    return table.shard === undefined
      ? this.#deleteNow(table, id, expected)
      : this.inShard(table, undefined, () => this.#deleteNow(table, id, expected))
  }

  #deleteNow(table: Table, id: Id, expected?: readonly number[]): MaybePromise<boolean> {
    const repository = this.#repository(table)
    const canName = canNameReferrers(this.#caller)
    const deleteNow = (): MaybePromise<boolean> =>
      repository.deleteNow(id, canName, expected, writerFor(this.#caller))
    if (!this.view.isBound(table)) return deleteNow()
    return this.transaction(
      isolationToDelete(table, this.#database.context),
      async () => (await this.find(table, id)) !== null && deleteNow(),
    )
  }

  /** The row, if the caller can see it. */
  find(table: Table, id: Id, repository = this.#repository(table)): MaybePromise<Instance | null> {
    if (!this.view.isBound(table)) return repository.find(id)
    const key = toKey(this.#database.context.codecOf(table), id)
    if (key === undefined) return null
    const where = { [table.key.property]: toTypedKey(table, id) }
    return after(repository.list({ where, limit: 1, view: this.view }), ([row]) => row ?? null)
  }

  /** Runs work in the shard of the call, of the caller's `rows`, or of the values. */
  inShard<R>(table: Table, values: object | undefined, work: () => R): R {
    const { shard } = table
    if (shard === undefined || this.#caller.trusted) return inShardOf(table, values, work)
    const value = this.view.shard(table, shard)
    return value === undefined ? inShardOf(table, values, work) : inShard(table, value, work)
  }

  /** Checks, writes, and checks again. */
  #changeWithChecks(
    id: Id,
    tree: WriteTree,
    expected: readonly number[] | undefined,
  ): Promise<Instance | null> {
    return this.#writeWithChecks(tree, false, async (writer) => {
      const before = await this.find(tree.table, id)
      return before === null ? null : writer.update(tree, before, expected)
    })
  }

  async #writeWithChecks<T>(
    tree: WriteTree,
    isNew: boolean,
    write: (writer: TreeWriter) => Promise<T>,
  ): Promise<T> {
    refuseTooManyNested(tree, this.#caller)
    const isRootOpen = isOpen(tree.table, isNew ? 'create' : 'update')
    await new TreeRights(this.#caller, isRootOpen).demand(tree, isNew)
    const work = (): Promise<T> => write(new TreeWriter(this.#target, this.view, this.#keys))
    return isNew ? this.transaction(isolationOf(tablesOf(tree)), work) : this.swapping([tree], work)
  }

  /**
   * Nothing is stored after the request's timeout. The caller's visible rows are looked up before and after a write.
   * The rows must not change in between, even if no hook requires that.
   *
   * @param isolation the level that the hooks of the written records require
   */
  transaction<R>(isolation: Isolation = 'repeatable read', work: () => Promise<R>): Promise<R> {
    return this.#database.transaction(work, { isolation }, this.#request)
  }

  /**
   * As `transaction`, for changes of rows that may exchange unique values. Records with `rows` do not allow that,
   * because their rows are checked immediately after each write.
   */
  swapping<R>(trees: readonly WriteTree[], work: () => Promise<R>): Promise<R> {
    const isolation = isolationOf(trees.flatMap((tree) => [...tablesOf(tree)]))
    if (trees.some((tree) => this.#isBoundBelow(tree))) return this.transaction(isolation, work)
    return allowingSwaps<R>(
      (inside) => this.transaction(isolation, () => inside(this.source)),
      work,
    )
  }

  #isBoundBelow({ table, toOne, toMany }: WriteTree): boolean {
    if (this.view.isBound(table)) return true
    if (toOne.some((one) => 'tree' in one && this.#isBoundBelow(one.tree))) return true
    return toMany.some(({ relation, update }) =>
      update.length > 0
        ? update.some(({ tree }) => this.#isBoundBelow(tree))
        : this.view.isBound(relation.target),
    )
  }

  #repository(table: Table): Repository<Instance> {
    if (this.#request === undefined)
      return this.#database.records(table.type) as unknown as Repository<Instance>
    return new Repository(table, this.source) as unknown as Repository<Instance>
  }
}

/**
 * True if the record has no hooks, rules for whole rows or rights for single fields, which would need more
 * statements.
 */
function mayBeOneStatement({ context }: Database, table: Table): boolean {
  if (table.hasWriteHooks || context.checksOf(table).row !== undefined) return false
  if (referencesToMarked(table).length > 0) return false
  return !policyOf(table).restrictsFields
}

/** True if the write needs no token. */
function isOpen(table: Table, operation: WriteOperation): boolean {
  const access = policyOf(table).writes[operation]
  return access !== false && access?.open === true
}
