/** Statements in a line: each begins when the one before it has ended on the server, and nobody waits for the answers between. */
import type { Runner } from './engine.js'

/** Each statement is committed by itself and fails by itself. */
export interface OrderedRunner extends Runner {
  /** No other will come: those that were given still run. Called once. */
  end(): void
}
