/**
 * What an engine needs to know of the client's request that it writes for. A request that was answered 503 for its time
 * was not done: what waits then is never sent, what is under way is cancelled where it can be, and the answer waits until
 * it is known what became of it.
 */
/** A change that has begun, or waits. */
export interface UnderWay {
  /** The request's time is over. It is `ended` once it is known what became of it, which may be at once. */
  stop(): void
}

/** The part of a client's request that its changes use. */
export interface ClientWriting {
  /** Its time is over: nothing is written for it any more. */
  readonly late: boolean
  begun(write: UnderWay): void
  /** @param isDone whether something was written */
  ended(write: UnderWay, isDone: boolean): void
}
