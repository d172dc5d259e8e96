/**
 * Detects long reads. A read is long if it is still running after a number of small queries, sent one after the other,
 * have been answered. This needs no time limit: if the whole machine is slow, the small queries take longer as well.
 */
import { frameworkQuery } from '../contract/statement.js'
import { Call, type CallOwner } from './call.js'
import type { ConnectionPool } from './pool.js'
import type { PooledCall, PooledConnection } from './pooled-connection.js'

/** The number of answered queries after which a running read is considered long. */
const answersUntilSlow = 16

/** Reads no table, and so waits for no lock. */
const probeStatement = frameworkQuery('select 1')

interface Suspect {
  readonly connection: PooledConnection
  answers: number
  readonly onSlow: () => void
}

export class SlowReadDetector implements CallOwner {
  readonly #pool: ConnectionPool
  readonly #suspects = new Map<PooledCall, Suspect>()
  #isProbing = false

  constructor(pool: ConnectionPool) {
    this.#pool = pool
  }

  /**
   * Observes a read that has been running for some time.
   *
   * @param onSlow called when the read is found to be long; never if it ends before
   */
  suspect(connection: PooledConnection, call: PooledCall, onSlow: () => void): void {
    if (this.#suspects.has(call)) return
    // There is no second connection for the small queries.
    if (this.#pool.maxConnections === 1) {
      onSlow()
      return
    }
    this.#suspects.set(call, { connection, answers: 0, onSlow })
    if (this.#isProbing) return
    this.#isProbing = true
    this.#pool.waitWithPriority({
      take: (free) => {
        this.#probe(free)
      },
      fail: () => {
        this.#end()
      },
    })
  }

  failed(call: Call, error: unknown): void {
    call.reject(error)
  }

  /** Sends queries until each observed read has ended or is found to be long. */
  #probe(free: PooledConnection): void {
    this.#removeFinished()
    if (this.#suspects.size === 0 || free.isBroken) {
      this.#end()
      this.#pool.release(free)
      return
    }
    const probe = new Call(probeStatement, [], 'first', this)
    probe.result().then(
      () => {
        this.#count()
        this.#probe(free)
      },
      () => {
        this.#end()
        this.#pool.release(free)
      },
    )
    free.onIdle = undefined
    free.send(probe)
  }

  #removeFinished(): void {
    for (const [call, { connection }] of this.#suspects)
      if (!isFirst(call, connection)) this.#suspects.delete(call)
  }

  #count(): void {
    this.#removeFinished()
    for (const [call, suspect] of this.#suspects) {
      if (++suspect.answers < answersUntilSlow) continue
      this.#suspects.delete(call)
      suspect.onSlow()
    }
  }

  /** Continues with the reads that are still undecided. */
  #end(): void {
    this.#isProbing = false
    this.#suspects.clear()
  }
}

function isFirst(call: PooledCall, { calls }: PooledConnection): boolean {
  const { first } = calls
  return first === call
}
