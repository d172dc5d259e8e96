/**
 * Brief reads of everybody over few connections, on which many are in flight at once. One that turns out to take long gets
 * the connection for itself: those behind it go elsewhere, so that nobody waits for another's statement, and ending it on the
 * server can meet nobody else.
 */
import type { Call } from './call.js'
import type { PooledConnection } from './pooled-connection.js'
import type { ConnectionPool } from './pool.js'

/** In flight on a connection before another is shared too. */
const enough = 8
/** Milliseconds between two looks. What is first at two of them is no brief read. */
const lookTime = 50

export class SharedReads {
  readonly #pool: ConnectionPool
  readonly #most: number
  readonly #shared: PooledConnection[] = []
  /** Came while no connection was there. */
  #early: Call[] = []
  #isGrowing = false
  #looking: NodeJS.Timeout | undefined
  readonly #onIdle = (connection: PooledConnection): void => {
    this.#forget(connection)
    this.#pool.release(connection)
  }

  constructor(pool: ConnectionPool) {
    this.#pool = pool
    this.#most = Math.max(1, Math.floor(pool.most / 3))
  }

  read(call: Call): void {
    let chosen = this.#choose()
    const isFew = this.#shared.length < this.#most
    if (chosen === undefined || (chosen.calls.size >= enough && isFew)) {
      const free = this.#takeFree()
      if (free === undefined) this.#grow(call, chosen === undefined)
      chosen = free ?? chosen
    }
    if (chosen !== undefined) {
      chosen.send(call)
      this.#look()
    }
  }

  /** The one with the least in flight. While others wait for connections no more than one is kept from them. */
  #choose(): PooledConnection | undefined {
    const isScarce = this.#pool.waiting > (this.#isGrowing ? 1 : 0)
    // The only one there may be is had in turn.
    if (isScarce && this.#pool.most === 1) return undefined
    let chosen: PooledConnection | undefined
    for (const connection of this.#shared) {
      if (connection.isBroken) continue
      if (chosen !== undefined && isScarce) break
      if (chosen === undefined || connection.calls.size < chosen.calls.size) chosen = connection
    }
    return chosen
  }

  #takeFree(): PooledConnection | undefined {
    const free = this.#pool.take()
    if (free !== undefined) this.#share(free)
    return free
  }

  /** Waits for a connection, or opens one. */
  #grow(call: Call, waits: boolean): void {
    if (waits) this.#early.push(call)
    if (this.#isGrowing) return
    this.#isGrowing = true
    this.#pool.wait({
      take: (connection) => {
        this.#isGrowing = false
        const early = this.#early.splice(0)
        if (early.length === 0) {
          this.#pool.release(connection)
          return
        }
        this.#share(connection)
        connection.sendAll(early)
        this.#look()
      },
      fail: (error) => {
        this.#isGrowing = false
        for (const call of this.#early.splice(0)) call.unsent(error)
      },
    })
  }

  #share(connection: PooledConnection): void {
    this.#shared.push(connection)
    connection.seen = undefined
    connection.onIdle = this.#onIdle
  }

  #forget(connection: PooledConnection): void {
    const place = this.#shared.indexOf(connection)
    if (place >= 0) this.#shared.splice(place, 1)
  }

  /** Looks from time to time while something is in flight. */
  #look(): void {
    this.#looking ??= setInterval(() => {
      if (this.#shared.length === 0) {
        clearInterval(this.#looking)
        this.#looking = undefined
      }
      for (const connection of [...this.#shared]) this.#lookAt(connection)
    }, lookTime).unref()
  }

  #lookAt(connection: PooledConnection): void {
    const [first] = connection.calls
    const isLong = first !== undefined && first === connection.seen
    connection.seen = first
    if (!isLong) return
    this.#forget(connection)
    connection.onIdle = (free) => {
      this.#pool.release(free)
    }
    for (const call of connection.calls) if (call !== first) call.moveOn()
    first.stay(connection)
  }
}
