/**
 * Doubles in JSON. SQLite 3.51 writes 15 digits of them, which may be another number; from 3.53 on it writes all. What was
 * written too short is written by JavaScript instead.
 */
import type { Around } from '../contract/insert-sql.js'
import type { Connection } from './connection.js'
import { ownQuestion } from '../contract/statement.js'

export const wholeDouble: Around = ['json(filigree_double(', '))']

/** Whether this SQLite writes doubles with all their digits. */
export function writesDoubles(connection: Connection): boolean {
  const sql = 'select json_array(0.1e0 + 0.2e0)'
  return connection.run(ownQuestion(sql), [], 'first')?.[0] === JSON.stringify([0.1 + 0.2])
}
