/**
 * Reads for clients. Reads that may take long use at most half of the pool, with slots that are shared fairly between
 * clients and their requests, and are cancelled on the server when the client disconnects. Reads that start together are sent together,
 * in one round trip. Source: PostgreSQL, Frontend/Backend Protocol, Canceling Requests in Progress.
 */
import type { MaybePromise } from '../../core/maybe-promise.js'
import type {
  Results,
  ClientReading,
  Runner,
  Statement,
  Values,
  ResultKind,
} from '../contract/engine.js'
import { boundOf, isWrite } from '../contract/statement.js'
import { Call, type CallOwner, canRetry } from './call.js'
import { requestEndedError, convertPostgresError } from './errors.js'
import { type ConnectionPool, currentTick } from './pool.js'
import type { PooledConnection } from './pooled-connection.js'
import type { QuickReads, SharedReads } from './shared-reads.js'
import type { ReadSlots, SlotHolder } from './read-slots.js'
import type { PreparedStatements } from './prepared-statements.js'

/** The parts of the engine that a request's reads use. */
export interface ReadParts {
  readonly engine: Runner
  readonly pool: ConnectionPool
  readonly names: PreparedStatements
  readonly slots: ReadSlots
  readonly briefReads: SharedReads
  readonly quickReads: QuickReads
}

/** A read of at most this many rows ends soon. */
const fewRows = 20_000

function endsSoon({ statement, values }: Call): boolean {
  return boundOf(statement, values) <= fewRows
}

/** The maximum number of reads of one turn of the event loop that share a connection. */
const maxBatch = 8

/** Reads that are sent together, with their connection once there is one. */
interface Group {
  readonly tick: number
  /** They end soon and need no slot. */
  readonly isQuick: boolean
  readonly calls: Call[]
  connection: PooledConnection | undefined
}

/** Runs the reads of one request. Writes run as usual. */
export class ClientReads implements Runner, CallOwner, SlotHolder {
  inUse = 0
  isOver: boolean
  readonly #parts: ReadParts
  readonly #reading: ClientReading
  #client: string | undefined
  readonly #running = new Set<PooledConnection>()
  #group: Group | undefined
  /** Without a connection yet. */
  readonly #waiting = new Set<Group>()
  readonly #onQuickIdle = (connection: PooledConnection): void => {
    this.#parts.quickReads.unwatch(connection)
    this.#running.delete(connection)
    this.#parts.pool.release(connection)
  }
  readonly #onIdle = (connection: PooledConnection): void => {
    this.#parts.slots.release(this)
    this.#onQuickIdle(connection)
  }

  constructor(reading: ClientReading, parts: ReadParts) {
    this.#parts = parts
    this.#reading = reading
    this.isOver = reading.isOver === true
    if (!this.isOver) {
      reading.onFinished(() => {
        this.#end()
      })
    }
  }

  /** Does not change, because slots are counted by it. */
  get client(): string | undefined {
    return (this.#client ??= this.#reading.client)
  }

  run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultKind: W,
  ): MaybePromise<Results[W]> {
    if (isWrite(statement)) return this.#parts.engine.run(statement, values, resultKind)
    if (this.isOver) return Promise.reject(requestEndedError())
    const call = new Call(statement, values, resultKind, this)
    call.maxBytes = this.#reading.maxReadBytes ?? Infinity
    const result = call.result<Results[W]>()
    this.#read(call)
    return result
  }

  /** Retries under the same conditions as the engine: after a lost connection or an outdated prepared statement. */
  failed(call: Call, error: unknown): void {
    const converted = convertPostgresError(error)
    const canRunAgain = canRetry(call, converted, this.#parts.names)
    if (canRunAgain && !this.isOver) this.#send(call)
    else call.reject(converted)
  }

  /** The call waited behind a slow one, perhaps for the same lock. Unless it surely ends soon, it needs a slot now. */
  rerouted(call: Call): void {
    if (this.isOver) call.reject(requestEndedError())
    else if (call.statement.together === 'calls' || endsSoon(call)) this.#read(call)
    else this.#send(call)
  }

  becameExclusive(_call: Call, connection: PooledConnection): void {
    this.#parts.slots.count(this, 1)
    this.#running.add(connection)
    connection.onIdle = this.#onIdle
    if (this.isOver) connection.cancel()
  }

  #read(call: Call): void {
    const { briefReads, quickReads } = this.#parts
    if (call.statement.together === 'calls') briefReads.read(call)
    else if (quickReads.isQuick(call.statement)) quickReads.read(call)
    else this.#send(call)
  }

  /** Runs it on a connection that no other request shares. */
  #send(call: Call): void {
    const group = this.#group
    const isQuick = endsSoon(call)
    const isSameTick = group?.tick === currentTick() && group.isQuick === isQuick
    const fits = isSameTick && group.calls.length < maxBatch
    if (group === undefined || !fits || group.connection?.isBroken === true) {
      this.#begin(call, isQuick)
      return
    }
    group.calls.push(call)
    group.connection?.send(call)
  }

  #begin(call: Call, isQuick: boolean): void {
    const tick = currentTick()
    const group: Group = { tick, isQuick, calls: [call], connection: undefined }
    this.#group = group
    this.#waiting.add(group)
    const go = (): void => {
      this.#connect(group)
    }
    if (isQuick) go()
    else this.#parts.slots.acquire(this, go)
  }

  #connect(group: Group): void {
    const { slots, pool } = this.#parts
    pool.wait({
      take: (connection) => {
        this.#run(group, connection)
      },
      fail: (error) => {
        this.#waiting.delete(group)
        if (!group.isQuick) slots.release(this)
        for (const call of group.calls.splice(0)) call.failUnsent(error)
      },
    })
  }

  #run(group: Group, connection: PooledConnection): void {
    this.#waiting.delete(group)
    const onIdle = group.isQuick ? this.#onQuickIdle : this.#onIdle
    if (this.isOver) {
      onIdle(connection)
      return
    }
    const { calls } = group
    group.connection = connection
    this.#parts.quickReads.watch(connection, calls)
    this.#running.add(connection)
    connection.onIdle = onIdle
    connection.sendAll(calls)
  }

  #end(): void {
    this.isOver = true
    this.#parts.slots.cancel(this)
    for (const { calls } of this.#waiting)
      for (const call of calls.splice(0)) call.reject(requestEndedError())
    this.#waiting.clear()
    for (const connection of this.#running) connection.cancel()
  }
}
