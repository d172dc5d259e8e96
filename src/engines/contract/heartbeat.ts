/** Statements that are repeated on a thread, also while this process's event loop is blocked. */
import type { Row } from './engine.js'

export interface HeartbeatOptions {
  /** Run one after the other at each beat, each by itself. */
  readonly statements: readonly { readonly sql: string; readonly values: readonly unknown[] }[]
  /** Milliseconds between two beats. */
  readonly every: number
  /** Gets the rows of each statement after a beat; never called after `stop`. */
  readonly onRows: (rows: readonly (readonly Row[])[]) => void
  /** A beat failed; the next one tries again. */
  readonly onError: (error: Error) => void
}

export interface Heartbeat {
  stop(): Promise<void>
}

/** What a thread of a heartbeat says. */
export type HeartbeatMessage =
  { readonly rows: readonly (readonly Row[])[] } | { readonly error: { readonly message: string } }
