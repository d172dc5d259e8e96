/** The approximate sizes of SQLite's tables: the largest row number, which is found without reading the rows. */
import { type Later, after, attempt } from '../../core/later.js'
import { quote } from '../contract/ddl.js'
import type { Runner } from '../contract/engine.js'
import { ownQuestion } from '../contract/statement.js'

export function readSqliteSizes(
  runner: Runner,
  tables: readonly string[],
): Later<ReadonlyMap<string, number>> {
  const sizes = new Map<string, number>()
  const sizeOf = (name: string): Later<number> => {
    const sql = `select max(rowid) from ${quote(name)}`
    return attempt(
      () => after(runner.run(ownQuestion(sql), [], 'all'), ({ rows }) => Number(rows[0]?.[0] ?? 0)),
      // The table does not exist yet.
      () => 0,
    )
  }
  const next = (index: number): Later<ReadonlyMap<string, number>> => {
    const name = tables[index]
    if (name === undefined) return sizes
    return after(sizeOf(name), (size) => {
      sizes.set(name, size)
      return next(index + 1)
    })
  }
  return next(0)
}
