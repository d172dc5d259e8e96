/**
 * References in circles of tables, for a database that checks them with each statement. The rows are written without these
 * references, which are filled in after all rows exist.
 */
import { quote, quoteTable } from '../../engines/contract/quote.js'
import type { EngineCopying } from '../../engines/contract/exchange.js'
import type { Statement } from '../../engines/contract/engine.js'
import { frameworkChange } from '../../engines/contract/statement.js'
import type { Database } from '../database.js'
import type { CopiedTable } from './copy-plan.js'
import type { CopiedRow, RowBatch } from './read-rows.js'

export class PostponedColumns {
  readonly #table: CopiedTable
  readonly #positions: readonly number[]

  constructor(table: CopiedTable, checksReferences: boolean) {
    this.#table = table
    const isPostponed = checksReferences && table.targetKey.length > 0
    const names = new Set(
      table.references.filter((one) => one.isCircular).flatMap(({ columns }) => columns),
    )
    this.#positions = !isPostponed
      ? []
      : table.columns.flatMap(({ name, target }, index) =>
          names.has(name) && target.nullable ? [index] : [],
        )
  }

  /** @returns the rows without the values of the columns */
  omit(rows: readonly CopiedRow[]): readonly CopiedRow[] {
    if (this.#positions.length === 0) return rows
    return rows.map((row) =>
      row.map((value, index) => (this.#positions.includes(index) ? null : value)),
    )
  }

  async write(
    batches: AsyncIterable<RowBatch>,
    copying: EngineCopying,
    { context: { dialect } }: Database,
  ): Promise<void> {
    const { lists } = dialect.bulk
    if (this.#positions.length === 0 || lists === undefined) return
    const { name, columns, targetKey } = this.#table
    const keyPositions = targetKey.map((key) => columns.findIndex((one) => one.name === key))
    const positions = [...keyPositions, ...this.#positions]
    const placeholders = positions.map((position, index) => {
      const [before, after] = lists.list(columns[position]?.target.type ?? 'text')
      return before + dialect.statements.placeholder(index + 1) + after
    })
    const namesAt = (list: readonly number[]): string[] =>
      list.map((position) => quote(columns[position]?.name ?? ''))
    const sql = `update ${quoteTable(name)} t set ${namesAt(this.#positions)
      .map((column) => `${column} = v.${column}`)
      .join(', ')}
      from (select * from ${lists.rows.join(placeholders.join(', '))}) v (${namesAt(positions).join(', ')})
      where ${namesAt(keyPositions)
        .map((column) => `t.${column} = v.${column}`)
        .join(' and ')}`
    const statement: Statement = frameworkChange('update', sql, { tables: [name] })
    for await (const { rows } of batches) {
      const withValue = rows.filter((row) => this.#positions.some((index) => row[index] !== null))
      if (withValue.length === 0) continue
      const transaction = await copying.begin()
      try {
        const values = positions.map((position) => lists.write(withValue, position))
        await transaction.run(statement, values, 'count')
        await transaction.commit()
      } finally {
        await transaction.rollback()
      }
    }
  }
}
