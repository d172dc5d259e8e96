/**
 * A connection of the pool, and the statements that it runs. There may be several: the server answers them in order,
 * and each fails alone. Source: PostgreSQL, Extended Query, Pipelining.
 */
import type { Call } from './call.js'
import type { ColumnReader, Columns } from './wire-protocol.js'
import { cancelStatement, type Client, type Driver } from './driver.js'
import { endsConnection } from './errors.js'
import { maxNames, type PreparedStatements } from './prepared-statements.js'

/**
 * What is known of a statement's name on this connection: its columns; that it is being prepared; that preparing
 * failed, so that it may exist or not; that another process has prepared it on a connection that a pooler lends.
 */
export type Preparation = Columns | 'begun' | 'unsure' | 'undescribed'

export interface ConnectionParts {
  readonly client: Client
  readonly driver: Driver
  readonly names: PreparedStatements
  readonly readColumns: ColumnReader
  /** Called when statements were lost with the connection. */
  readonly onLost: () => void
}

/** This many are sent at once, however long the turn of the loop is: the server works on them while others are made. */
const maxBufferedStatements = 8
/** Milliseconds after which a statement that still runs is cancelled again. */
const cancelInterval = 250

export class PooledConnection {
  readonly client: Client
  readonly names: PreparedStatements
  readonly readColumns: ColumnReader
  readonly toText: Driver['utils']['prepareValue']
  readonly prepared = new Map<string, Preparation>()
  /** The running statements, in order. */
  readonly calls = new Set<Call>()
  /** The connection can no longer be used. */
  isBroken = false
  /** Called when no statement is running any more. */
  onIdle: ((connection: PooledConnection) => void) | undefined = undefined
  /** In milliseconds of `performance.now`. */
  readonly openedAt = performance.now()
  idleSince = 0
  /** The first running statement at the last look. */
  lastSeenFirst: Call | undefined = undefined
  readonly #driver: Driver
  readonly #onLost: () => void
  #bufferedCount = 0
  /** A call whose rows the server waits for: it accepts nothing else, so later statements are sent after them. */
  #copying: Call | undefined
  readonly #afterCopy: Call[] = []
  #isCancelled = false
  #cancelTimer: NodeJS.Timeout | undefined

  constructor({ client, driver, names, readColumns, onLost }: ConnectionParts) {
    this.client = client
    this.names = names
    this.readColumns = readColumns
    this.toText = driver.utils.prepareValue
    this.#driver = driver
    this.#onLost = onLost
    client.connection.on('parameterDescription', (message) => {
      const [current] = this.calls
      current?.handleParameterDescription(message)
    })
  }

  /**
   * Forgets the statements whose names were dropped, once there are more than may be. Behind a pooler they may be those of
   * another process.
   *
   * @returns their names, which the caller closes
   */
  forgetDroppedNames(): string[] {
    const { prepared, names } = this
    if (prepared.size <= maxNames || names.isPooled) return []
    const dropped: string[] = []
    for (const [name, state] of prepared)
      if (state !== 'begun' && !names.isCurrent(name)) dropped.push(name)
    for (const name of dropped) prepared.delete(name)
    return dropped
  }

  /** Sends it at once or, if others are running, together with all others of this turn of the loop. */
  send(call: Call): void {
    if (this.calls.size > 0) this.#buffer()
    this.#send(call)
  }

  /** Sends it together with all others of this turn of the loop. */
  sendBuffered(call: Call): void {
    this.#buffer()
    this.#send(call)
  }

  /** Sends them at once, in one buffer. */
  sendAll(calls: readonly Call[]): void {
    const { stream } = this.client.connection
    stream.cork()
    for (const call of calls) this.#send(call)
    stream.uncork()
  }

  /** Its answer has come, or never will. */
  callEnded(call: Call): void {
    this.calls.delete(call)
    if (this.#copying === call) this.copyEnded()
    if (this.calls.size === 0) this.onIdle?.(this)
    else if (this.#isCancelled) this.#cancel()
  }

  /** The server has all rows that it waited for, or wants none. */
  copyEnded(): void {
    this.#copying = undefined
    // One of them may have rows again, which holds the next ones back.
    for (const call of this.#afterCopy.splice(0)) this.#send(call)
  }

  /**
   * Cancels running statements on the server. The request may arrive late, so nobody else may use the connection
   * afterwards.
   */
  cancel(): void {
    this.isBroken = true
    this.#isCancelled = true
    this.#cancel()
  }

  /** Until nothing runs any more: a request to cancel that arrives between two statements has no effect. */
  #cancel(): void {
    clearTimeout(this.#cancelTimer)
    if (this.calls.size === 0) return
    cancelStatement(this.client, this.#driver.Connection)
    this.#cancelTimer = setTimeout(() => {
      this.#cancel()
    }, cancelInterval).unref()
  }

  checkError(error: unknown): void {
    if (this.isBroken || !endsConnection(error)) return
    this.isBroken = true
    this.#onLost()
  }

  #send(call: Call): void {
    this.calls.add(call)
    if (this.#copying !== undefined) {
      this.#afterCopy.push(call)
      return
    }
    if (call.statement.takesRows === true) this.#copying = call
    call.started(this)
    this.client.query(call)
  }

  /** Writing to the socket for each statement would be the largest part of its cost. */
  #buffer(): void {
    const { stream } = this.client.connection
    if (this.#bufferedCount === 0) {
      stream.cork()
      setImmediate(() => {
        if (this.#bufferedCount > 0) this.#flush()
      })
    } else if (this.#bufferedCount >= maxBufferedStatements) {
      this.#flush()
      stream.cork()
    }
    this.#bufferedCount++
  }

  #flush(): void {
    this.#bufferedCount = 0
    this.client.connection.stream.uncork()
  }
}
