/**
 * Lets rows of one call exchange unique values. Databases check unique values row by row, so that `[{ id: 1, position: 2 },
 * { id: 2, position: 1 }]` fails at its first row. Where that happens, the call is rolled back and runs again: each row gets a
 * placeholder in the place of its unique values, and all get their values at the end.
 */
import { causesOf } from '../../errors/http-error.js'
import { promise } from '../../core/maybe-promise.js'
import { EngineFault } from '../../engines/contract/engine-error.js'
import type { Runner } from '../../engines/contract/engine.js'
import type { Column } from '../../engines/contract/table.js'
import { arrange } from '../../sql/write.js'
import type { Table } from '../model/table.js'
import { GuardedRunner } from './guarded-runner.js'
import { makePlaceholder } from './placeholder.js'
import { keyValues } from './shard.js'
import type { RecordsContext, Source } from './source.js'

/** Begins a transaction, or a part of the open one, and runs work in it. */
type Begin<R> = (work: (source: Source) => Promise<R>) => Promise<R>

export async function allowingSwaps<R>(
  begin: Begin<R>,
  work: (source: Source) => Promise<R>,
): Promise<R> {
  try {
    return await begin(work)
  } catch (error) {
    if (!isTaken(error)) throw error
    return begin((source) => withPlaceholders(source, work)).catch(() => {
      throw error
    })
  }
}

async function withPlaceholders<R>(
  source: Source,
  work: (source: Source) => Promise<R>,
): Promise<R> {
  const runner = source.runner()
  if (!(runner instanceof GuardedRunner) || placeholdersOf.has(runner)) return work(source)
  const placeholders = new Placeholders(source.context)
  placeholdersOf.set(runner, placeholders)
  try {
    const result = await work(source)
    await placeholders.replace(runner)
    return result
  } finally {
    placeholdersOf.delete(runner)
  }
}

/** By the runner of their transaction. */
const placeholdersOf = new WeakMap<Runner, Placeholders>()

/** @returns `undefined` unless values of the transaction are exchanged */
export function findPlaceholders(runner: Runner): Placeholders | undefined {
  return placeholdersOf.get(runner)
}

function isTaken(error: unknown): boolean {
  for (const cause of causesOf(error))
    if (cause instanceof EngineFault) return cause.kind === 'unique'
  return false
}

interface Held {
  readonly table: Table
  readonly columns: readonly Column[]
  /** In the driver's form: the values, then the key. */
  readonly values: readonly unknown[]
}

export class Placeholders {
  readonly #context: RecordsContext
  readonly #held: Held[] = []

  constructor(context: RecordsContext) {
    this.#context = context
  }

  /**
   * @param key in the driver's form, as the values are
   * @returns values with placeholders, and the columns that have one
   */
  put(
    table: Table,
    key: unknown,
    columns: readonly Column[],
    values: readonly unknown[],
  ): { readonly values: unknown[]; readonly columns: readonly Column[] } {
    const codec = this.#context.codecOf(table)
    const put: Column[] = []
    const kept: unknown[] = []
    const next = values.map((value, place) => {
      const column = columns[place] as Column
      if (value === null || !isUnique(table, column)) return value
      const placeholder = column.nullable ? null : makePlaceholder(table, column)
      if (placeholder === undefined) return value
      put.push(column)
      kept.push(value)
      return placeholder === null
        ? null
        : codec.byProperty.get(column.property)?.encode(placeholder)
    })
    if (put.length > 0)
      this.#held.push({
        table,
        columns: put,
        values: [...kept, ...keyValues(table, this.#context, key)],
      })
    return { values: next, columns: put }
  }

  /** Writes the values. The versions of the rows stay. */
  async replace(runner: Runner): Promise<void> {
    for (const { table, columns, values } of this.#held.splice(0)) {
      const plan = this.#context.plansOf(table).replace(columns)
      await promise(() => runner.run(plan.statement, arrange(plan, values), 'count'))
    }
  }
}

function isUnique({ indexes }: Table, column: Column): boolean {
  return indexes.some(({ unique, columns }) => unique && columns.includes(column))
}
