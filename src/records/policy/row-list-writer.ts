/**
 * Writes lists of rows of one record for one caller, all or none. The plan of a list decides about rights and about the way: all
 * rows with one statement, or row by row. Source: decisions, Records: writes; access rules.
 */
import { type MaybePromise, after, isThenable } from '../../core/maybe-promise.js'
import type { Id } from '../filters/list-options.js'
import type { Table, Instance } from '../model/table.js'
import type { Caller } from '../rights/caller.js'
import {
  changeFilteredEach,
  changeFilteredTogether,
  checkFilteredChange,
  type FilteredChange,
} from '../statements/change-rows.js'
import { noSuchRow } from '../statements/client-errors.js'
import { deleteWhere, isolationToDelete } from '../statements/delete-rows.js'
import { createInOrder } from '../statements/reference-order.js'
import { inShard } from '../statements/shard.js'
import type { Source } from '../statements/source.js'
import { isUniqueViolation } from '../statements/swapped-values.js'
import {
  updateWithOneStatement,
  createWithOneStatement,
  deleteWithOneStatement,
  type ErrorOfRow,
} from '../statements/write-many.js'
import { isWrittenInParts, maxRows, partsOfChanges, type Part } from '../statements/write-parts.js'
import { withValues, type KeyedTree, type WriteTree } from '../statements/write-tree.js'
import { isolationOfTrees, type CallerWriter } from './caller-writer.js'
import type { ClientView } from './client-view.js'
import { namedError, writerFor } from './tree-writer.js'

/** Rows of one record to write with one call. */
export interface RowList<Tree> {
  readonly table: Table
  /** The values of each row by property, as they were given. A change includes the key. */
  readonly values: readonly object[]
  /** Reads a row with its nested rows. A program's rows are only read if they are written row by row. */
  readonly treeAt: (index: number) => Tree
}

export class RowListWriter {
  readonly #writer: CallerWriter
  readonly #source: Source
  readonly #view: ClientView
  readonly #caller: Caller

  /** @param writer writes rows one by one, each with its own checks */
  constructor(writer: CallerWriter) {
    this.#writer = writer
    this.#source = writer.source
    this.#view = writer.view
    this.#caller = writer.view.caller
  }

  /** @returns the created rows in the order of the list. @throws {HttpError} as `CallerWriter.create` */
  create(rows: RowList<WriteTree>): MaybePromise<Instance[]> {
    const { table, values, treeAt } = rows
    if (isWrittenInParts(table, values)) return this.#createInParts(rows)
    const errorOf = this.#errorsOf(treeAt)
    return this.#writeAll(
      this.#needOnlyFieldChecks(values.length, treeAt),
      () => createWithOneStatement(table, this.#source, values, errorOf),
      () => {
        const trees = values.map((_, index) => treeAt(index))
        return this.#writer.begin(
          () =>
            createInOrder(table, this.#source, trees, {
              valuesOf: (tree) => tree.values,
              create: (tree, ownValues) => this.#writer.create(withValues(tree, ownValues)),
            }),
          isolationOfTrees(trees),
        )
      },
    )
  }

  /** Creates more rows than one statement has, all or none. A part that fails is written row by row. */
  #createInParts({ table, values, treeAt }: RowList<WriteTree>): Promise<Instance[]> {
    return this.#writer.begin(async () => {
      const created: Instance[] = []
      for (let first = 0; first < values.length; first += maxRows) {
        const part = values.slice(first, first + maxRows)
        const partTreeAt = (index: number): WriteTree => treeAt(first + index)
        created.push(...(await this.create({ table, values: part, treeAt: partTreeAt })))
      }
      return created
    }, undefined)
  }

  /**
   * @returns the changed rows in the order of the list
   * @throws {HttpError} as `CallerWriter.update`; 404 `NOT_FOUND` if the caller cannot see one of the rows
   */
  update(rows: RowList<KeyedTree>): MaybePromise<Instance[]> {
    const { table, values } = rows
    const isBound = this.#view.isBound(table)
    const parts = isBound ? undefined : partsOfChanges(table, this.#source.context, values)
    if (parts === undefined) return this.#updateTogether(rows)
    const [first, second] = parts
    return second === undefined
      ? inShard(table, first?.shard, () => this.#updateTogether(rows))
      : this.#updateInParts(rows, parts)
  }

  /** Changes rows with one statement, or row by row. */
  #updateTogether(rows: RowList<KeyedTree>): MaybePromise<Instance[]> {
    const { table, values, treeAt } = rows
    const ownTreeAt = (index: number): WriteTree => treeAt(index).tree
    const errorOf = this.#errorsOf(ownTreeAt)
    return this.#writeAll(
      this.#needOnlyFieldChecks(values.length, ownTreeAt),
      () => updateWithOneStatement(table, this.#source, values as readonly Instance[], errorOf),
      () => this.#updateEach(rows),
    )
  }

  /** Changes each part of the rows with one statement, all or none. */
  async #updateInParts(rows: RowList<KeyedTree>, parts: readonly Part[]): Promise<Instance[]> {
    const { table, values, treeAt } = rows
    const changed = new Array<Instance>(values.length)
    const changeParts = async (): Promise<Instance[]> => {
      for (const { indexes, shard } of parts) {
        const at = (place: number): number => indexes[place] as number
        const part: RowList<KeyedTree> = {
          table,
          values: indexes.map((index) => values[index] as object),
          treeAt: (place) => treeAt(at(place)),
        }
        const isSmall = indexes.length < smallestPart
        const records = await inShard(table, shard, () =>
          isSmall ? this.#updateInOrder(table, treesOf(part)) : this.#updateTogether(part),
        )
        for (const [place, record] of records.entries()) changed[at(place)] = record
      }
      return changed
    }
    try {
      return await this.#writer.begin(changeParts, undefined)
    } catch (error) {
      // Rows of different parts may exchange unique values.
      if (isUniqueViolation(error)) return this.#updateEach(rows)
      throw error
    }
  }

  #updateEach(rows: RowList<KeyedTree>): Promise<Instance[]> {
    const keyedTrees = treesOf(rows)
    const trees = keyedTrees.map(({ tree }) => tree)
    return this.#writer.swapping(trees, () => this.#updateInOrder(rows.table, keyedTrees))
  }

  async #updateInOrder(table: Table, keyedTrees: readonly KeyedTree[]): Promise<Instance[]> {
    const changed: Instance[] = []
    for (const { id, tree } of keyedTrees) {
      const record = await this.#writer.update(id, tree)
      if (record === null) throw noSuchRow(table.type.name, id)
      changed.push(record)
    }
    return changed
  }

  /** @returns the number of rows that the caller could see */
  delete(table: Table, ids: readonly Id[]): MaybePromise<number> {
    return this.#writeAll(
      !this.#view.isBound(table),
      () => deleteWithOneStatement(table, this.#source, ids, writerFor(this.#caller)),
      () =>
        this.#writer.begin(
          async () => {
            let count = 0
            for (const id of ids) if (await this.#writer.delete(table, id)) count++
            return count
          },
          isolationToDelete(table, this.#source.context),
        ),
    )
  }

  /** Changes all rows of a program's filter. @returns the number of changed rows */
  updateWhere(table: Table, change: FilteredChange): MaybePromise<number> {
    checkFilteredChange(table, change)
    return this.#writeAll(
      true,
      () => changeFilteredTogether(table, this.#source, change),
      () => changeFilteredEach(table, this.#source, change),
    )
  }

  /** Deletes all rows of a program's filter. @returns the number of deleted rows */
  deleteWhere(table: Table, where: unknown): Promise<number> {
    return deleteWhere(table, this.#source, where)
  }

  /** Writes all rows with one statement if none needs its own check. Otherwise, or if that is not possible, row by row. */
  #writeAll<R>(
    needOnlyFieldChecks: MaybePromise<boolean>,
    withOneStatement: () => MaybePromise<R | undefined>,
    oneByOne: () => Promise<R>,
  ): MaybePromise<R> {
    return after(needOnlyFieldChecks, (isPossible) =>
      after(isPossible ? withOneStatement() : undefined, (written) => written ?? oneByOne()),
    )
  }

  /**
   * Whether each of the rows needs only the checks of its fields.
   *
   * @throws {HttpError} 401 or 403 for fields that the caller may not write
   */
  #needOnlyFieldChecks(count: number, treeAt: (index: number) => WriteTree): MaybePromise<boolean> {
    // Statements for many rows find nested rows of a program themselves.
    if (this.#caller.trusted && count > 1) return true
    const from = (first: number): MaybePromise<boolean> => {
      for (let index = first; index < count; index++) {
        const tree = treeAt(index)
        const checked = this.#writer.checkFields(tree)
        if (isThenable(checked))
          return after(checked, () => this.#writer.isAlone(tree) && from(index + 1))
        if (!this.#writer.isAlone(tree)) return false
      }
      return count > 0
    }
    return from(0)
  }

  /** Errors of rows that are written with one statement have the names that they have row by row. */
  #errorsOf(treeAt: (index: number) => WriteTree): ErrorOfRow {
    return (error, index) => namedError(error, treeAt(index), this.#caller)
  }
}

/** A statement for fewer rows of a transaction costs more than one for each, because it needs a savepoint. */
const smallestPart = 4

function treesOf({ values, treeAt }: RowList<KeyedTree>): KeyedTree[] {
  return values.map((_, index) => treeAt(index))
}
