/** Reports a database that fails or stops responding while the application starts. */
import { setTimeout as wait } from 'node:timers/promises'
import { DeclarationError } from '../errors/declaration-error.js'
import { HttpError } from '../errors/http-error.js'
import { EngineError } from '../engines/contract/engine-error.js'
import type { Database } from '../records/database.js'

/** @returns the error itself, or a report with a fix if the database failed */
export function toStartError(error: unknown): unknown {
  const cause = error instanceof HttpError && error.status === 503 ? error.cause : error
  if (!(cause instanceof EngineError) || (cause === error && cause.kind !== 'unavailable'))
    return error
  const problem = cause.needsSession
    ? {
        code: 'DATABASE_POOLED',
        message:
          'The database is behind a pooler that keeps no sessions, and the application follows changes of rows (@CacheFor, onChange everywhere), which needs one.',
        remedy:
          'Set DATABASE_DIRECT_URL to the address of the server without the pooler. It is used for this, and for changes of the schema.',
      }
    : {
        code: 'DATABASE_UNREACHABLE',
        message: `The database failed while the application started: ${cause.message}`,
        remedy: 'Check that the server is up and not overloaded, and start again.',
      }
  return new DeclarationError([problem], { cause: error })
}

/**
 * Milliseconds between two checks. A check without a response until the next one means that the database is
 * unresponsive.
 */
const checkInterval = 5000
/** The most milliseconds for closing everything that a failed start has opened. */
const closing = 2000

/**
 * Runs a part of the start, however long it takes, as long as the database responds. Embedded databases are not
 * checked, because a check would wait for the start's own transaction.
 *
 * @throws {DeclarationError} `DATABASE_UNREACHABLE`
 */
export function whileResponsive<T>(
  database: Database | undefined,
  work: () => Promise<T>,
): Promise<T> {
  if (database === undefined || database.context.dialect.isLocal) return work()
  return new Promise<T>((resolve, reject) => {
    let isChecking = false
    const check = (): void => {
      isChecking = true
      const answered = (): void => {
        isChecking = false
      }
      // No free connection counts as no response.
      database.check().then(answered, () => undefined)
    }
    const timer = setInterval(() => {
      if (!isChecking) check()
      // Decide after pending events: the start itself may have kept the process busy.
      else
        setImmediate(() => {
          if (isChecking) reject(silence())
        })
    }, checkInterval)
    work()
      .then(resolve, reject)
      .finally(() => {
        clearInterval(timer)
      })
      .catch(() => undefined)
  })
}

/** Closes what a failed start has opened. An unresponsive connection is left to the end of the process. */
export async function closeInTime(close: () => Promise<void>): Promise<void> {
  const ended = new AbortController()
  await Promise.race([close(), wait(closing, undefined, { ref: false, signal: ended.signal })])
  ended.abort()
}

function silence(): DeclarationError {
  return new DeclarationError([
    {
      code: 'DATABASE_UNREACHABLE',
      message: `The database has stopped answering while the application started: its connection stands, and for ${checkInterval / 1000} s nothing came.`,
      remedy: 'Check that the server is up and not overloaded, and start again.',
    },
  ])
}
