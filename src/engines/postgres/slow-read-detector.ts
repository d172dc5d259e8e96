/**
 * Tells which reads are long: those that still run when so many other questions, asked one after the other, have been
 * answered. No clock says it: where the whole machine is slow, the other questions take as long.
 */
import { frameworkQuery } from '../contract/statement.js'
import { Call, type CallOwner } from './call.js'
import type { ConnectionPool } from './pool.js'
import type { PooledConnection } from './pooled-connection.js'

/** Answers to others while a read runs that make it a long one. */
const answersUntilSlow = 16

/** Looks at no table, and so waits for nobody. */
const probeStatement = frameworkQuery('select 1')

interface Suspect {
  readonly connection: PooledConnection
  answers: number
  readonly onSlow: () => void
}

export class SlowReadDetector implements CallOwner {
  readonly #pool: ConnectionPool
  readonly #suspects = new Map<Call, Suspect>()
  #isProbing = false

  constructor(pool: ConnectionPool) {
    this.#pool = pool
  }

  /**
   * A read takes its time.
   *
   * @param onSlow called once it is known to be long; never for one that ends before
   */
  suspect(connection: PooledConnection, call: Call, onSlow: () => void): void {
    if (this.#suspects.has(call)) return
    // There is no connection to ask others by.
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

  /** Asks until there is no doubt any more. */
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

  /** Those that are still in doubt are looked at again. */
  #end(): void {
    this.#isProbing = false
    this.#suspects.clear()
  }
}

function isFirst(call: Call, { calls }: PooledConnection): boolean {
  const [first] = calls
  return first === call
}
