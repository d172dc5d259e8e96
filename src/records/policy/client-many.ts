/** Many writes of a client as one, all or nothing, each judged as a write alone is. Source: decisions, Many. */
import type { Database } from '../database.js'
import type { Id } from '../filters/list-options.js'
import type { Column, Table } from '../model/table.js'
import { isOvertaken, storedForm, unseen } from '../statements/upsert.js'
import { notThere } from '../statements/write-each.js'
import type { ClientWriter } from './client-writer.js'
import { settled } from './late-verdict.js'
import type { Instance, KeyedTree, WriteTree } from './write-tree.js'

const mostAttempts = 5

export class ClientManyWriter {
  readonly #database: Database
  readonly #writer: ClientWriter

  constructor(database: Database, writer: ClientWriter) {
    this.#database = database
    this.#writer = writer
  }

  create(trees: readonly WriteTree[]): Promise<Instance[]> {
    return this.#database.transaction(async () => {
      const created: Instance[] = []
      for (const tree of trees) created.push(await this.#writer.create(tree))
      return created
    })
  }

  /** @throws {HttpError} 404 `NOT_FOUND` where the caller sees one of the rows not */
  update(trees: readonly KeyedTree[]): Promise<Instance[]> {
    return this.#database.transaction(async () => {
      const changed: Instance[] = []
      for (const { id, tree } of trees) {
        const record = await this.#writer.update(id, tree)
        if (record === null) throw notThere(tree.table.type.name, id)
        changed.push(record)
      }
      return changed
    })
  }

  /** @returns how many the caller saw */
  delete(table: Table, ids: readonly Id[]): Promise<number> {
    return this.#database.transaction(async () => {
      let count = 0
      for (const id of ids) if (await this.#writer.delete(table, id)) count++
      return count
    })
  }

  /** A row that the caller does not see cannot be changed, and its value is taken. */
  async upsert(tree: WriteTree, column: Column): Promise<Instance> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#upsertOnce(tree, column)
      } catch (error) {
        if (!isOvertaken(error, column)) throw error
        if (attempt >= mostAttempts) throw unseen(error)
      }
    }
  }

  async #upsertOnce(tree: WriteTree, column: Column): Promise<Instance> {
    const { table } = tree
    const { view } = this.#writer
    const value = await storedForm(table, this.#database, column, tree.values).catch(
      (error: unknown) => {
        throw tree.told(error)
      },
    )
    const where = { [column.property]: value }
    const records = this.#database.records(table.type)
    const [found] = await settled(view.caller, () => records.list({ where, limit: 1, view }))
    if (found !== undefined) {
      const id = (found as Instance)[table.key.property] as Id
      const changed = await this.#writer.update(id, tree)
      if (changed !== null) return changed
    }
    return this.#database.transaction(async () => this.#writer.create(tree))
  }
}
