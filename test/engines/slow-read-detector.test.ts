/** A PostgreSQL read counts as slow when enough other reads finish while it runs. The elapsed time does not matter. */
import { describe, expect, it } from '@jest/globals'
import type { Call } from '../../src/engines/postgres/call.js'
import { SlowReadDetector } from '../../src/engines/postgres/slow-read-detector.js'
import type { ConnectionPool, Waiter } from '../../src/engines/postgres/pool.js'
import type { PooledConnection } from '../../src/engines/postgres/pooled-connection.js'

/** A detector on a fake pool. The test decides when the server answers the probe queries. */
class FakePool {
  readonly slowReads: string[] = []
  readonly released: unknown[] = []
  readonly detector: SlowReadDetector
  probeCount = 0
  #probe: Call | undefined
  readonly #free = {
    isBroken: false,
    callEnded: () => undefined,
    send: (probe: Call) => {
      this.probeCount++
      this.#probe = probe
    },
  } as unknown as PooledConnection

  constructor() {
    const pool = {
      maxConnections: 10,
      waitWithPriority: (waiter: Waiter) => {
        waiter.take(this.#free)
      },
      release: (connection: unknown) => this.released.push(connection),
    }
    this.detector = new SlowReadDetector(pool as unknown as ConnectionPool)
  }

  /** Starts a read on its own connection. @returns a function that ends the read */
  startRead(name: string): () => void {
    const call: unknown = { name }
    const calls = { first: call as Call | undefined }
    this.detector.suspect({ calls } as unknown as PooledConnection, call as Call, () => {
      this.slowReads.push(name)
    })
    return () => {
      calls.first = undefined
    }
  }

  async answerProbes(times: number): Promise<void> {
    for (let time = 0; time < times; time++) {
      this.#probe?.started(this.#free)
      this.#probe?.handleReadyForQuery()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}

describe('a long-running read', () => {
  it('counts as slow after sixteen other reads were answered', async () => {
    const pool = new FakePool()
    pool.startRead('one')
    await pool.answerProbes(15)
    expect(pool.slowReads).toEqual([])
    await pool.answerProbes(1)
    expect([pool.slowReads, pool.released.length]).toEqual([['one'], 1])
  })

  it('is not slow while the other reads wait too, and probing stops when it ends', async () => {
    const pool = new FakePool()
    const end = pool.startRead('one')
    const other = pool.startRead('other')
    expect(pool.probeCount).toBe(1)
    await pool.answerProbes(10)
    end()
    other()
    await pool.answerProbes(1)
    expect([pool.slowReads, pool.probeCount, pool.released.length]).toEqual([[], 11, 1])
  })
})
