/** Follows the changes of a record and collects them. */
import type { Database } from '../../src/index.js'
import type { RowChanges } from '../../src/records/changes/changes.js'
import type { Column } from '../../src/engines/contract/table.js'
import { Category, type Author } from './shop.js'
import { internalsOf } from './open-database.js'

export interface Follower {
  readonly changes: [RowChanges['event'], ...unknown[]][]
  readonly stop: () => void
  /** Resolves once this many changes have arrived. */
  until(count: number): Promise<void>
}

export async function follow(
  database: Database,
  type: typeof Category | typeof Author = Category,
  columns: readonly Column[] = [],
): Promise<Follower> {
  const changes: Follower['changes'] = []
  let check: () => void = () => undefined
  const stop = await internalsOf(database).watch(type, {
    onChanges: ({ event, ids, past }) => {
      changes.push(past === undefined ? [event, ...ids] : [event, ...ids, past])
      check()
    },
    end: () => undefined,
    columns,
  })
  const until = (count: number): Promise<void> =>
    new Promise((resolve) => {
      check = () => {
        if (changes.length >= count) resolve()
      }
      check()
    })
  return { changes, stop, until }
}
