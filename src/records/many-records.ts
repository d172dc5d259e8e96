/**
 * The methods of a repository that work on many rows, all or nothing. Source: decisions, Records: writes.
 */
import { promise, type MaybePromise } from '../core/maybe-promise.js'
import type { AggregateOptions, AggregateRow } from './aggregates/aggregate-types.js'
import { runAggregate } from './aggregates/run-aggregate.js'
import type { Row, RowOf } from './model/loaded-rows.js'
import type { ManyRelationName } from './model/query-names.js'
import type { SelectOptions, OrderBy } from './model/record-types.js'
import { writeCursor } from './filters/cursors.js'
import { readOrder } from './filters/order.js'
import type { Id, KeyOf } from './filters/list-options.js'
import { checkKeyed, readId } from './model/record-key.js'
import { HttpError } from '../errors/http-error.js'
import type { Table } from './model/table.js'
import { programWriter, type CallerWriter } from './policy/caller-writer.js'
import { RowListWriter } from './policy/row-list-writer.js'
import { insertMany, type InsertManyOptions, type Rows } from './statements/insert-many.js'
import { changeLinks } from './statements/links.js'
import type { KeyedTree, WriteTree } from './statements/write-tree.js'
import {
  readKeyedTree,
  readRowTree,
  readTree,
  type NewRow,
  type NewValues,
} from './statements/read-tree.js'
import { RowCounts } from './statements/select-rows.js'
import type { Source } from './statements/source.js'
import { readUpsertOptions, type UpsertOptions } from './statements/upsert.js'
import { markingWrite } from './statements/write-check.js'

export abstract class ManyRecords<T extends object> {
  readonly table: Table<T>
  protected readonly source: Source
  #cachedWriter: CallerWriter | undefined
  #cachedLists: RowListWriter | undefined

  constructor(table: Table<T>, source: Source) {
    this.table = table
    this.source = source
  }

  /** The source of a repository, for other parts of the framework. */
  static sourceOf(records: ManyRecords<object>): Source {
    return records.source
  }

  /** Created on first use, because single rows do not need it. */
  protected get writer(): CallerWriter {
    return (this.#cachedWriter ??= programWriter(this.source))
  }

  protected get lists(): RowListWriter {
    return (this.#cachedLists ??= new RowListWriter(this.writer))
  }

  /** Runs a write. Its errors concern the written values. */
  protected write<R>(work: () => MaybePromise<R>): Promise<R> {
    return promise(() => {
      checkKeyed(this.table, 'A write')
      return markingWrite(this.table, work)
    })
  }

  /**
   * Writes new rows as `create` does, all or none.
   *
   * @returns the records in the order of the rows
   */
  createMany(rows: readonly NewValues<T>[]): Promise<RowOf<T>[]> {
    const { table } = this
    return this.write(() => {
      checkList('createMany', 'records', rows)
      const treeAt = (index: number): WriteTree => readRowTree(table, rows[index] as object, index)
      return this.lists.create({ table, values: rows, treeAt }) as MaybePromise<T[]>
    })
  }

  /**
   * Changes rows as `update` does, all or none: `updateMany([{ id: 1, price: '9.00' }])`.
   *
   * @returns the records in the order of the changes
   * @throws {HttpError} 404 if one of the rows does not exist
   */
  updateMany(rows: readonly Partial<T>[]): Promise<RowOf<T>[]> {
    const { table } = this
    return this.write(() => {
      checkList('updateMany', 'changes, { id, … }', rows)
      const treeAt = (index: number): KeyedTree =>
        readKeyedTree(table, rows[index] as object, index)
      return this.lists.update({ table, values: rows, treeAt }) as MaybePromise<T[]>
    })
  }

  /** Deletes rows as `delete` does, all or none. @returns the number of rows that existed */
  deleteMany(keys: readonly KeyOf<T>[]): Promise<number> {
    return this.write(() => {
      checkList('deleteMany', 'keys', keys)
      return this.lists.delete(this.table, readIds(this.table, keys))
    })
  }

  /**
   * Updates the row that has a unique value, or creates it. Fields that are not named keep their values. Concurrent
   * calls create one row.
   *
   * @param options `{ by: 'sku' }`: the unique field, or the key, by which the row is found; `{ by: ['userId',
   * 'articleId'] }`
   *   for fields that are unique together. The values must contain them
   */
  upsert(values: Partial<T>, options: UpsertOptions<T>): Promise<RowOf<T>> {
    return this.write(() => {
      const by = readUpsertOptions(this.table, options)
      return this.writer.upsert(readTree(this.table, values), by) as Promise<T>
    })
  }

  /**
   * Counts, sums, averages, minima and maxima, of all rows or of groups, with one statement.
   *
   * @returns one row without `groupBy`, otherwise one row for each group; groups of nulls come last
   */
  aggregate<const O extends AggregateOptions<T>>(
    options?: O & SelectOptions<O, AggregateOptions<T>, T>,
  ): Promise<AggregateRow<T>[]> {
    return promise(() => runAggregate<T>(this.table, this.source, options ?? {}))
  }

  /**
   * Writes many rows in one transaction, all or none. It is much faster than `createMany`, because it reads nothing
   * back. An async iterable, such as a stream of objects, is read at most 20,000 rows ahead of the database, and closed
   * on an error.
   *
   * @returns the number of rows
   */
  insertMany(rows: Rows<NewRow<T>>, options: InsertManyOptions = {}): Promise<number> {
    return promise(() => {
      checkKeyed(this.table, 'insertMany')
      return insertMany(this.table, this.source, rows, options)
    })
  }

  /**
   * Links records of a many-to-many relation to this record. Existing links stay.
   *
   * @returns the number of new links
   */
  link(
    id: KeyOf<T>,
    relation: ManyRelationName<T>,
    ids: readonly KeyOf<object>[],
  ): Promise<number> {
    const change = { id, relation, ids, removes: false }
    return this.write(() => changeLinks(this.table, this.source, change))
  }

  /** @returns the number of removed links */
  unlink(
    id: KeyOf<T>,
    relation: ManyRelationName<T>,
    ids: readonly KeyOf<object>[],
  ): Promise<number> {
    const change = { id, relation, ids, removes: true }
    return this.write(() => changeLinks(this.table, this.source, change))
  }

  /**
   * The position of a row in an order, for `list({ after })` and for pages of GraphQL and `crud`. It stays valid after
   * the row has been deleted.
   */
  cursorOf(row: Row<T>, orderBy?: OrderBy<T>): string {
    checkKeyed(this.table, 'cursorOf')
    return writeCursor(readOrder(this.table, orderBy, false), row)
  }

  /** Counts of rows that do not read every row. */
  get counts(): RowCounts<T> {
    return new RowCounts(this.table, this.source)
  }
}

/** Keys in the form in which a program writes them. @throws {HttpError} 400 `VALIDATION` */
function readIds(table: Table, keys: readonly unknown[]): readonly Id[] {
  if (table.key.parts === undefined) return keys as readonly Id[]
  return keys.map((key) => readId(table, key))
}

/** @throws {HttpError} 400 for a value that is not a list */
function checkList(method: string, itemName: string, value: unknown): void {
  if (Array.isArray(value)) return
  const message = `${method} takes a list of ${itemName}`
  throw new HttpError(400, message, {
    code: 'VALIDATION',
    errors: [{ path: '', code: 'type', message }],
  })
}
