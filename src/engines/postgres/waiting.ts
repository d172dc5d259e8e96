/** Callers that wait for a connection of the pool. */
import type { Call } from './call.js'
import type { PooledConnection } from './pooled-connection.js'

/** A waiting caller. */
export interface Waiter {
  take(connection: PooledConnection): void
  fail(error: unknown): void
}

/** A call that waits: calls of the same turn of the loop are sent together. */
export class WaitingCall implements Waiter {
  readonly call: Call
  readonly turn: number
  readonly #back: (connection: PooledConnection) => void

  constructor(call: Call, back: (connection: PooledConnection) => void) {
    this.call = call
    this.turn = currentTurn()
    this.#back = back
  }

  take(connection: PooledConnection): void {
    connection.onIdle = this.#back
    connection.send(this.call)
  }

  fail(error: unknown): void {
    this.call.unsent(error)
  }
}

/** Times of `performance.now`. */
export interface Wait {
  readonly since: number
  readonly end: number
}

let turn = 0
let isCounted = false

/** The number of the current turn of the loop; calls of one turn mostly belong to one request. */
export function currentTurn(): number {
  if (!isCounted) {
    isCounted = true
    process.nextTick(() => {
      isCounted = false
      turn++
    })
  }
  return turn
}
