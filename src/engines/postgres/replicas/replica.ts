/**
 * A replica: it is asked repeatedly for its position, left out while it does not answer, and used again when it does.
 */
import type { Log } from '../../../core/log.js'
import type { Engine } from '../../contract/engine.js'
import type { Position } from './position-probe.js'

export interface ReplicaParts {
  /** Its address without user and password. */
  readonly name: string
  readonly log: Log
  open(): Promise<Engine>
  /** Asks for its position. */
  ask(): Promise<Position>
  close(): void
}

export class Replica {
  readonly name: string
  /** Set once it was reached for the first time. */
  engine: Engine | undefined
  /** True if it has answered, and no statement has failed since because it was unreachable. */
  isUp = false
  lsn = 0n
  /** Milliseconds: everything committed before is visible on it. */
  shownUntil = -Infinity
  /** The number of its running statements. */
  running = 0
  readonly #parts: ReplicaParts
  #told: 'up' | 'down' | 'no replica' | undefined
  #isClosed = false

  constructor(parts: ReplicaParts) {
    this.name = parts.name
    this.#parts = parts
  }

  /** @returns whether it answered and is a replica */
  async look(): Promise<boolean> {
    try {
      const { isReplica, lsn } = await this.#parts.ask()
      if (!isReplica) {
        this.#leaveOut('no replica', 'it takes writes itself')
        return false
      }
      this.engine ??= await this.#parts.open()
      if (this.#isClosed) await this.engine.close()
      this.lsn = lsn
      this.isUp = !this.#isClosed
      if (this.#told === 'down') {
        this.#parts.log.info({ replica: this.name }, 'a replica of the database is back')
      }
      this.#told = 'up'
      return true
    } catch (error) {
      this.#leaveOut('down', error)
      return false
    }
  }

  /** A statement failed because the server is unreachable. */
  lose(error: unknown): void {
    this.#leaveOut('down', error)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.isUp = false
    this.#parts.close()
    await this.engine?.close()
  }

  #leaveOut(why: 'down' | 'no replica', err: unknown): void {
    this.isUp = false
    if (this.#told === why || this.#isClosed) return
    this.#told = why
    const { log } = this.#parts
    if (why === 'down') {
      log.warn(
        { err, replica: this.name },
        'a replica of the database was lost; reads go elsewhere',
      )
    } else {
      log.error({ replica: this.name }, 'an address among the replicas is not a replica: left out')
    }
  }
}
