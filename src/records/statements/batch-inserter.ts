/**
 * Writes checked and encoded rows: with the database's own command for many rows, with lists of values, or a few at a
 * time.
 */
import type { Runner, Statement } from '../../engines/contract/engine.js'
import { frameworkQuery } from '../../engines/contract/statement.js'
import type { Table } from '../model/table.js'
import { EngineError } from '../../engines/contract/engine-error.js'
import { quote, quoteTable } from '../../engines/contract/quote.js'
import { type MaybePromise, after } from '../../core/maybe-promise.js'
import type { Column } from '../../engines/contract/table.js'
import { checkUndeleted } from './marked-references.js'
import { toIds, withReadKeys } from './row-keys.js'
import type { Source } from './source.js'
import { findBrokenReference, nameConstraint } from './violated-constraint.js'
import { toClientError } from './client-errors.js'
import { isRefused, refusedFields } from './refused-values.js'
import { atRow } from './write-tree.js'
import { type ColumnTypes, readColumnTypes } from './column-types.js'

/** For fewer rows it is not worth querying whether the table accepts copied rows. */
const minCopiedRows = 200

/** Rows that all have a key, or that all have none. */
export interface PreparedRows {
  readonly rows: readonly unknown[][]
  readonly columns: readonly Column[]
  readonly isMany: boolean
  /** The rows in the format of the database's copy command, if it can be used. */
  readonly copied: unknown
}

export class BatchInserter {
  readonly #table: Table
  readonly #source: Source
  readonly #runner: Runner
  /** The types in the table, by column; read once. */
  #types: Promise<ColumnTypes> | undefined
  /** Whether the table accepts copied rows; read once. */
  #acceptsCopies: Promise<boolean> | undefined
  #copying: Statement | undefined
  /** Whether changes were watched when the last chunk was written. Then the next chunk is probably not copied. */
  #wasFollowed = false

  constructor(table: Table, source: Source) {
    this.#table = table
    this.#source = source
    this.#runner = source.runner()
  }

  /** Prepares rows while the database writes earlier ones. Queries are sent only for the first rows. */
  async prepare(rows: unknown[][]): Promise<readonly PreparedRows[]> {
    const { writtenColumns: columns, key } = this.#table
    if (key.generated === undefined) return [await this.#prepareRows(rows, columns)]
    const index = columns.indexOf(key)
    const rowsWithKey: unknown[][] = []
    const rowsWithoutKey: unknown[][] = []
    for (const values of rows) {
      if (values[index] !== null) rowsWithKey.push(values)
      else {
        values.splice(index, 1)
        rowsWithoutKey.push(values)
      }
    }
    const columnsWithoutKey = columns.filter((column) => column !== key)
    return [
      await this.#prepareRows(rowsWithKey, columns),
      await this.#prepareRows(rowsWithoutKey, columnsWithoutKey),
    ]
  }

  /** @param numberOf the number of a row in the call, for errors; undefined if it is unknown */
  async insert(
    chunks: readonly PreparedRows[],
    numberOf: (row: readonly unknown[]) => number | undefined,
  ): Promise<void> {
    try {
      for (const chunk of chunks) await this.#insertRows(chunk)
    } catch (error) {
      throw await this.#toClientError(error, chunks, numberOf)
    }
  }

  async #toClientError(
    error: unknown,
    chunks: readonly PreparedRows[],
    numberOf: (row: readonly unknown[]) => number | undefined,
  ): Promise<unknown> {
    const [table, source] = [this.#table, this.#source]
    const named = await nameConstraint(table, source, error)
    const reference = await findBrokenReference(table, source, error, chunks)
    if (reference === undefined) return this.#toValueError(named, chunks, numberOf)
    const { relation, key, row } = reference
    const hint = { broken: relation, keyOf: () => key }
    const clientError = toClientError(named, table, 'write', hint)
    const number = numberOf(row)
    return number === undefined ? clientError : atRow(clientError, number)
  }

  /** Names the row and the field of a value that the database has refused. */
  #toValueError(
    error: unknown,
    chunks: readonly PreparedRows[],
    numberOf: (row: readonly unknown[]) => number | undefined,
  ): unknown {
    const { types } = this.#dialect
    const isRefusedIn = ({ columns }: PreparedRows, row: readonly unknown[]): boolean =>
      columns.some((column, index) => {
        const sent = { column, value: row[index] }
        return error instanceof EngineError && isRefused(error, sent, types)
      })
    for (const chunk of chunks)
      for (const row of chunk.rows)
        if (isRefusedIn(chunk, row)) {
          const sent = chunk.columns.map((column, index) => ({ column, value: row[index] }))
          const clientError = toClientError(error, this.#table, 'write', {
            refused: (one) => refusedFields(one, sent, this.#dialect),
          })
          const number = numberOf(row)
          return number === undefined ? clientError : atRow(clientError, number)
        }
    return toClientError(error, this.#table, 'write')
  }

  async #prepareRows(
    rows: readonly unknown[][],
    columns: readonly Column[],
  ): Promise<PreparedRows> {
    const isMany = rows.length >= minCopiedRows && columns.length > 0
    const isCopied = isMany && !this.#wasFollowed && (await this.#canCopy(columns))
    const copied = isCopied ? this.#dialect.bulk.copy?.write(rows) : undefined
    return { rows, columns, isMany, copied }
  }

  async #insertRows({ rows, columns, isMany, copied }: PreparedRows): Promise<void> {
    if (rows.length === 0) return
    const { feed } = this.#source
    await checkUndeleted(this.#table, this.#source, { columns, rows })
    const isFollowed = await feed.follows(this.#table, this.#runner)
    this.#wasFollowed = isFollowed
    if (copied !== undefined && !isFollowed) await this.#copy(copied, columns)
    else if (isMany && this.#dialect.bulk.lists !== undefined)
      await this.#insertLists(rows, columns, isFollowed)
    else await this.#insertValues(rows, columns, isFollowed)
    // A listener may begin to follow before the commit; this event tells it that there are more changes than can be
    // named.
    if (!isFollowed) this.#source.changed({ event: 'lost', table: this.#table, ids: [] })
  }

  /** If the database generates keys, a copy is not enough: the sequence must continue after the given keys. */
  async #canCopy(columns: readonly Column[]): Promise<boolean> {
    const { copy, passKeys } = this.#dialect.bulk
    const { key, name } = this.#table
    if (copy === undefined) return false
    if (passKeys !== undefined && key.generated === 'increment' && columns.includes(key))
      return false
    const statement = frameworkQuery(copy.isAllowed, { isFresh: true })
    this.#acceptsCopies ??= Promise.resolve(
      this.#runner.run(statement, [quoteTable(name)], 'first'),
    ).then(
      (row) => row?.[0] === true,
      (error: unknown) => {
        throw toClientError(error, this.#table, 'write')
      },
    )
    return this.#acceptsCopies
  }

  async #copy(rows: unknown, columns: readonly Column[]): Promise<void> {
    const { copy } = this.#dialect.bulk
    if (copy === undefined) return
    const names = columns.map((column) => quote(column.name))
    this.#copying ??= Object.freeze<Statement>({
      sql: copy.into(quoteTable(this.#table.name), names),
      kind: 'insert',
      tables: [this.#table.name],
      mayWait: true,
      for: 'client',
      takesRows: true,
    })
    await this.#runner.run(this.#copying, [rows], 'count')
  }

  /** One statement for all rows, with a list of values for each column. */
  async #insertLists(
    rows: readonly unknown[][],
    columns: readonly Column[],
    isFollowed: boolean,
  ): Promise<void> {
    const { lists } = this.#dialect.bulk
    if (lists === undefined) return
    this.#types ??= readColumnTypes(this.#table, this.#runner, lists.types, true)
    const types = await this.#types
    const typeNames = columns.map(({ name }) => types.get(name) ?? 'text')
    const plan = this.#plans.insert(columns, typeNames, isFollowed ? 'key' : 'nothing')
    const values = columns.map((_, index) => lists.write(rows, index))
    await this.#run(plan.statement, values, isFollowed)
  }

  /** Writes as many rows with one statement as is efficient. */
  async #insertValues(
    rows: readonly unknown[][],
    columns: readonly Column[],
    isFollowed: boolean,
  ): Promise<void> {
    const { maxRows, maxValues, writesRestSingly } = this.#dialect.bulk.rows
    const fittingRows = Math.max(1, Math.floor(maxValues / Math.max(1, columns.length)))
    const fullBatch = columns.length === 0 ? 1 : Math.min(maxRows, fittingRows)
    const returns = isFollowed ? 'key' : 'nothing'
    for (let start = 0; start < rows.length;) {
      const remaining = rows.length - start
      const size = remaining >= fullBatch ? fullBatch : writesRestSingly ? 1 : remaining
      const { statement } = this.#plans.insert(columns, size, returns)
      const result = this.#run(statement, valuesOf(rows, start, size), isFollowed)
      if (result instanceof Promise) await result
      start += size
    }
  }

  #run(
    statement: Statement,
    values: readonly unknown[],
    isFollowed: boolean,
  ): MaybePromise<unknown> {
    if (!isFollowed) return this.#runner.run(statement, values, 'count')
    return after(this.#runner.run(statement, values, 'rows'), (rows) => {
      const ids = toIds(this.#table, withReadKeys(this.#table, this.#source, rows))
      this.#source.changed({ event: 'created', table: this.#table, ids })
    })
  }

  get #dialect() {
    return this.#source.context.dialect
  }

  get #plans() {
    return this.#source.context.plansOf(this.#table)
  }
}

/** The values of some rows, one row after the other. */
function valuesOf(rows: readonly unknown[][], start: number, size: number): readonly unknown[] {
  if (size === 1) return rows[start] ?? []
  const values: unknown[] = []
  for (let index = start; index < start + size; index++)
    for (const value of rows[index] ?? []) values.push(value)
  return values
}
