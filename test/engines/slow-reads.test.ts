/** Which reads on PostgreSQL are long: those during which enough others are answered, whatever time that takes. */
import { describe, expect, it } from '@jest/globals'
import type { Call } from '../../src/engines/postgres/call.js'
import { SlowReadDetector } from '../../src/engines/postgres/slow-read-detector.js'
import type { ConnectionPool, Waiter } from '../../src/engines/postgres/pool.js'
import type { PooledConnection } from '../../src/engines/postgres/pooled-connection.js'

/** A pool whose server answers others when a test says so. */
class Ground {
  readonly found: string[] = []
  readonly released: unknown[] = []
  readonly reads: SlowReadDetector
  asked = 0
  #question: Call | undefined
  readonly #free = {
    isBroken: false,
    callEnded: () => undefined,
    send: (question: Call) => {
      this.asked++
      this.#question = question
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
    this.reads = new SlowReadDetector(pool as unknown as ConnectionPool)
  }

  /** A read that runs, first on a connection of its own. @returns what ends it */
  doubt(name: string): () => void {
    const call: unknown = { name }
    const calls = new Set([call])
    this.reads.suspect({ calls } as unknown as PooledConnection, call as Call, () => {
      this.found.push(name)
    })
    return () => {
      calls.clear()
    }
  }

  async answer(times: number): Promise<void> {
    for (let time = 0; time < times; time++) {
      this.#question?.started(this.#free)
      this.#question?.handleReadyForQuery()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}

describe('a read that takes its time', () => {
  it('is long once sixteen others are answered meanwhile', async () => {
    const ground = new Ground()
    ground.doubt('one')
    await ground.answer(15)
    expect(ground.found).toEqual([])
    await ground.answer(1)
    expect([ground.found, ground.released.length]).toEqual([['one'], 1])
  })

  it('is none where the others wait as long, and nobody asks on once it is over', async () => {
    const ground = new Ground()
    const end = ground.doubt('one')
    const other = ground.doubt('other')
    expect(ground.asked).toBe(1)
    await ground.answer(10)
    end()
    other()
    await ground.answer(1)
    expect([ground.found, ground.asked, ground.released.length]).toEqual([[], 11, 1])
  })
})
