/**
 * Selects the server for a read. The position of each replica is read regularly. A replica that lags more than allowed, or
 * that does not have the caller's own writes yet, is skipped. If no replica is left, the primary is used.
 */

import type { Log } from '../../../core/log.js'
import type {
  CurrentCaller,
  EngineCaller,
  OtherProcesses,
  ReplicaState,
} from '../../contract/engine.js'
import type { Position, Replica } from './replica.js'
import { WalHistory } from './wal-history.js'
import { WriteMarks } from './write-marks.js'

export interface ReplicaSetParts {
  readonly replicas: readonly Replica[]
  /** Reads the position of the primary. */
  readonly readPrimaryPosition: () => Promise<Position>
  readonly closePrimary: () => void
  /** The maximum lag of a replica in milliseconds. */
  readonly maxLag: number
  readonly log: Log
}

/** After this many milliseconds without a read, polling stops until the next read. */
const idleAfter = 60_000
/** The minimum time in milliseconds for which writes are remembered. Usable replicas have them sooner. */
const minMarkLifetime = 5000

/** The name for writes without a caller, such as writes of jobs. */
const programNames: readonly string[] = ['']

export class ReplicaSet {
  readonly #parts: ReplicaSetParts
  readonly #history = new WalHistory()
  readonly #marks: WriteMarks
  readonly #interval: number
  #caller: CurrentCaller = () => undefined
  #otherProcesses: OtherProcesses | undefined
  #unsubscribe: (() => void) | undefined
  #isPrimaryUp = false
  /** The timeline of the primary. */
  #timeline: string | undefined
  #usedAt = performance.now()
  #isIdle = true
  #next = 0
  /** Incremented when polling starts, which ends earlier polling loops. */
  #pollGeneration = 0
  readonly #timers = new Set<NodeJS.Timeout>()
  #isClosed = false

  constructor(parts: ReplicaSetParts) {
    this.#parts = parts
    this.#interval = Math.min(1000, Math.max(20, parts.maxLag / 4))
    this.#marks = new WriteMarks(Math.max(minMarkLifetime, 2 * parts.maxLag))
  }

  /** Reads the position of all servers, and starts polling. */
  async start(): Promise<void> {
    await this.#pollPrimary()
    await Promise.all(this.#parts.replicas.map((replica) => this.#pollReplica(replica)))
    this.#startPolling()
  }

  followCallers(caller: CurrentCaller, otherProcesses?: OtherProcesses): void {
    this.#caller = caller
    this.#otherProcesses = otherProcesses
    this.#unsubscribe?.()
    this.#unsubscribe = otherProcesses?.onNotified((names) => {
      this.#marks.add(names, performance.now())
    })
  }

  /** @returns the replica for this read; `undefined` for the primary */
  choose(): Replica | undefined {
    const now = performance.now()
    this.#usedAt = now
    if (this.#isIdle) this.#startPolling()
    const caller = this.#caller()
    if (caller !== undefined && (caller.isFresh || caller.hasWritten)) return undefined
    const required = this.#marks.requiredPosition(caller?.names ?? programNames, now)
    if (required === 'everything') return undefined
    // Without a primary nothing is written, so replicas that were up to date when it was lost stay usable.
    const since = (this.#isPrimaryUp ? now : this.#history.newest) - this.#parts.maxLag
    return this.#idlest(required, since)
  }

  /** @returns a replica that was up to date when the primary was lost; `undefined` if the primary responds */
  fallback(): Replica | undefined {
    if (this.#isPrimaryUp) return undefined
    return this.#idlest(0n, this.#history.newest - this.#parts.maxLag)
  }

  /** Call it when a write has ended, successfully or not. From now on its caller must see it. */
  recordWrite(): void {
    const caller: EngineCaller | undefined = this.#caller()
    this.#marks.add(caller?.ownNames ?? programNames, performance.now())
    if (caller === undefined) return
    caller.hasWritten = true
    this.#otherProcesses?.notify(caller.ownNames)
  }

  /** The state of the connections of each replica. A replica that was never reached has none. */
  get states(): readonly ReplicaState[] {
    return this.#parts.replicas.map(({ name, isUp, engine }) => {
      const { maxConnections = 0, open = 0, idle = 0, waiting = 0 } = engine?.status.pool() ?? {}
      return { name, isUp, maxConnections, open, idle, waiting }
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#unsubscribe?.()
    for (const timer of this.#timers) clearTimeout(timer)
    this.#parts.closePrimary()
    await Promise.all(this.#parts.replicas.map((replica) => replica.close()))
  }

  #idlest(required: bigint, since: number): Replica | undefined {
    const { replicas } = this.#parts
    let best: Replica | undefined
    // Equally busy replicas take turns.
    const first = this.#next++
    for (let index = 0; index < replicas.length; index++) {
      const replica = replicas[(first + index) % replicas.length] as Replica
      if (!replica.isUp || replica.lsn < required || replica.visibleUntil < since) continue
      if (best === undefined || replica.running < best.running) best = replica
    }
    return best
  }

  async #pollPrimary(): Promise<void> {
    const at = performance.now()
    const open = this.#marks.open
    try {
      const position = await this.#parts.readPrimaryPosition()
      this.#addPosition(at, position)
      this.#marks.settle(open, position.lsn)
      this.#isPrimaryUp = true
      for (const replica of this.#parts.replicas) this.#measure(replica)
    } catch {
      // The next statement on the primary reports the error.
      this.#isPrimaryUp = false
    }
  }

  /** Another server has another timeline. Its positions may continue those of the old primary. */
  #addPosition(at: number, { lsn, timeline }: Position): void {
    const isOther = this.#timeline !== undefined && timeline !== this.#timeline
    this.#timeline = timeline
    if (isOther) this.#history.clear()
    const isContinuous = this.#history.add(at, lsn)
    if (isContinuous && !isOther) return
    this.#parts.log.warn({}, anotherPrimary)
    for (const replica of this.#parts.replicas) replica.primaryChanged()
  }

  async #pollReplica(replica: Replica): Promise<void> {
    if (await replica.poll()) this.#measure(replica)
  }

  #measure(replica: Replica): void {
    replica.visibleUntil = replica.followsPrimary
      ? this.#history.visibleUntil(replica.lsn)
      : -Infinity
  }

  #startPolling(): void {
    if (this.#isClosed) return
    this.#isIdle = false
    const generation = ++this.#pollGeneration
    this.#pollRepeatedly(generation, () => this.#pollPrimary())
    for (const replica of this.#parts.replicas)
      this.#pollRepeatedly(generation, () => this.#pollReplica(replica))
  }

  #pollRepeatedly(generation: number, poll: () => Promise<void>): void {
    if (this.#isClosed || generation !== this.#pollGeneration) return
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      this.#isIdle ||= performance.now() - this.#usedAt > idleAfter
      if (this.#isIdle || generation !== this.#pollGeneration) return
      void poll().then(() => {
        this.#pollRepeatedly(generation, poll)
      })
    }, this.#interval)
    this.#timers.add(timer.unref())
  }
}

const anotherPrimary =
  'the primary of the database is another one now: replicas are read again once they follow it'
