/**
 * Writes many rows of a client, all or nothing, and checks each like a single write. Source: decisions, Records:
 * writes.
 */
import type { MaybePromise } from '../../core/maybe-promise.js'
import { HttpError } from '../../errors/http-error.js'
import type { Database } from '../database.js'
import type { Id } from '../filters/list-options.js'
import type { Column } from '../../engines/contract/table.js'
import { isolationOf } from '../model/write-hooks.js'
import type { Table } from '../model/table.js'
import { isolationToDelete } from '../statements/delete-rows.js'
import { isConcurrentInsert, storedForm, toConflict, upsertTogether } from '../statements/upsert.js'
import {
  noSuchRow,
  changeTogether,
  createTogether,
  deleteTogether,
} from '../statements/write-many.js'
import { createInOrder } from '../statements/reference-order.js'
import type { ClientWriter } from './client-writer.js'
import { demandWrite } from '../policy/tree-rights.js'
import { writerFor } from '../policy/tree-writer.js'
import { retryAfterGuards } from '../rights/caller.js'
import { policyOf } from '../rights/record-policy.js'
import {
  tablesOf,
  withValues,
  type Instance,
  type KeyedTree,
  type WriteTree,
} from '../statements/write-tree.js'

const maxAttempts = 5

/** Without an optimized write, the rows are written one by one. */
const notTogether = (): undefined => undefined

export class ClientManyWriter {
  readonly #database: Database
  readonly #writer: ClientWriter

  constructor(database: Database, writer: ClientWriter) {
    this.#database = database
    this.#writer = writer
  }

  async create(trees: readonly WriteTree[]): Promise<Instance[]> {
    const createdRows = await this.#together<object[]>(trees, (table) =>
      createTogether(
        table,
        this.#writer.source,
        trees.map(({ values }) => values),
        notTogether,
      ),
    )
    if (createdRows !== undefined) return createdRows as Instance[]
    return this.#writer.transaction(
      isolationOf(trees.flatMap((tree) => [...tablesOf(tree)])),
      async () => {
        const [first] = trees
        if (first === undefined) return []
        return createInOrder(first.table, this.#writer.source, trees, {
          valuesOf: ({ values }) => values,
          create: (tree, values) => this.#writer.create(withValues(tree, values)),
        })
      },
    )
  }

  /** @throws {HttpError} 404 `NOT_FOUND` if the caller cannot see one of the rows */
  async update(trees: readonly KeyedTree[]): Promise<Instance[]> {
    const rows = trees.map(({ tree }) => tree)
    const changed = await this.#together<object[]>(rows, (table) => {
      const { property } = table.key
      const changes = trees.map(({ id, tree: { values } }) =>
        Object.assign({}, values, { [property]: id }),
      )
      return changeTogether(table, this.#writer.source, changes, notTogether)
    })
    if (changed !== undefined) return changed as Instance[]
    return this.#writer.swapping(rows, async () => {
      const changed: Instance[] = []
      for (const { id, tree } of trees) {
        const record = await this.#writer.update(id, tree)
        if (record === null) throw noSuchRow(tree.table.type.name, id)
        changed.push(record)
      }
      return changed
    })
  }

  /** @returns the number of rows that the caller could see */
  async delete(table: Table, ids: readonly Id[]): Promise<number> {
    if (!this.#writer.view.isBound(table)) {
      const writer = writerFor(this.#writer.view.caller)
      const deletedCount = await deleteTogether(
        table,
        this.#writer.source,
        ids,
        notTogether,
        writer,
      )
      if (deletedCount !== undefined) return deletedCount
    }
    return this.#writer.transaction(isolationToDelete(table, this.#database.context), async () => {
      let count = 0
      for (const id of ids) if (await this.#writer.delete(table, id)) count++
      return count
    })
  }

  /**
   * If the caller cannot see the existing row, the row is not changed, and its values count as taken.
   *
   * @throws {HttpError} 401 or 403 unless the caller has the right to create or update, whichever happens
   */
  async upsert(tree: WriteTree, by: readonly Column[]): Promise<Instance> {
    const { create, update } = policyOf(tree.table).writes
    if (create === update) {
      await demandWrite(tree.table, 'create', this.#writer.view.caller)
      const row = await this.#together([tree], (table) =>
        upsertTogether(table, this.#writer.source, by, tree.values),
      )
      if (row !== undefined) return row
    }
    for (let attempt = 1; ; attempt++) {
      try {
        return await (tree.table.shard === undefined
          ? this.#upsertOnce(tree, by)
          : this.#writer.inShard(tree.table, tree.values, () => this.#upsertOnce(tree, by)))
      } catch (error) {
        if (!isConcurrentInsert(error, by)) throw error
        if (attempt >= maxAttempts) throw toConflict(error)
      }
    }
  }

  /**
   * Writes rows that need no checks with few statements. If that fails, the rows are written one by one, so that the
   * error has the names that the client used.
   */
  async #together<R>(
    trees: readonly WriteTree[],
    write: (table: Table) => MaybePromise<R | undefined>,
  ): Promise<R | undefined> {
    const [first] = trees
    if (first === undefined) return undefined
    for (const tree of trees) if (!(await this.#writer.admitsAlone(tree))) return undefined
    try {
      return await write(first.table)
    } catch (error) {
      if (error instanceof HttpError && error.status < 500) return undefined
      throw error
    }
  }

  async #upsertOnce(tree: WriteTree, by: readonly Column[]): Promise<Instance> {
    const { table } = tree
    const { view } = this.#writer
    const where = await storedForm(table, this.#database, by, tree.values).catch(
      (error: unknown) => {
        throw tree.toClientError(error)
      },
    )
    const records = this.#database.records(table.type)
    const [found] = await retryAfterGuards(view.caller, () =>
      records.list({ where, limit: 1, view }),
    )
    if (found !== undefined) {
      const id = (found as Instance)[table.key.property] as Id
      await demandWrite(table, 'update', view.caller)
      const changed = await this.#writer.update(id, tree)
      if (changed !== null) return changed
    }
    await demandWrite(table, 'create', view.caller)
    return this.#writer.transaction(isolationOf(tablesOf(tree)), async () =>
      this.#writer.create(tree),
    )
  }
}
