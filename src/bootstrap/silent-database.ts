/** Ends a start whose database has fallen silent: its connections stay, but nothing comes by them any more. */
import { setTimeout as wait } from 'node:timers/promises'
import { DeclarationError } from '../errors/declaration-error.js'
import type { Database } from '../records/database.js'

/** Milliseconds between two questions; one that is not answered until the next counts as silence. */
const askEvery = 5000
/** Milliseconds for which closing what a failed start has opened may take. */
const closing = 2000

/**
 * Runs a part of the start, however long it takes, as long as the database answers. One within the process cannot fall
 * silent: a question waits there for what the start itself does in a transaction.
 *
 * @throws {DeclarationError} `DATABASE_UNREACHABLE`
 */
export function whileAnswering<T>(
  database: Database | undefined,
  work: () => Promise<T>,
): Promise<T> {
  if (database === undefined || database.context.dialect.isLocal) return work()
  return new Promise<T>((resolve, reject) => {
    let isAsking = false
    const ask = (): void => {
      isAsking = true
      const answered = (): void => {
        isAsking = false
      }
      // No connection to ask by is silence too.
      database.check().then(answered, () => undefined)
    }
    const asking = setInterval(() => {
      if (!isAsking) ask()
      // After what has arrived meanwhile: the start itself may have kept the process busy.
      else
        setImmediate(() => {
          if (isAsking) reject(silence())
        })
    }, askEvery)
    work()
      .then(resolve, reject)
      .finally(() => {
        clearInterval(asking)
      })
      .catch(() => undefined)
  })
}

/** Closes what a failed start has opened; a connection without an answer is left to the end of the process. */
export async function closeInTime(close: () => Promise<void>): Promise<void> {
  const ended = new AbortController()
  await Promise.race([close(), wait(closing, undefined, { ref: false, signal: ended.signal })])
  ended.abort()
}

function silence(): DeclarationError {
  return new DeclarationError([
    {
      code: 'DATABASE_UNREACHABLE',
      message: `The database has stopped answering while the application started: its connection stands, and for ${askEvery / 1000} s nothing came.`,
      remedy: 'Check that the server is up and not overloaded, and start again.',
    },
  ])
}
