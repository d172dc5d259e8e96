/** Statements that are repeated on a thread, also while this process's event loop is blocked. */
import type { Row } from './engine.js'

export interface PulseOptions {
  /** Run one after the other at each beat, each by itself. */
  readonly statements: readonly { readonly sql: string; readonly values: readonly unknown[] }[]
  /** Milliseconds between two beats. */
  readonly every: number
  /** Gets the rows of each statement after a beat; never called after `stop`. */
  readonly heard: (rows: readonly (readonly Row[])[]) => void
  /** A beat failed; the next one tries again. */
  readonly failed: (error: Error) => void
}

export interface Pulse {
  stop(): Promise<void>
}

/** What a thread of a pulse says. */
export type PulseMessage =
  { readonly rows: readonly (readonly Row[])[] } | { readonly error: { readonly message: string } }
