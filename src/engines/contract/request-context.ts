/** The caller for whom an engine works at the moment, for engines that read from replicas, which may be behind. */

export interface EngineCaller {
  /** Reads must see everything that is committed, because a write depends on them or their answer is kept. */
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
  /** Tells them that the caller with these names has written. */
  notify(names: readonly string[]): void
  /** @returns a function that ends it */
  onNotified(listener: (names: readonly string[]) => void): () => void
}

/** What an engine needs to know of the client's request that it reads for. */

/** The part of a client's request that its reads use. */
export interface ClientReading {
  /**
   * The request is over: its answer was sent completely, or the client left. A stream goes on reading after its first
   * byte.
   */
  readonly isOver?: boolean
  /** The answer has begun: from now on, reads are for a stream. */
  readonly answered?: boolean
  /** Calls back once, when the request was answered or the client left. */
  onFinished(end: () => void): void
  /** A place for the runner of the first database that reads for this request. */
  reads?: object | undefined
}

/**
 * What an engine needs to know of the client's request that it writes for. A request that was answered 503 for its time
 * was not done: what waits then is never sent, what is under way is cancelled where it can be, and the answer waits until
 * it is known what became of it.
 */
/** A change that has begun, or waits. */
export interface PendingWrite {
  /** The request's time is over. It is `ended` once it is known what became of it, which may be at once. */
  stop(): void
}

/** The part of a client's request that its changes use. */
export interface ClientWriting {
  /** Its time is over: nothing is written for it any more. */
  readonly isTimedOut: boolean
  writeStarted(write: PendingWrite): void
  /** @param isDone whether something was written */
  writeEnded(write: PendingWrite, isDone: boolean): void
}
