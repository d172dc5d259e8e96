/**
 * Writes single rows with their nested rows for one caller: a client, or the program itself. A row that needs no check of its
 * own is one statement. Otherwise the row is locked and checked before and after. Source: decisions, Records: writes; access
 * rules.
 */
import { silentLog } from '../../core/log.js'
import { type MaybePromise, after, isThenable } from '../../core/maybe-promise.js'
import type { Isolation } from '../../core/transaction.js'
import type { Column } from '../../engines/contract/table.js'
import type { Id } from '../filters/list-options.js'
import { toKey } from '../model/codec.js'
import { isolationOf } from '../model/write-hooks.js'
import type { Table, Instance } from '../model/table.js'
import { idOf } from '../model/record-key.js'
import { forbidden, type Caller, retryAfterGuards } from '../rights/caller.js'
import { canNameReferrers } from '../rights/secured-responses.js'
import { policyOf, type WriteOperation } from '../rights/record-policy.js'
import { hasAddition } from '../statements/additions.js'
import { isolationToDelete } from '../statements/delete-rows.js'
import { inShard, inShardOf } from '../statements/shard.js'
import type { Source } from '../statements/source.js'
import { allowingSwaps } from '../statements/swapped-values.js'
import { isConcurrentInsert, storedForm, toConflict, upsertTogether } from '../statements/upsert.js'
import { deleteOne } from '../statements/write-one.js'
import { referencesToMarked } from '../statements/marked-references.js'
import { restoreOne } from '../statements/restore-row.js'
import {
  toTypedKey,
  hasNestedWrites,
  tablesOf,
  withValues,
  type WriteTree,
} from '../statements/write-tree.js'
import { ClientView } from './client-view.js'
import { KeyChecker, lockVisibleRows, readerOf, type RowReader } from './row-lookup.js'
import { checkFieldRights, checkWriteRight, checkNestedCount, TreeRights } from './tree-rights.js'
import {
  changeTree,
  insertTree,
  namedError,
  TreeWriter,
  writerFor,
  type RowConditions,
} from './tree-writer.js'

/** Runs work in a transaction, or in a part of the open one. */
type Begin = <R>(work: () => Promise<R>, isolation: Isolation | undefined) => Promise<R>

export interface CallerWriterOptions {
  readonly source: Source
  readonly view: ClientView
  readonly begin: Begin
}

const program: Caller = Object.freeze({
  trusted: true,
  auth: undefined,
  user: null,
  request: undefined,
})

/** The writer of a program, to which no rights apply. */
export function programWriter(source: Source): CallerWriter {
  const view = new ClientView({ context: source.context, caller: program, log: silentLog })
  return new CallerWriter({
    source,
    view,
    begin: (work, isolation) => source.atomically(work, isolation),
  })
}

/** The maximum number of attempts of an upsert. More would not help a transaction that cannot see later writes of others. */
const maxAttempts = 5

export class CallerWriter {
  readonly view: ClientView
  readonly source: Source
  readonly begin: Begin
  readonly #caller: Caller
  #cachedKeys: KeyChecker | undefined

  constructor({ source, view, begin }: CallerWriterOptions) {
    this.source = source
    this.view = view
    this.begin = begin
    this.#caller = view.caller
  }

  /**
   * The right to write the row itself was checked earlier. Rights for the other rows are checked here.
   *
   * @throws {HttpError} 400 `VALIDATION`, 409 `CONFLICT`; 401 or 403 for fields and nested records that the caller may
   * not write; 404 `NOT_FOUND` for missing nested rows; 403 `FORBIDDEN` if the caller could not see a row afterwards.
   * Nothing is written then
   */
  create(tree: WriteTree): MaybePromise<Instance> {
    return after(this.checkFields(tree), () =>
      tree.table.shard === undefined
        ? this.#createNow(tree)
        : this.inShard(tree.table, tree.values, () => this.#createNow(tree)),
    )
  }

  /**
   * @param conditions a filter of a program, and versions: update only a row that matches the filter, at one of the versions
   * @returns null if no row has the key, the caller cannot see it, or it does not match the filter
   * @throws {HttpError} as `create`; 409 `CONFLICT` for another version
   */
  update(
    id: Id,
    tree: WriteTree,
    conditions: RowConditions = noConditions,
  ): MaybePromise<Instance | null> {
    return after(this.checkFields(tree), () =>
      tree.table.shard === undefined
        ? this.#updateNow(id, tree, conditions)
        : this.inShard(tree.table, tree.values, () => this.#updateNow(id, tree, conditions)),
    )
  }

  /**
   * @param expected delete only a row at one of these versions
   * @returns false if no row has the key, or the caller cannot see it
   * @throws {HttpError} 409 `CONFLICT` if other rows refer to it; their record is named only if the caller may see it
   */
  delete(table: Table, id: Id, expected?: readonly number[]): MaybePromise<boolean> {
    return table.shard === undefined
      ? this.#deleteNow(table, id, expected)
      : this.inShard(table, undefined, () => this.#deleteNow(table, id, expected))
  }

  /**
   * @returns null if no row has the key, it is not marked as deleted, or the caller could not see it before
   * @throws {HttpError} 409 `CONFLICT` as `restoreOne`; 403 `FORBIDDEN` if the caller could not see the row afterwards
   */
  restore(table: Table, id: Id): MaybePromise<Instance | null> {
    return table.shard === undefined
      ? this.#restoreNow(table, id)
      : this.inShard(table, undefined, () => this.#restoreNow(table, id))
  }

  /**
   * Updates the row that has the unique values, or creates it. If the caller cannot see the existing row, the row is not
   * changed, and its values count as taken. Concurrent calls create one row.
   *
   * @param by the columns by which the row is found; the tree has values for them
   * @throws {HttpError} as `create`; 401 or 403 unless the caller has the right to create or update, whichever happens
   */
  async upsert(tree: WriteTree, by: readonly Column[]): Promise<Instance> {
    const { table } = tree
    const { create, update } = policyOf(table).writes
    const hasOneRight = this.#caller.trusted || create === update
    if (hasOneRight) await checkWriteRight(table, 'create', this.#caller)
    const named = (error: unknown): never => {
      throw namedError(error, tree, this.#caller)
    }
    const where = await storedForm(table, this.source, by, tree.values).catch(named)
    if (hasOneRight) {
      await this.checkFields(tree)
      const written = this.isAlone(tree)
        ? await upsertTogether(table, this.source, by, tree.values).catch(named)
        : undefined
      if (written !== undefined) return written
    }
    for (let attempts = 1; ; attempts++) {
      try {
        return await this.inShard(table, tree.values, () => this.#upsertRow(tree, where))
      } catch (error) {
        if (!isConcurrentInsert(error, by)) throw error
        if (attempts >= maxAttempts) throw toConflict(error)
      }
    }
  }

  /** True if a creation or change is a single statement, which is sent without waiting for anything. */
  isOneStatement(tree: WriteTree): boolean {
    const { table } = tree
    if (!mayBeOneStatement(this.source, table)) return false
    if (!this.isAlone(tree) || hasAddition(table, tree.values)) return false
    const announced = this.source.announces(table)
    if (!isThenable(announced)) return !announced
    // The promise is not awaited, because only the next write uses its result.
    announced.catch(() => undefined)
    return false
  }

  /** Whether the row has no nested rows, and needs only the checks of its fields. */
  isAlone(tree: WriteTree): boolean {
    return !hasNestedWrites(tree) && !this.view.isBound(tree.table) && !this.#namesCheckedKey(tree)
  }

  /** The row, if the caller can see it. */
  find(
    table: Table,
    id: Id,
    reader: RowReader = readerOf(table, this.source),
  ): MaybePromise<Instance | null> {
    if (!this.view.isBound(table)) return reader.find(id)
    const shard = this.view.wholeShard(table)
    if (shard !== undefined) return inShard(table, shard, () => reader.find(id))
    const key = toKey(this.source.context.codecOf(table), id)
    if (key === undefined) return null
    const where = { [table.key.property]: toTypedKey(table, id) }
    return after(reader.list({ where, limit: 1, view: this.view }), ([row]) => row ?? null)
  }

  /** Runs work in the shard of the call, of the caller's `rows`, or of the values. */
  inShard<R>(table: Table, values: object | undefined, work: () => R): R {
    const { shard } = table
    if (shard === undefined || this.#caller.trusted) return inShardOf(table, values, work)
    const value = this.view.shard(table, shard)
    return value === undefined ? inShardOf(table, values, work) : inShard(table, value, work)
  }

  /**
   * Begins a transaction for changes of rows that may exchange unique values. Records with `rows` do not allow that,
   * because their rows are checked immediately after each write.
   */
  swapping<R>(trees: readonly WriteTree[], work: () => Promise<R>): Promise<R> {
    const isolation = isolationOfTrees(trees)
    if (trees.some((tree) => this.#isBoundBelow(tree))) return this.begin(work, isolation)
    return allowingSwaps<R>((inside) => this.begin(() => inside(this.source), isolation), work)
  }

  /** @throws {HttpError} 401 or 403 for fields that the caller may not write */
  checkFields(tree: WriteTree): MaybePromise<void> {
    return policyOf(tree.table).restrictsFields ? checkFieldRights(tree, this.#caller) : undefined
  }

  /** @throws {HttpError} 401 or 403 for nested rows that the caller may not write; 400 if they are too many */
  async checkNested(tree: WriteTree, operation: 'create' | 'update'): Promise<void> {
    checkNestedCount(tree, this.#caller)
    const rights = new TreeRights(this.#caller, isOpen(tree.table, operation))
    await rights.check(tree, operation === 'create')
  }

  get keys(): KeyChecker {
    return (this.#cachedKeys ??= new KeyChecker(this.source, this.view))
  }

  /** Whether the caller sees every row that a statement in the current shard can change. */
  #seesEveryRow(table: Table): boolean {
    return !this.view.isBound(table) || this.view.wholeShard(table) !== undefined
  }

  /** As `isAlone`. A new row in a shard of which the caller sees every row is visible. */
  #isCreatedAlone(tree: WriteTree): boolean {
    const { table, values } = tree
    const { shard } = table
    if (shard === undefined || table.hasWriteHooks || !this.view.isBound(table))
      return this.isAlone(tree)
    const value = this.view.wholeShard(table)
    const isVisible = value !== undefined && values[shard.property] === value
    return isVisible && !hasNestedWrites(tree) && !this.#namesCheckedKey(tree)
  }

  #namesCheckedKey(tree: WriteTree): boolean {
    const { checkedRelations } = policyOf(tree.table)
    return checkedRelations.size > 0 && this.keys.namesCheckedKey(tree)
  }

  #createNow(tree: WriteTree): MaybePromise<Instance> {
    if (this.#isCreatedAlone(tree)) return insertTree(this.source, tree, this.#caller)
    return this.checkNested(tree, 'create').then(() =>
      this.begin(() => this.#treeWriter().create(tree), isolationOfTrees([tree])),
    )
  }

  #updateNow(id: Id, tree: WriteTree, conditions: RowConditions): MaybePromise<Instance | null> {
    const { table } = tree
    if (hasNestedWrites(tree) || this.#namesCheckedKey(tree))
      return this.#updateChecked(id, tree, conditions)
    const slots = { values: [] as unknown[], key: '' }
    const condition = this.#seesEveryRow(table) ? undefined : this.view.rows(table, slots)
    if (condition === undefined) return changeTree(this.source, id, tree, this.#caller, conditions)
    const rowFilter = { condition, ...slots }
    const changing = changeTree(this.source, id, tree, this.#caller, { ...conditions, rowFilter })
    return after(changing, (changed) => changed ?? this.#updateChecked(id, tree, conditions))
  }

  /** Locks the row, checks, writes, and checks again. */
  async #updateChecked(
    id: Id,
    tree: WriteTree,
    { where, expected }: RowConditions,
  ): Promise<Instance | null> {
    await this.checkNested(tree, 'update')
    return this.swapping([tree], async () => {
      const before = await this.#lock(tree.table, id, where)
      return before === undefined ? null : this.#treeWriter().update(tree, before, expected)
    })
  }

  #deleteNow(table: Table, id: Id, expected?: readonly number[]): MaybePromise<boolean> {
    const canNameReferrer = canNameReferrers(this.#caller)
    const writer = writerFor(this.#caller)
    const deleteNow = (): MaybePromise<boolean> =>
      deleteOne(table, this.source, id, { canNameReferrer, expected, writer })
    if (this.#seesEveryRow(table)) return deleteNow()
    return this.begin(
      async () => (await this.#lock(table, id)) !== undefined && deleteNow(),
      isolationToDelete(table, this.source.context),
    )
  }

  #restoreNow(table: Table, id: Id): MaybePromise<Instance | null> {
    const writer = writerFor(this.#caller)
    if (this.#seesEveryRow(table)) return restoreOne(table, this.source, id, { writer })
    return this.begin(
      async () => {
        const slots = { values: [] as unknown[], key: '' }
        const condition = this.view.rows(table, slots)
        const rowFilter = condition && { condition, ...slots }
        const restored = await restoreOne(table, this.source, id, { writer, rowFilter })
        if (restored !== null && (await this.find(table, id)) === null) throw forbidden()
        return restored
      },
      isolationOf([table]),
    )
  }

  /** Locks a row that the caller can see. */
  async #lock(table: Table, id: Id, where?: unknown): Promise<Instance | undefined> {
    if (toKey(this.source.context.codecOf(table), id) === undefined) return undefined
    const byKey = { [table.key.property]: toTypedKey(table, id) }
    const filter = where === undefined ? byKey : { and: [byKey, where] }
    const [row] = await lockVisibleRows(table, filter, this.view, this.source)
    return row
  }

  async #upsertRow(tree: WriteTree, where: object): Promise<Instance> {
    const { table } = tree
    const { view } = this
    const [found] = await retryAfterGuards(this.#caller, () =>
      readerOf(table, this.source).list({ where, limit: 1, view }),
    )
    if (found !== undefined) {
      const others = Object.entries(tree.values).filter(([name]) => !(name in where))
      await checkWriteRight(table, 'update', this.#caller)
      const id = idOf(table, found)
      const changed = await this.update(id, withValues(tree, Object.fromEntries(others)))
      if (changed !== null) return changed
    }
    await checkWriteRight(table, 'create', this.#caller)
    // In a savepoint, because a failure would end the transaction.
    return this.begin(async () => this.create(tree), isolationOfTrees([tree]))
  }

  #treeWriter(): TreeWriter {
    return new TreeWriter(this.source, this.view, this.keys)
  }

  #isBoundBelow({ table, belongsTo, toMany }: WriteTree): boolean {
    if (this.view.isBound(table)) return true
    if (belongsTo.some((one) => 'tree' in one && this.#isBoundBelow(one.tree))) return true
    return toMany.some(({ relation, update }) =>
      update.length > 0
        ? update.some(({ tree }) => this.#isBoundBelow(tree))
        : this.view.isBound(relation.target),
    )
  }
}

const noConditions: RowConditions = Object.freeze({})

/** The isolation that the hooks of the written records need. */
export function isolationOfTrees(trees: readonly WriteTree[]): Isolation | undefined {
  return isolationOf(trees.flatMap((tree) => [...tablesOf(tree)]))
}

/**
 * True if the record has no hooks, rules for whole rows or rights for single fields, which would need more
 * statements.
 */
function mayBeOneStatement({ context }: Source, table: Table): boolean {
  if (table.hasWriteHooks || context.checksOf(table).row !== undefined) return false
  if (referencesToMarked(table).length > 0) return false
  return !policyOf(table).restrictsFields
}

/** True if the write needs no token. */
function isOpen(table: Table, operation: WriteOperation): boolean {
  const access = policyOf(table).writes[operation]
  return access !== false && access?.open === true
}
