/** Callers, reads and writes of a request, as far as engines need them. */

/** The caller of an engine that reads from replicas, which may lag behind. */
export interface EngineCaller {
  /** Reads must see everything that is committed, because a write depends on them or their result is cached. */
  readonly isFresh: boolean
  /** Names under which earlier writes of this caller are looked up. */
  readonly names: readonly string[]
  /** Names under which writes of this caller are remembered. */
  readonly ownNames: readonly string[]
  /** Set by the engine after a write: from then on the same request reads from the primary. */
  hasWritten: boolean
}

/** @returns `undefined` for work without a caller: jobs, programs, the start */
export type CurrentCaller = () => EngineCaller | undefined

/** Other processes that serve the same callers: workers behind one port. */
export interface OtherProcesses {
  /** Notifies them that the caller with these names has written. */
  notify(names: readonly string[]): void
  /** @returns a function that removes the listener */
  onNotified(listener: (names: readonly string[]) => void): () => void
}

/** The part of a client's request that its reads use. */
export interface ClientReading {
  /**
   * The request is over: its response was sent completely, or the client disconnected. A stream still reads after its
   * first byte.
   */
  readonly isOver?: boolean
  /** The response has begun. From now on, reads are for a stream. */
  readonly answered?: boolean
  /** Calls `end` once, when the response was sent or the client disconnected. */
  onFinished(end: () => void): void
  /** Stores the runner of the first database that reads for this request. */
  reads?: object | undefined
}

/** A write that waits or runs. */
export interface PendingWrite {
  /** Called at the timeout of the request. `writeEnded` follows when the outcome is known, possibly immediately. */
  stop(): void
}

/**
 * The part of a client's request that its writes use. A request with the response 503 after its timeout has written
 * nothing: waiting writes are never sent, running ones are cancelled if possible, and the response waits for their
 * outcome.
 */
export interface ClientWriting {
  /** The request has timed out, so that it must not write anything more. */
  readonly isTimedOut: boolean
  writeStarted(write: PendingWrite): void
  /** @param isDone whether data was written */
  writeEnded(write: PendingWrite, isDone: boolean): void
}
