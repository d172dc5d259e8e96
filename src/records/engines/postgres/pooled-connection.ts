/**
 * A connection of the pool, and what is in flight on it. Several statements may be: the server answers them in their order,
 * and each fails alone. Source: PostgreSQL, Extended Query, Pipelining.
 */
import type { Call } from './call.js'
import type { ColumnReader, Columns } from './columns.js'
import { cancelStatement } from './cancel-statement.js'
import type { Client, Driver } from './driver.js'
import { endsConnection } from './faults.js'
import type { StatementNames } from './statement-names.js'

/**
 * What is known of a name here: its columns; that somebody is preparing it; that this failed, so that it may be there or not;
 * that another process has prepared it on what a pooler has lent.
 */
export type Preparation = Columns | 'begun' | 'unsure' | 'undescribed'

export interface ConnectionParts {
  readonly client: Client
  readonly driver: Driver
  readonly names: StatementNames
  readonly readColumns: ColumnReader
  /** Told when statements were lost with it. */
  readonly onLost: () => void
}

/** So many go to the server at once, however long the turn is: it works on them while others are made. */
const mostHeldBack = 8

export class PooledConnection {
  readonly client: Client
  readonly names: StatementNames
  readonly readColumns: ColumnReader
  readonly toText: Driver['utils']['prepareValue']
  readonly prepared = new Map<string, Preparation>()
  /** In flight, the first of them at work. */
  readonly calls = new Set<Call>()
  /** It is of no use any more. */
  isBroken = false
  /** Called when nothing is in flight any more. */
  onIdle: ((connection: PooledConnection) => void) | undefined = undefined
  /** Moments of `performance.now`. */
  readonly opened = performance.now()
  idleSince = 0
  /** What was the first in flight when it was last looked at. */
  seen: Call | undefined = undefined
  readonly #driver: Driver
  readonly #onLost: () => void
  #heldBack = 0
  /** Whose rows the server waits for, or will: it would take nothing else, so that others go behind them. */
  #copying: Call | undefined
  readonly #behindRows: Call[] = []
  #isCancelled = false

  constructor({ client, driver, names, readColumns, onLost }: ConnectionParts) {
    this.client = client
    this.names = names
    this.readColumns = readColumns
    this.toText = driver.utils.prepareValue
    this.#driver = driver
    this.#onLost = onLost
  }

  /** At once, or together with what else comes in this turn of the loop where something is in flight already. */
  send(call: Call): void {
    if (this.calls.size > 0) this.#holdBack()
    this.#send(call)
  }

  /** Together with what else comes in this turn of the loop. */
  sendLater(call: Call): void {
    this.#holdBack()
    this.#send(call)
  }

  /** As one piece, at once. */
  sendAll(calls: readonly Call[]): void {
    const { stream } = this.client.connection
    stream.cork()
    for (const call of calls) this.#send(call)
    stream.uncork()
  }

  /** Its answer has come, or never will. */
  ended(call: Call): void {
    this.calls.delete(call)
    if (this.#copying === call) this.isReady()
    if (this.calls.size === 0) this.onIdle?.(this)
    else if (this.#isCancelled) cancelStatement(this.client, this.#driver.Connection)
  }

  /** The server has all rows that it waited for, or wants none. */
  isReady(): void {
    this.#copying = undefined
    // One of them may be rows again, and holds the next ones back.
    for (const call of this.#behindRows.splice(0)) this.#send(call)
  }

  /** Ends what is in flight on the server too. It may be told so late that nobody else uses the connection afterwards. */
  cancel(): void {
    this.isBroken = true
    this.#isCancelled = true
    if (this.calls.size > 0) cancelStatement(this.client, this.#driver.Connection)
  }

  heed(error: unknown): void {
    if (this.isBroken || !endsConnection(error)) return
    this.isBroken = true
    this.#onLost()
  }

  #send(call: Call): void {
    this.calls.add(call)
    if (this.#copying !== undefined) {
      this.#behindRows.push(call)
      return
    }
    if (call.statement.takesRows === true) this.#copying = call
    call.begin(this)
    this.client.query(call)
  }

  /** A piece of bytes for each statement would cost the most of it. */
  #holdBack(): void {
    const { stream } = this.client.connection
    if (this.#heldBack === 0) {
      stream.cork()
      setImmediate(() => {
        if (this.#heldBack > 0) this.#letGo()
      })
    } else if (this.#heldBack >= mostHeldBack) {
      this.#letGo()
      stream.cork()
    }
    this.#heldBack++
  }

  #letGo(): void {
    this.#heldBack = 0
    this.client.connection.stream.uncork()
  }
}
