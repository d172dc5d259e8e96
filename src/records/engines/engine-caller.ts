/** Who an engine works for at the moment: asked by engines that read from copies, which may be behind. */

export interface EngineCaller {
  /** Reads must see everything that is committed: they decide what is written, or their answer is kept. */
  readonly isFresh: boolean
  /** Names by which what the caller has written before is looked up. */
  readonly names: readonly string[]
  /** Names under which what the caller writes is remembered. */
  readonly ownNames: readonly string[]
  /** Set by the engine: from then on the same piece of work reads where it has written. */
  hasWritten: boolean
}

/** @returns `undefined` for work that belongs to no caller: jobs, programs, the start */
export type CurrentCaller = () => EngineCaller | undefined

/** Other processes whose callers are the same: workers behind one port. */
export interface OtherProcesses {
  /** Somebody known by these names has written. */
  tell(names: readonly string[]): void
  /** @returns what ends it */
  onTold(listener: (names: readonly string[]) => void): () => void
}
