/** What reads for a client know of its request. */

/** A client's request, as far as its reads have to know it. */
export interface ClientReading {
  /** Nobody waits any more: it has its whole answer, or has left. A stream goes on reading after its first byte. */
  readonly isOver?: boolean
  /** Its answer has begun: what is read now is for a stream. */
  readonly answered?: boolean
  /** Calls back once, when it was answered or its client has gone. */
  onFinished(end: () => void): void
  /** A place for what the first database that reads for it reads by. */
  reads?: object | undefined
}
