/** Who listens to texts from other processes, by a database's own means. */

export interface ChannelHandlers {
  message(text: string): void
  /** Texts may have been missed: there was no connection for a while. Told when there is one again. */
  lost(): void
}

/** Listens by a connection of its own, which is there while there are topics and comes back when it was lost. */
export interface ChannelListener {
  /** The database's id of the connection, while there is one. */
  readonly processId: number | undefined
  /**
   * Makes these the topics. Resolved when every process that writes knows of them.
   *
   * @throws {EngineFault} `unavailable` where no connection can be had
   */
  listenTo(topics: ReadonlySet<number>): Promise<void>
  close(): Promise<void>
}

/** Milliseconds that a process may write by what it knew of the topics. */
export const lookupsLast = 500
