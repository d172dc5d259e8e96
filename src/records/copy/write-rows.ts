/** Writes copied rows into a table: with the database's own command, with lists of values, or a few at a time. */
import type { Dialect } from '../../engines/contract/dialect.js'
import { EngineError } from '../../engines/contract/engine-error.js'
import { quote, quoteTable } from '../../engines/contract/quote.js'
import type { Runner, Statement } from '../../engines/contract/engine.js'
import { frameworkChange, frameworkQuery } from '../../engines/contract/statement.js'
import type { MaybePromise } from '../../core/maybe-promise.js'
import type { CopiedTable } from './copy-plan.js'
import { copyError } from './copy-error.js'
import { describeCell, messageOf, type CopiedRow } from './read-rows.js'

export class RowInserter {
  readonly #table: CopiedTable
  readonly #dialect: Dialect
  readonly #writers: readonly (((text: string) => unknown) | undefined)[]
  readonly #keyPositions: readonly number[]
  readonly #holdsNul: boolean
  readonly #statements = new Map<number, Statement>()
  #acceptsCopies: boolean | undefined

  constructor(table: CopiedTable, dialect: Dialect) {
    this.#table = table
    this.#dialect = dialect
    this.#writers = table.columns.map(({ target, list }) =>
      dialect.bulk.exchange.writer({ column: target, list }),
    )
    this.#keyPositions = table.key.map((name) =>
      table.columns.findIndex((column) => column.name === name),
    )
    this.#holdsNul = dialect.bulk.exchange.holdsNul
  }

  /** @throws {DeclarationError} `COPY_FAILED`, naming table, row and column if they are known */
  async write(runner: Runner, rows: readonly CopiedRow[]): Promise<void> {
    if (rows.length === 0) return
    if (!this.#holdsNul) this.#checkNul(rows)
    try {
      await this.#insert(runner, rows)
    } catch (error) {
      if (!(error instanceof EngineError) || error.kind === 'unavailable') throw error
      throw this.#describe(error, rows)
    }
  }

  async #insert(runner: Runner, rows: readonly CopiedRow[]): Promise<void> {
    const { copy, lists } = this.#dialect.bulk
    if (copy !== undefined && (await this.#canCopy(runner))) {
      await runner.run(this.#statementFor(1), [copy.write(this.#convert(rows))], 'count')
    } else if (lists !== undefined) {
      const converted = this.#convert(rows)
      const values = this.#table.columns.map((_, index) => lists.write(converted, index))
      await runner.run(this.#statementFor(1), values, 'count')
    } else {
      await this.#insertValues(runner, rows)
    }
  }

  async #canCopy(runner: Runner): Promise<boolean> {
    const { copy } = this.#dialect.bulk
    if (copy === undefined) return false
    if (this.#acceptsCopies === undefined) {
      const query = frameworkQuery(copy.isAllowed, { isFresh: true })
      const row = await runner.run(query, [quoteTable(this.#table.name)], 'first')
      this.#acceptsCopies = row?.[0] === true
    }
    return this.#acceptsCopies
  }

  async #insertValues(runner: Runner, rows: readonly CopiedRow[]): Promise<void> {
    const { maxRows, maxValues } = this.#dialect.bulk.rows
    const fitting = Math.floor(maxValues / Math.max(1, this.#table.columns.length))
    const size = Math.max(1, Math.min(maxRows, fitting))
    for (let start = 0; start < rows.length;) {
      const count = rows.length - start >= size ? size : 1
      const values: unknown[] = []
      for (let index = start; index < start + count; index++)
        this.#addValues(rows[index] ?? [], values)
      const written: MaybePromise<unknown> = runner.run(this.#statementFor(count), values, 'count')
      if (written instanceof Promise) await written
      start += count
    }
  }

  /** Values for a statement that takes all rows together. Most tables have no column that needs it. */
  #convert(rows: readonly CopiedRow[]): readonly (readonly unknown[])[] {
    if (this.#writers.every((write) => write === undefined)) return rows
    return rows.map((row) => {
      const values: unknown[] = []
      this.#addValues(row, values)
      return values
    })
  }

  #addValues(row: CopiedRow, values: unknown[]): void {
    for (let index = 0; index < row.length; index++) {
      const text = row[index] ?? null
      const write = this.#writers[index]
      if (text === null || write === undefined) values.push(text)
      else {
        try {
          values.push(write(text))
        } catch (cause) {
          const { name } = this.#table.columns[index] ?? { name: '' }
          const cell = describeCell(this.#table.name, name, this.#keyOf(row))
          throw copyError(`${cell}: ${text.slice(0, 60)} cannot be stored.`, cause)
        }
      }
    }
  }

  /** @param count of rows in the statement */
  #statementFor(count: number): Statement {
    let statement = this.#statements.get(count)
    if (statement === undefined) {
      statement = this.#createStatement(count)
      this.#statements.set(count, statement)
    }
    return statement
  }

  #createStatement(count: number): Statement {
    const { bulk, statements } = this.#dialect
    const { name, columns } = this.#table
    const tables = [name]
    const names = columns.map((column) => quote(column.name))
    if (bulk.copy !== undefined && this.#acceptsCopies === true)
      return frameworkChange('insert', bulk.copy.into(quoteTable(name), names), {
        tables,
        takesRows: true,
      })
    const head = `insert into ${quoteTable(name)} (${names.join(', ')}) `
    if (bulk.lists !== undefined) {
      const { list, rows, item } = bulk.lists
      const lists = columns.map(({ target }, index) => {
        const [before, after] = list(target.type)
        return before + statements.placeholder(index + 1) + after
      })
      const items = columns.map(({ target }, index) => {
        const [before, after] = item(target.type) ?? ['', '']
        return `${before}v.${names[index] ?? ''}${after}`
      })
      const from = `${rows.join(lists.join(', '))} v (${names.join(', ')})`
      return frameworkChange('insert', `${head}select ${items.join(', ')} from ${from}`, { tables })
    }
    const row = `(${columns.map((_, index) => statements.placeholder(index + 1)).join(', ')})`
    const list = Array.from({ length: count }, () => row).join(', ')
    return frameworkChange('insert', `${head}values ${list}`, { tables })
  }

  #checkNul(rows: readonly CopiedRow[]): void {
    for (const row of rows)
      for (let index = 0; index < row.length; index++) {
        if (row[index]?.includes('\0') !== true) continue
        const { name } = this.#table.columns[index] ?? { name: '' }
        const { title } = this.#dialect.product
        throw copyError(
          `${describeCell(this.#table.name, name, this.#keyOf(row))}: the text contains the character NUL, which ${title} cannot store.`,
        )
      }
  }

  /** Source: PostgreSQL, the context of an error: `COPY lamp, line 3, column price: "abc"`. */
  #describe(error: EngineError, rows: readonly CopiedRow[]): Error {
    const { where } = (error.cause ?? {}) as { readonly where?: unknown }
    const [, line, column] = /, line (\d+)(?:, column ([^:]+))?/.exec(String(where)) ?? []
    const row = line === undefined ? undefined : rows[Number(line) - 1]
    const place =
      row === undefined
        ? `Table ${this.#table.name}`
        : describeCell(this.#table.name, column ?? '(unknown)', this.#keyOf(row))
    return copyError(`${place}: ${messageOf(error)}.`, error)
  }

  #keyOf(row: CopiedRow): (string | null)[] {
    return this.#keyPositions.map((position) => row[position] ?? null)
  }
}
