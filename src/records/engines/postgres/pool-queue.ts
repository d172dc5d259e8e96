/**
 * Waiting for a connection of a pool that is in use. The driver gives up after the time that connecting may take; while others
 * come and go that says nothing of the database, and who waits goes on waiting. Source: node-postgres, Pool.
 */
import { EngineFault } from '../engine.js'
import type { Client, Pool } from './connection.js'
import { toPostgresFault } from './faults.js'
import { onLoss } from './transaction.js'

/** Milliseconds, where nobody says. As the time for handlers. */
const longest = 30_000

export class PoolQueue {
  readonly #pool: Pool
  /** Milliseconds after which the driver gives up. */
  readonly #wait: number
  /** When a connection was given back last. */
  #moved = 0

  constructor(pool: Pool, wait = 5000) {
    this.#pool = pool
    this.#wait = wait
    pool.on('release', () => {
      this.#moved = performance.now()
    })
  }

  /**
   * @param patience milliseconds to wait while the others move
   * @returns a connection, to be let go by `letGo`
   * @throws {EngineFault} `unavailable`: none could be opened, or none came back
   */
  async take(patience = longest): Promise<Client> {
    const end = performance.now() + patience
    for (;;) {
      try {
        const client = await this.#pool.connect()
        client.on('error', onLoss)
        return client
      } catch (error) {
        if (!this.#goesOn(error, end)) throw toPostgresFault(error)
      }
    }
  }

  /** Runs again what got no connection while others did, and so was not sent at all. @throws what fails otherwise */
  async again<T>(failure: unknown, run: () => Promise<T>): Promise<T> {
    const end = performance.now() + longest
    let error = failure
    while (error instanceof EngineFault && this.#goesOn(error.cause, end)) {
      try {
        return await run()
      } catch (next) {
        error = next
      }
    }
    throw error
  }

  #goesOn(error: unknown, end: number): boolean {
    const now = performance.now()
    return isQueueTimeout(error) && now < end && now - this.#moved < this.#wait
  }
}

/** Of the pool alone; a connection that could not be opened in time is told otherwise. */
function isQueueTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === 'timeout exceeded when trying to connect'
}
