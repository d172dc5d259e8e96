/** Follows the changes of all tables, whichever process makes them: `onChange(listener, { everywhere: true })`. */
import type { Log } from '../../core/log.js'
import type { Class } from '../../metadata/class-metadata.js'
import type { Table } from '../model/table.js'
import type { ChangeFeed, Watcher } from './change-feed.js'
import type { Change, RowChanges } from './changes.js'

/**
 * Rows of a class were written, but it is unknown which: the connection to the server was broken, or the reader of
 * `changes` was too slow.
 */
export interface MissedChanges {
  readonly event: 'lost'
  readonly record: Class
  /** The number of unread changes, if it is known. */
  readonly count?: number
}

/** @returns a function that ends it, once no change that is committed from now on can be missed */
export async function followAll(
  { feed, log }: { readonly feed: ChangeFeed; readonly log: Log },
  tables: Iterable<Table>,
  listener: (change: Change | MissedChanges) => void,
): Promise<() => void> {
  const notify = (change: Change | MissedChanges): void => {
    try {
      listener(change)
    } catch (error) {
      log.error({ err: error }, 'a listener to changes failed')
    }
  }
  const watcherOf = ({ type: record }: Table): Watcher => ({
    columns: [],
    onChanges: ({ event, ids }: RowChanges) => {
      if (event === 'lost') notify({ event, record })
      else for (const id of ids) notify({ event, record, id })
    },
    end: () => undefined,
  })
  const stops: (() => void)[] = []
  const stop = (): void => {
    for (const one of stops) one()
  }
  // All tables in parallel, because PostgreSQL needs some time for each until no change can be missed.
  const results = await Promise.allSettled(
    [...tables].map(async (table) => {
      stops.push(await feed.watch(table, watcherOf(table)))
    }),
  )
  const failed = results.find((one) => one.status === 'rejected')
  if (failed === undefined) return stop
  stop()
  throw failed.reason
}
