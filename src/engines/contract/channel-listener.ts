/** Listens to messages from other processes, by the database's own means. */

export interface ChannelHandlers {
  message(text: string): void
  /** Messages may have been missed, because the connection was lost for a while. Called when it is back. */
  lost(): void
}

/** Listens on a connection of its own, which exists while there are topics and is restored after a loss. */
export interface ChannelListener {
  /** The database's id of the connection, while it exists. */
  readonly processId: number | undefined
  /**
   * Sets the topics. Resolves once every process that writes knows them.
   *
   * @throws {EngineFault} `unavailable` if no connection can be opened
   */
  listenTo(topics: ReadonlySet<number>): Promise<void>
  close(): Promise<void>
}

/** For how many milliseconds a process may rely on the topics that it has read. */
export const lookupsLast = 500
