/** Somebody who follows the rows of a record, and what it was told. */
import type { RowChanges } from '../../src/records/changes/changes.js'
import type { Database } from '../../src/records/database.js'
import type { Column } from '../../src/engines/contract/table.js'
import { Category, type Author } from './shop.js'

export interface Follower {
  readonly seen: [RowChanges['event'], ...unknown[]][]
  readonly stop: () => void
  /** Resolved once so many changes have come. */
  until(count: number): Promise<void>
}

export async function follow(
  database: Database,
  type: typeof Category | typeof Author = Category,
  columns: readonly Column[] = [],
): Promise<Follower> {
  const seen: Follower['seen'] = []
  let check: () => void = () => undefined
  const stop = await database.watch(type, {
    onChanges: ({ event, ids, past }) => {
      seen.push(past === undefined ? [event, ...ids] : [event, ...ids, past])
      check()
    },
    end: () => undefined,
    columns,
  })
  const until = (count: number): Promise<void> =>
    new Promise((resolve) => {
      check = () => {
        if (seen.length >= count) resolve()
      }
      check()
    })
  return { seen, stop, until }
}
