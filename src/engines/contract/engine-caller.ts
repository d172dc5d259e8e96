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
  tell(names: readonly string[]): void
  /** @returns a function that ends it */
  onTold(listener: (names: readonly string[]) => void): () => void
}
