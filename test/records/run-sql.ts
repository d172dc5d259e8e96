/** Runs plain SQL on the database of a test. */
import { sql } from 'kysely'
import type { Database } from '../../src/index.js'

type Open = Pick<Database, 'kysely'>

/** Runs statements that each end with a semicolon at the end of a line. */
export async function runSql({ kysely }: Open, script: string): Promise<void> {
  for (const statement of script.split(/;\s*(?:\n|$)/))
    if (statement.trim() !== '') await sql.raw(statement).execute(kysely)
}

/** @returns the values of each row */
export async function readSql({ kysely }: Open, query: string): Promise<unknown[][]> {
  const { rows } = await sql.raw<object>(query).execute(kysely)
  return rows.map((row) => Object.values(row))
}
