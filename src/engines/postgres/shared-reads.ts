/** Shares a few PostgreSQL connections between the short reads of all requests. */
import type { Statement } from '../contract/engine.js'
import type { Call } from './call.js'
import type { SlowReadDetector } from './slow-read-detector.js'
import type { PooledCall, PooledConnection } from './pooled-connection.js'
import type { ConnectionPool } from './pool.js'
import type { ReadSlots, SlotHolder } from './read-slots.js'

/** The number of running statements on a connection above which another one is used too. */
const busyThreshold = 8
/** The maximum number of slow calls of one statement with a connection each. */
const maxSlow = 2
/**
 * Milliseconds between two checks. A statement that is first on its connection in two successive checks may be long,
 * and is examined.
 */
const inspectInterval = 50

/** Is notified of changes to the shared connections. */
interface SharingObserver {
  shared(): void
  idle(): void
  /** A statement is slow, so its connection is no longer shared. */
  slow(statement: Statement): void
}

/**
 * Runs short reads of all requests on a few shared connections, each with many concurrent statements. This costs a third
 * less than a connection for each statement. A read that turns out to be slow gets its connection exclusively: the
 * statements behind it move to other connections, so that they need not wait, and so that a cancel request affects no other
 * statement. Only a few calls of a slow statement run at the same time, because its table may be locked. The others wait
 * for them without a connection.
 */
export class SharedReads {
  readonly #pool: ConnectionPool
  readonly #slowReads: SlowReadDetector
  readonly #maxConnections: number
  readonly #observer: SharingObserver | undefined
  readonly #shared: PooledConnection[] = []
  /** Calls that wait for a first connection. */
  #unsent: Call[] = []
  readonly #slow = new Map<Statement, { running: number; readonly waiting: Call[] }>()
  #isGrowing = false
  #inspectTimer: NodeJS.Timeout | undefined
  readonly #onIdle = (connection: PooledConnection): void => {
    this.#forget(connection)
    this.#pool.release(connection)
    this.#observer?.idle()
  }

  constructor(pool: ConnectionPool, slowReads: SlowReadDetector, observer?: SharingObserver) {
    this.#pool = pool
    this.#slowReads = slowReads
    this.#observer = observer
    this.#maxConnections = Math.max(1, Math.floor(pool.maxConnections / 3))
  }

  read(call: Call): void {
    const slow = this.#slow.get(call.statement)
    if (slow !== undefined && slow.running >= maxSlow) slow.waiting.push(call)
    else this.#send(call)
  }

  #send(call: Call): void {
    let chosen = this.#choose()
    const isFew = this.#shared.length < this.#maxConnections
    if (chosen === undefined || (chosen.calls.size >= busyThreshold && isFew)) {
      const free = this.#takeFree()
      if (free === undefined) this.#grow(call, chosen === undefined)
      chosen = free ?? chosen
    }
    if (chosen !== undefined) {
      chosen.send(call)
      this.#startInspecting()
    }
  }

  /** The connection with the fewest statements. While others wait for connections, only one is shared. */
  #choose(): PooledConnection | undefined {
    const isScarce = this.#pool.waiting > (this.#isGrowing ? 1 : 0)
    // A pool with a single connection is not shared.
    if (isScarce && this.#pool.maxConnections === 1) return undefined
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
  #grow(call: Call, mustWait: boolean): void {
    if (mustWait) this.#unsent.push(call)
    if (this.#isGrowing) return
    this.#isGrowing = true
    this.#pool.waitWithPriority({
      take: (connection) => {
        this.#isGrowing = false
        const unsent = this.#unsent.splice(0)
        if (unsent.length === 0) {
          this.#pool.release(connection)
          return
        }
        this.#share(connection)
        connection.sendAll(unsent)
        this.#startInspecting()
      },
      fail: (error) => {
        this.#isGrowing = false
        for (const call of this.#unsent.splice(0)) call.failUnsent(error)
      },
    })
  }

  #share(connection: PooledConnection): void {
    this.#shared.push(connection)
    this.#observer?.shared()
    connection.lastSeenFirst = undefined
    connection.onIdle = this.#onIdle
  }

  #forget(connection: PooledConnection): void {
    const index = this.#shared.indexOf(connection)
    if (index >= 0) this.#shared.splice(index, 1)
  }

  /** Checks the connections regularly while statements are running. */
  #startInspecting(): void {
    this.#inspectTimer ??= setInterval(() => {
      if (this.#shared.length === 0) {
        clearInterval(this.#inspectTimer)
        this.#inspectTimer = undefined
      }
      for (const connection of [...this.#shared]) this.#inspect(connection)
    }, inspectInterval).unref()
  }

  #inspect(connection: PooledConnection): void {
    const { first } = connection.calls
    const isStillFirst = first !== undefined && first === connection.lastSeenFirst
    connection.lastSeenFirst = first
    if (!isStillFirst) return
    this.#slowReads.suspect(connection, first, () => {
      this.#makeExclusive(connection, first)
    })
  }

  /** Moves the statements behind the slow call to other connections. */
  #makeExclusive(connection: PooledConnection, slowCall: PooledCall): void {
    if (!this.#shared.includes(connection)) return
    this.#forget(connection)
    const { statement } = slowCall
    const slow = this.#slow.get(statement) ?? { running: 0, waiting: [] }
    this.#slow.set(statement, slow)
    slow.running++
    this.#observer?.slow(statement)
    connection.onIdle = (free) => {
      this.#pool.release(free)
    }
    slowCall.becomeExclusive(connection)
    const onIdle = connection.onIdle
    connection.onIdle = (free) => {
      this.#endSlow(statement)
      onIdle(free)
    }
    for (const call of connection.calls.toArray()) if (call !== slowCall) call.reroute()
  }

  /** Starts one waiting call, or all of them if no call of the statement is slow any more. */
  #endSlow(statement: Statement): void {
    const slow = this.#slow.get(statement)
    if (slow === undefined) return
    slow.running--
    if (slow.running === 0) this.#slow.delete(statement)
    const count = slow.running === 0 ? slow.waiting.length : 1
    for (const call of slow.waiting.splice(0, count)) call.reroute()
  }
}

/** The minimum size of the pool. A smaller pool needs its connections for long reads, reads by key and writes. */
const minPool = 6
/** The number of ended runs after which a statement without slow runs is considered quick. */
const minRuns = 32
/** Milliseconds for which a slow run is remembered. */
const slowMemory = 10_000
/**
 * Milliseconds between two checks. A statement that is running in two successive checks may be long, and is examined.
 */
const watchInterval = 50

interface RunHistory {
  /** The number of runs that have ended. */
  runs: number
  slowAt: number
}

/** Shared connections for statements whose earlier runs were quick. */
export class QuickReads extends SharedReads {
  readonly #slowReads: SlowReadDetector
  readonly #mayShare: boolean
  readonly #histories = new WeakMap<Statement, RunHistory>()
  /** Connections with the reads of one request each. */
  readonly #watched = new Map<PooledConnection, readonly PooledCall[]>()
  #watchTimer: NodeJS.Timeout | undefined

  /**
   * @param slots shared connections count as slots of long reads, which get fewer in the meantime, but never wait for
   * one
   */
  constructor(pool: ConnectionPool, slowReads: SlowReadDetector, slots: ReadSlots) {
    const holder: SlotHolder = { client: undefined, inUse: 0, isOver: false }
    super(pool, slowReads, {
      shared: () => {
        slots.count(holder, 1)
      },
      idle: () => {
        slots.release(holder)
      },
      slow: (statement) => {
        slots.count(holder, -1)
        this.#recordSlow(statement)
      },
    })
    this.#slowReads = slowReads
    this.#mayShare = pool.maxConnections >= minPool
  }

  isQuick(statement: Statement): boolean {
    const history = this.#histories.get(statement)
    if (history === undefined || history.runs < minRuns) return false
    return history.slowAt === -Infinity || performance.now() - history.slowAt > slowMemory
  }

  /**
   * Records slow statements on a connection until `unwatch` is called.
   *
   * @param calls the calls of the connection. More may be added
   */
  watch(connection: PooledConnection, calls: readonly PooledCall[]): void {
    if (!this.#mayShare) return
    connection.lastSeenFirst = undefined
    this.#watched.set(connection, calls)
    this.#watchTimer ??= setInterval(() => {
      this.#inspectWatched()
    }, watchInterval).unref()
  }

  /** Counts the calls of a connection as runs of their statements. */
  unwatch(connection: PooledConnection): void {
    const calls = this.#watched.get(connection)
    if (calls === undefined) return
    this.#watched.delete(connection)
    for (const { statement } of calls) this.#historyOf(statement).runs++
  }

  #inspectWatched(): void {
    if (this.#watched.size === 0) {
      clearInterval(this.#watchTimer)
      this.#watchTimer = undefined
    }
    for (const connection of this.#watched.keys()) {
      const { first } = connection.calls
      const isStillFirst = first !== undefined && first === connection.lastSeenFirst
      connection.lastSeenFirst = first
      if (!isStillFirst) continue
      this.#slowReads.suspect(connection, first, () => {
        this.#recordSlow(first.statement)
      })
    }
  }

  #recordSlow(statement: Statement): void {
    this.#historyOf(statement).slowAt = performance.now()
  }

  #historyOf(statement: Statement): RunHistory {
    let history = this.#histories.get(statement)
    if (history === undefined)
      this.#histories.set(statement, (history = { runs: 0, slowAt: -Infinity }))
    return history
  }
}
