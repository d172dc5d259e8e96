/**
 * The changes of one client's request outside transactions. Once its time is over none is sent any more, and one that is on
 * its way is cancelled on the server: whether that came too late is known by its answer.
 * Source: PostgreSQL, Frontend/Backend Protocol, Canceling Requests in Progress.
 */
import { lateFault } from '../client-writes.js'
import type { Later } from '../../core/later.js'
import type { ClientWriting, UnderWay } from '../contract/client-writing.js'
import type { Answers, Runner, Statement, Values, Wanted } from '../contract/engine.js'
import { changes } from '../contract/statement.js'
import { Call, type CallOwner } from './call.js'
import { toPostgresFault } from './faults.js'
import type { ConnectionPool } from './pool.js'
import type { PooledConnection } from './pooled-connection.js'
import type { Waiter } from './waiting.js'

/** The parts of the engine that a request's changes use. */
export interface WriteParts {
  readonly engine: Runner
  readonly pool: ConnectionPool
  /** Decides whether a failed call runs again by `run`, else refuses it. */
  readonly fail: (call: Call, error: unknown, run: (call: Call) => void) => void
}

export class ClientWrites implements Runner {
  readonly #writing: ClientWriting
  readonly #parts: WriteParts

  constructor(writing: ClientWriting, parts: WriteParts) {
    this.#writing = writing
    this.#parts = parts
  }

  run<W extends Wanted>(statement: Statement, values: Values, wanted: W): Later<Answers[W]> {
    const writing = this.#writing
    if (!changes(statement)) return this.#parts.engine.run(statement, values, wanted)
    if (writing.late) return Promise.reject(lateFault())
    const write = new ClientWrite(writing, this.#parts)
    const call = new Call(statement, values, wanted, write)
    const answer = call.answer<Answers[W]>()
    writing.begun(write)
    write.send(call)
    return answer
  }
}

/** One change: nobody else's statement is on its connection meanwhile. */
class ClientWrite implements CallOwner, Waiter, UnderWay {
  readonly #writing: ClientWriting
  readonly #parts: WriteParts
  #call: Call | undefined
  #connection: PooledConnection | undefined
  #isStopped = false

  constructor(writing: ClientWriting, parts: WriteParts) {
    this.#writing = writing
    this.#parts = parts
  }

  /** Arrow functions, because they are handed on. */
  readonly send = (call: Call): void => {
    this.#call = call
    if (this.#isStopped) call.refuse(lateFault())
    else this.#parts.pool.wait(this)
  }

  take(connection: PooledConnection): void {
    this.#connection = connection
    connection.onIdle = this.#onIdle
    connection.send(this.#call as Call)
  }

  fail(error: unknown): void {
    this.#call?.unsent(error)
  }

  stop(): void {
    this.#isStopped = true
    if (this.#connection !== undefined) this.#connection.cancel()
    else {
      this.#parts.pool.leave(this)
      this.#call?.refuse(lateFault())
    }
  }

  settled(isDone: boolean): void {
    this.#writing.ended(this, isDone)
  }

  failed(call: Call, error: unknown): void {
    // Not run again: that it was cancelled looks like other faults.
    if (this.#isStopped && !call.isInDoubt(error)) call.refuse(toPostgresFault(error))
    else this.#parts.fail(call, error, this.send)
  }

  readonly #onIdle = (connection: PooledConnection): void => {
    this.#connection = undefined
    this.#parts.pool.release(connection)
  }
}
