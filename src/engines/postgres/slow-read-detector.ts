/**
 * Tells which reads are long: those that still run when so many other questions, asked one after the other, have been
 * answered. No clock says it: where the whole machine is slow, the other questions take as long.
 */
import { ownQuestion } from '../contract/statement.js'
import { Call, type CallOwner } from './call.js'
import type { ConnectionPool } from './pool.js'
import type { PooledConnection } from './pooled-connection.js'

/** Answers to others while a read runs that make it a long one. */
const enough = 16

/** Looks at no table, and so waits for nobody. */
const other = ownQuestion('select 1')

interface Doubted {
  readonly connection: PooledConnection
  answers: number
  readonly found: () => void
}

export class LongReads implements CallOwner {
  readonly #pool: ConnectionPool
  readonly #doubted = new Map<Call, Doubted>()
  #isAsking = false

  constructor(pool: ConnectionPool) {
    this.#pool = pool
  }

  /**
   * A read takes its time.
   *
   * @param found called once it is known to be long; never for one that ends before
   */
  doubt(connection: PooledConnection, call: Call, found: () => void): void {
    if (this.#doubted.has(call)) return
    // There is no connection to ask others by.
    if (this.#pool.most === 1) {
      found()
      return
    }
    this.#doubted.set(call, { connection, answers: 0, found })
    if (this.#isAsking) return
    this.#isAsking = true
    this.#pool.waitAhead({
      take: (free) => {
        this.#ask(free)
      },
      fail: () => {
        this.#end()
      },
    })
  }

  failed(call: Call, error: unknown): void {
    call.refuse(error)
  }

  /** Asks until there is no doubt any more. */
  #ask(free: PooledConnection): void {
    this.#forget()
    if (this.#doubted.size === 0 || free.isBroken) {
      this.#end()
      this.#pool.release(free)
      return
    }
    const question = new Call(other, [], 'first', this)
    question.answer().then(
      () => {
        this.#count()
        this.#ask(free)
      },
      () => {
        this.#end()
        this.#pool.release(free)
      },
    )
    free.onIdle = undefined
    free.send(question)
  }

  #forget(): void {
    for (const [call, { connection }] of this.#doubted)
      if (!isFirst(call, connection)) this.#doubted.delete(call)
  }

  #count(): void {
    this.#forget()
    for (const [call, doubted] of this.#doubted) {
      if (++doubted.answers < enough) continue
      this.#doubted.delete(call)
      doubted.found()
    }
  }

  /** Those that are still in doubt are looked at again. */
  #end(): void {
    this.#isAsking = false
    this.#doubted.clear()
  }
}

function isFirst(call: Call, { calls }: PooledConnection): boolean {
  const [first] = calls
  return first === call
}
