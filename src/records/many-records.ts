/**
 * The methods of a repository that work on many rows, all or nothing. Source: decisions, Records: writes.
 */
import { promise, type MaybePromise } from '../core/maybe-promise.js'
import type { Isolation } from '../core/transaction.js'
import type { AggregateOptions, AggregateRow } from './aggregates/aggregate-types.js'
import { runAggregate } from './aggregates/run-aggregate.js'
import type { ManyRelationName } from './model/query-names.js'
import type { SelectOptions, OrderBy } from './model/record-types.js'
import { writeCursor, readOrder } from './filters/order.js'
import type { Id, ListOptions } from './filters/list-options.js'
import { isolationOf } from './model/write-hooks.js'
import type { Table, Relation } from './model/table.js'
import { isolationToDelete } from './statements/delete-rows.js'
import { insertMany, type InsertManyOptions, type Rows } from './statements/insert-many.js'
import type { NewRow, NewValues } from './statements/write-tree.js'
import { RowCounts } from './statements/select-rows.js'
import type { Source } from './statements/source.js'
import {
  changeEach,
  createEach,
  demandList,
  tablesWritten,
  type ChangedRow,
  changeTogether,
  createTogether,
  deleteTogether,
} from './statements/write-many.js'
import { allowingSwaps } from './statements/swapped-values.js'
import { upsert, type UpsertOptions, type UpsertMethods } from './statements/upsert.js'
import { markingWrite } from './statements/write-check.js'
import { didYouMean } from '../errors/did-you-mean.js'
import { HttpError } from '../errors/http-error.js'
import { arrangeValues } from '../sql/write-statement.js'
import { invalid } from './filters/query-errors.js'
import { toKey } from './model/codec.js'
import { demandUndeletedKeys } from './statements/write-row.js'
import { toClientError } from './statements/client-errors.js'

export abstract class ManyRecords<T extends object> {
  readonly table: Table<T>
  protected readonly source: Source

  constructor(table: Table<T>, source: Source) {
    this.table = table
    this.source = source
  }

  abstract create(values: NewValues<T>): Promise<T>
  abstract update(id: Id, values: Partial<T>): Promise<T | null>
  abstract delete(id: Id): Promise<boolean>
  abstract list(options?: ListOptions<T>): Promise<T[]>
  /** The same repository on another source. */
  protected abstract on(source: Source): ManyRecords<T>

  #write<R>(work: () => MaybePromise<R>): Promise<R> {
    return promise(() => markingWrite(this.table, work))
  }

  /** The isolation of a transaction that writes these rows one by one. */
  #isolationOf(rows: readonly unknown[]): Isolation | undefined {
    if (!Array.isArray(rows)) return undefined
    return isolationOf(rows.flatMap((row) => [...tablesWritten(this.table, row)]))
  }

  /**
   * Writes new rows as `create` does, all or none.
   *
   * @returns the records in the order of the rows
   */
  createMany(rows: readonly NewValues<T>[]): Promise<T[]> {
    const oneByOne = (): Promise<T[]> =>
      this.source.atomically(
        (inner) => createEach(this.table, inner, rows, this.on(inner)),
        this.#isolationOf(rows),
      )
    return this.#write(() => createTogether(this.table, this.source, rows, oneByOne))
  }

  /**
   * Changes rows as `update` does, all or none: `updateMany([{ id: 1, price: '9.00' }])`.
   *
   * @returns the records in the order of the changes
   * @throws {HttpError} 404 if one of the rows does not exist
   */
  updateMany(rows: readonly Partial<T>[]): Promise<T[]> {
    // The lookup of the key needs an index signature, which instances of classes do not have.
    const changes = rows as readonly ChangedRow[]
    const oneByOne = (): Promise<T[]> =>
      allowingSwaps<T[]>(
        (work) => this.source.atomically(work, this.#isolationOf(changes)),
        (inner) => changeEach(this.table, changes, this.on(inner)),
      )
    return this.#write(() => changeTogether(this.table, this.source, changes, oneByOne))
  }

  /** Deletes rows as `delete` does, all or none. @returns the number of rows that existed */
  deleteMany(ids: readonly Id[]): Promise<number> {
    const oneByOne = (): Promise<number> =>
      this.source.atomically(
        async (inner) => {
          const records = this.on(inner)
          let count = 0
          for (const id of ids) if (await records.delete(id)) count++
          return count
        },
        isolationToDelete(this.table, this.source.context),
      )
    return this.#write(() => {
      demandList('deleteMany', 'keys', ids)
      return deleteTogether(this.table, this.source, ids, oneByOne)
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
  upsert(values: Partial<T>, options: UpsertOptions<T>): Promise<T> {
    return this.#write(() =>
      upsert(
        this.table,
        values,
        options,
        this.source,
        (source) => this.on(source) as unknown as UpsertMethods<T>,
      ),
    )
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
    return promise(() => insertMany(this.table, this.source, rows, options))
  }

  /**
   * Links records of a many-to-many relation to this record. Existing links stay.
   *
   * @returns the number of new links
   */
  link(id: Id, relation: ManyRelationName<T>, ids: readonly Id[]): Promise<number> {
    return this.#write(() => link(this.table, this.source, { id, relation, ids, removes: false }))
  }

  /** @returns the number of removed links */
  unlink(id: Id, relation: ManyRelationName<T>, ids: readonly Id[]): Promise<number> {
    return this.#write(() => link(this.table, this.source, { id, relation, ids, removes: true }))
  }

  /**
   * The position of a row in an order, for `list({ after })` and for pages of GraphQL and `crud`. It stays valid after
   * the row has been deleted.
   */
  cursorOf(row: T, orderBy?: OrderBy<T>): string {
    return writeCursor(readOrder(this.table, orderBy, false), row as Record<string, unknown>)
  }

  /** Counts of rows that do not read every row. */
  get counts(): RowCounts<T> {
    return new RowCounts(this.table, this.source)
  }
}

/** A change of the links between a record and other records. */
interface Link {
  readonly id: unknown
  readonly relation: string
  readonly ids: readonly unknown[]
  readonly removes: boolean
}

/**
 * Links or unlinks records of a many-to-many relation.
 *
 * @returns the number of links that changed; all change or none
 * @throws {HttpError} 404 if the record itself does not exist, 409 if another one does not
 */
async function link(table: Table, source: Source, change: Link): Promise<number> {
  const relation = readRelation(table, change.relation)
  const { context } = source
  const ownKey = toKey(context.codecOf(table), change.id)
  if (!Array.isArray(change.ids)) throw invalid(relation.name, 'type', 'must be a list of ids')
  const otherKeys = change.ids.map((id, index) => toOtherKey(relation, source, id, index))
  return source.atomically(async (transaction) => {
    const runner = transaction.runner()
    const found = await runner.run(context.plansOf(table).find.statement, [ownKey ?? null], 'first')
    if (found === undefined) throw new HttpError(404, `There is no such ${table.type.name}.`)
    if (!change.removes && relation.target.deletedAt !== undefined)
      await demandUndeletedKeys(relation, transaction, otherKeys)
    const plan = context.plansOf(table).link(relation, change.removes)
    let count = 0
    for (const other of otherKeys) {
      try {
        count += await runner.run(plan.statement, arrangeValues(plan, [ownKey, other]), 'count')
      } catch (error) {
        throw toClientError(error, table, 'write', { broken: relation })
      }
    }
    if (count > 0) transaction.changed({ event: 'updated', table, ids: [ownKey as Id] })
    return count
  })
}

function readRelation(table: Table, name: string): Relation {
  const relation = table.relations.get(name)
  if (relation?.kind === 'manyToMany') return relation
  const linkableRelations = [...table.relations.values()].filter(
    ({ kind }) => kind === 'manyToMany',
  )
  const suggestion = didYouMean(
    name,
    linkableRelations.map((one) => one.name),
  )
  throw new TypeError(
    `${table.type.name}.${name} is not a many-to-many relation, so nothing can be linked there. ${suggestion}`.trim(),
  )
}

function toOtherKey(relation: Relation, { context }: Source, id: unknown, index: number): unknown {
  const key = toKey(context.codecOf(relation.target), id)
  if (key === undefined) throw invalid(`${relation.name}.${index}`, 'type', 'must be an id')
  return key
}
