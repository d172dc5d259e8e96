/**
 * Runs statements in order without waiting for each answer: each begins when the one before it has ended on the server.
 */
import type { Runner } from './engine.js'

/** Each statement is committed, or fails, by itself. */
export interface OrderedRunner extends Runner {
  /** No more statements will follow; those that were given still run. Called once. */
  end(): void
}
