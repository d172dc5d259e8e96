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
