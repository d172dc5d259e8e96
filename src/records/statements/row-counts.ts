/** Counts rows without reading all of them: up to a number, or as an estimate. */
import { type Later, after } from '../../core/maybe-promise.js'
import type { Row } from '../../engines/contract/engine.js'
import { checkCountedOptions, type ListOptions } from '../filters/list-options.js'
import type { Table } from '../model/table.js'
import { arrange, type Plan } from '../../sql/write.js'
import { selectRows } from './select-rows.js'
import type { Source } from './source.js'
import { toClientError } from './write-faults.js'

/** The number of rows at each end of a table from which the others are estimated. */
const sampled = 500

type Counted<T> = Pick<ListOptions<T>, 'where' | 'withDeleted' | 'view'>

export class RowCounts<T extends object> {
  readonly #table: Table<T>
  readonly #source: Source

  constructor(table: Table<T>, source: Source) {
    this.#table = table
    this.#source = source
  }

  /** @returns `undefined` if there are more than `most` */
  async upTo(most: number, options: Counted<T>): Promise<number | undefined> {
    checkCountedOptions(options)
    const { context } = this.#source
    const { selection, values } = selectRows(this.#table, context, options)
    const plan = context.plansOf(this.#table).countUpTo(selection)
    const count = await this.#count(plan, [...values, most + 1])
    return count > most ? undefined : count
  }

  /** Estimated from a thousand rows and the database's own estimate of the table's size. */
  async roughly(options: Counted<T>): Promise<number> {
    checkCountedOptions(options)
    const { context } = this.#source
    const { name, deletedAt } = this.#table
    const rows = (await context.engine.tableSizes([name])).get(name) ?? 0
    const { selection, values } = selectRows(this.#table, context, options)
    // The first and the last rows of a sharded table are of a shard or two.
    if (rows <= 2 * sampled || this.#table.shard !== undefined) {
      return this.#count(context.plansOf(this.#table).count(selection), values)
    }
    if (selection.condition === undefined && deletedAt === undefined) return rows
    const plan = context.plansOf(this.#table).sample(selection)
    const found = await this.#count(plan, [...values, sampled])
    return Math.round((found / (2 * sampled)) * rows)
  }

  async #count(plan: Plan, values: readonly unknown[]): Promise<number> {
    try {
      const counted: Later<readonly Row[]> = this.#source
        .runner()
        .run(plan.statement, arrange(plan, values), 'rows')
      return await after(counted, ([row]) => Number(row?.[0]))
    } catch (error) {
      throw toClientError(error, this.#table, 'read')
    }
  }
}
