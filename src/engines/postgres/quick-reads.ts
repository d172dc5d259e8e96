/**
 * Lists and counts of clients that are known to be quick, by experience: what has run often and was never slow lately. They
 * share few connections, many statements at once, which costs a third less than a connection for each. Of what turns out to
 * be slow after all, the next ones have a connection each again, in turns.
 */
import type { Statement } from '../contract/engine.js'
import type { PooledConnection } from './pooled-connection.js'
import type { LongReads } from './long-reads.js'
import type { ConnectionPool } from './pool.js'
import type { ReadTurns, TurnTaker } from './read-turns.js'
import { SharedReads } from './shared-reads.js'

/** Of fewer connections none is left for them beside long reads, reads by key and changes. */
const leastPool = 6
/** So many runs make experience. */
const enoughRuns = 32
/** Milliseconds for which a slow one is remembered. */
const slowLasts = 10_000
/** Milliseconds between two looks. Of a statement that runs at two of them it is asked whether it is long. */
const lookTime = 50

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
    }, lookTime).unref()
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
