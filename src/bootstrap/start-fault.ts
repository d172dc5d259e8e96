/** What a start ends with where the database cannot do what a provider asks of it in `onStart`. */
import { DeclarationError } from '../errors/declaration-error.js'
import { HttpError } from '../errors/http-error.js'
import { EngineError } from '../engines/contract/engine-error.js'

/** @returns the error itself, unless the database is what failed: then a report with the remedy */
export function toStartFault(error: unknown): unknown {
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
