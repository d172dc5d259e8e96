/**
 * Lists and counts of clients that are known to be quick, by experience: what has run often and was never slow lately. They
 * share few connections, many statements at once, which costs a third less than a connection for each. Of what turns out to
 * be slow after all, the next ones have a connection each again, in turns.
 */

import type { Statement } from '../contract/engine.js'
import type { Call } from './call.js'
import type { LongReads } from './slow-read-detector.js'
import type { PooledConnection } from './pooled-connection.js'
import type { ConnectionPool } from './pool.js'
import type { ReadTurns, TurnTaker } from './read-slots.js'

/**
 * Brief reads of all requests on few connections, each with many statements at once. A read that turns out to be slow
 * keeps its connection for itself: those behind it move elsewhere, so that they need not wait, and cancelling it on the
 * server affects no other. Of one statement that is slow few run at once, since somebody may hold its table: the others wait
 * for them and keep no connection.
 */

/** The number of running statements from which another connection is shared. */
const enough = 8
/** Slow calls of one statement that have a connection each. */
const mostSlow = 2
/** Milliseconds between two looks. Of a statement that is first at two of them it is asked whether it is long. */
const lookTime = 50

/** Is told what becomes of the connections that are shared. */
interface SharingWatcher {
  shared(): void
  idle(): void
  /** A statement is slow, and so its connection is no longer shared. */
  slow(statement: Statement): void
}

export class SharedReads {
  readonly #pool: ConnectionPool
  readonly #long: LongReads
  readonly #most: number
  readonly #watcher: SharingWatcher | undefined
  readonly #shared: PooledConnection[] = []
  /** Calls that came while there was no connection. */
  #early: Call[] = []
  readonly #slow = new Map<Statement, { running: number; readonly waiting: Call[] }>()
  #isGrowing = false
  #looking: NodeJS.Timeout | undefined
  readonly #onIdle = (connection: PooledConnection): void => {
    this.#forget(connection)
    this.#pool.release(connection)
    this.#watcher?.idle()
  }

  constructor(pool: ConnectionPool, long: LongReads, watcher?: SharingWatcher) {
    this.#pool = pool
    this.#long = long
    this.#watcher = watcher
    this.#most = Math.max(1, Math.floor(pool.most / 3))
  }

  read(call: Call): void {
    const slow = this.#slow.get(call.statement)
    if (slow !== undefined && slow.running >= mostSlow) slow.waiting.push(call)
    else this.#send(call)
  }

  #send(call: Call): void {
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

  /** The connection with the fewest statements. While others wait for connections, only one is shared. */
  #choose(): PooledConnection | undefined {
    const isScarce = this.#pool.waiting > (this.#isGrowing ? 1 : 0)
    // A single connection is used in turns.
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
    this.#pool.waitAhead({
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
    this.#watcher?.shared()
    connection.seen = undefined
    connection.onIdle = this.#onIdle
  }

  #forget(connection: PooledConnection): void {
    const place = this.#shared.indexOf(connection)
    if (place >= 0) this.#shared.splice(place, 1)
  }

  /** Looks regularly while statements are running. */
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
    const takesItsTime = first !== undefined && first === connection.seen
    connection.seen = first
    if (!takesItsTime) return
    this.#long.doubt(connection, first, () => {
      this.#leaveAlone(connection, first)
    })
  }

  /** The long one keeps the connection; those behind it move on. */
  #leaveAlone(connection: PooledConnection, long: Call): void {
    if (!this.#shared.includes(connection)) return
    this.#forget(connection)
    const { statement } = long
    const slow = this.#slow.get(statement) ?? { running: 0, waiting: [] }
    this.#slow.set(statement, slow)
    slow.running++
    this.#watcher?.slow(statement)
    connection.onIdle = (free) => {
      this.#pool.release(free)
    }
    long.stay(connection)
    const onIdle = connection.onIdle
    connection.onIdle = (free) => {
      this.#endSlow(statement)
      onIdle(free)
    }
    for (const call of connection.calls) if (call !== long) call.moveOn()
  }

  /** One that waited goes, and all of them once no slow one is left. */
  #endSlow(statement: Statement): void {
    const slow = this.#slow.get(statement)
    if (slow === undefined) return
    slow.running--
    if (slow.running === 0) this.#slow.delete(statement)
    const most = slow.running === 0 ? slow.waiting.length : 1
    for (const call of slow.waiting.splice(0, most)) call.moveOn()
  }
}

/** Of fewer connections none is left for them beside long reads, reads by key and changes. */
const leastPool = 6
/** So many runs make experience. */
const enoughRuns = 32
/** Milliseconds for which a slow one is remembered. */
const slowLasts = 10_000
/** Milliseconds between two looks. Of a statement that runs at two of them it is asked whether it is long. */
const watchInterval = 50

interface Experience {
  runs: number
  slowAt: number
}

export class QuickReads extends SharedReads {
  readonly #long: LongReads
  readonly #mayShare: boolean
  readonly #known = new WeakMap<Statement, Experience>()
  /** With reads of one request each. */
  readonly #watched = new Set<PooledConnection>()
  #watching: NodeJS.Timeout | undefined

  /** @param turns their connections count among those of long reads, which get fewer meanwhile; they wait for none */
  constructor(pool: ConnectionPool, long: LongReads, turns: ReadTurns) {
    const taker: TurnTaker = { inUse: 0, isOver: false }
    super(pool, long, {
      shared: () => {
        turns.count(taker, 1)
      },
      idle: () => {
        turns.free(taker)
      },
      slow: (statement) => {
        turns.count(taker, -1)
        this.#noteSlow(statement)
      },
    })
    this.#long = long
    this.#mayShare = pool.most >= leastPool
  }

  /** Said once for each run. */
  isQuick(statement: Statement): boolean {
    if (!this.#mayShare) return false
    const known = this.#known.get(statement)
    if (known === undefined) {
      this.#known.set(statement, { runs: 1, slowAt: -Infinity })
      return false
    }
    if (known.runs < enoughRuns) {
      known.runs++
      return false
    }
    return known.slowAt === -Infinity || performance.now() - known.slowAt > slowLasts
  }

  /** Learns what is slow on a connection, until it is `unwatch`ed. */
  watch(connection: PooledConnection): void {
    connection.seen = undefined
    this.#watched.add(connection)
    this.#watching ??= setInterval(() => {
      this.#lookAtWatched()
    }, watchInterval).unref()
  }

  unwatch(connection: PooledConnection): void {
    this.#watched.delete(connection)
  }

  #lookAtWatched(): void {
    if (this.#watched.size === 0) {
      clearInterval(this.#watching)
      this.#watching = undefined
    }
    for (const connection of this.#watched) {
      const [first] = connection.calls
      const takesItsTime = first !== undefined && first === connection.seen
      connection.seen = first
      if (!takesItsTime) continue
      this.#long.doubt(connection, first, () => {
        this.#noteSlow(first.statement)
      })
    }
  }

  #noteSlow(statement: Statement): void {
    const known = this.#known.get(statement)
    if (known !== undefined) known.slowAt = performance.now()
  }
}
