/**
 * How far a copy is, in a table of the target. It changes in the transactions that write the rows, so that a copy that was
 * killed continues after its last written row.
 */
import type { Runner, Statement } from '../../engines/contract/engine.js'
import {
  frameworkChange,
  frameworkQuery,
  frameworkScript,
} from '../../engines/contract/statement.js'
import type { Database } from '../database.js'
import { createOwnTable, hasTable } from '../own-tables.js'

const table = 'filigree_copy'

const createTable = `create table if not exists ${table} (
  name text primary key not null,
  rows bigint not null,
  last text not null,
  is_done integer not null
)`

export interface TableState {
  readonly rows: number
  /** The key of the last row. */
  readonly last: readonly (string | null)[]
  readonly isDone: boolean
}

export class CopyState {
  readonly #database: Database
  readonly #set: Statement

  constructor(database: Database) {
    this.#database = database
    const { placeholder } = database.context.dialect.statements
    const values = [1, 2, 3, 4].map((position) => placeholder(position)).join(', ')
    const sql = `insert into ${table} (name, rows, last, is_done) values (${values})
      on conflict (name) do update set rows = excluded.rows, last = excluded.last, is_done = excluded.is_done`
    this.#set = frameworkChange('upsert', sql, { tables: [table] })
  }

  /** @returns the state of each table whose copy has begun. Undefined if no copy has begun */
  async read(): Promise<ReadonlyMap<string, TableState> | undefined> {
    if (!(await hasTable(this.#database, table))) return undefined
    const query = frameworkQuery(`select name, rows, last, is_done from ${table}`)
    const { rows } = await this.#database.context.engine.run(query, [], 'all')
    return new Map(
      rows.map(([name, count, last, isDone]) => [
        String(name),
        {
          rows: Number(count),
          last: JSON.parse(String(last)) as (string | null)[],
          isDone: Number(isDone) === 1,
        },
      ]),
    )
  }

  async create(): Promise<void> {
    await createOwnTable(this.#database, table, createTable)
  }

  async set(runner: Runner, name: string, state: TableState): Promise<void> {
    const values = [name, state.rows, JSON.stringify(state.last), state.isDone ? 1 : 0]
    await runner.run(this.#set, values, 'count')
  }

  /** The copy is complete. */
  async drop(): Promise<void> {
    await this.#database.context.engine.schema.change(async (runner) => {
      await runner.run(frameworkScript(`drop table if exists ${table}`), [], 'nothing')
    })
  }
}
