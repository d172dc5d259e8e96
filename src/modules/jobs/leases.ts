/** Renews the leases of what runs here, by a thread; hears what was cancelled, lost, or taken back from others. */
import type { Heartbeat, SqlRow } from '../../index.js'
import { heartbeats, recover } from './end-rows.js'
import { fieldsOf } from './running-job.js'
import type { Runs } from './runs.js'
import { renewal, toRecovered, type Recovered } from './stored-job.js'
import type { Workplace } from './workplace.js'

export interface LeasesParts {
  readonly workplace: Workplace
  readonly worker: string
  readonly runs: Runs
  /** There may be jobs again. */
  readonly wake: () => void
}

export class Leases {
  readonly #parts: LeasesParts
  #heartbeat: Heartbeat | undefined
  #heardAt = -Infinity

  constructor(parts: LeasesParts) {
    this.#parts = parts
  }

  /** The thread beats while something runs. */
  keep(): void {
    if (this.#heartbeat !== undefined) return
    this.#heardAt = -Infinity
    const { workplace, worker } = this.#parts
    const { table, log } = workplace
    this.#heartbeat = table.database.heartbeat(heartbeats(table, worker), {
      every: renewal,
      onRows: (rows) => {
        this.#heed(rows)
      },
      onError: (err) => {
        log.warn({ err }, 'the leases of running jobs could not be renewed')
      },
    })
  }

  async stop(): Promise<void> {
    const heartbeat = this.#heartbeat
    this.#heartbeat = undefined
    await heartbeat?.stop()
  }

  /** Takes back what other processes have lost. */
  async recover(): Promise<void> {
    this.#tell(await recover(this.#parts.workplace.table))
  }

  #heed([renewed = [], , recovered = []]: readonly (readonly SqlRow[])[]): void {
    const { runs } = this.#parts
    const still = new Map(renewed.map((row) => [Number(row[0]), row]))
    const before = this.#heardAt
    this.#heardAt = performance.now()
    for (const running of [...runs.places.all]) {
      const [, claims, isCancelled] = still.get(running.taken.id) ?? []
      if (Number(claims) === running.taken.claims) {
        if (Number(isCancelled) === 1) runs.stop(running, 'cancelled')
        // The thread may have asked before it was taken.
      } else if (running.began < before) runs.lose(running)
    }
    this.#tell(recovered.map(toRecovered))
    // Until the next job.
    if (runs.places.size === 0) void this.stop()
  }

  #tell(recovered: readonly Recovered[]): void {
    if (recovered.length === 0) return
    const { workplace, wake } = this.#parts
    for (const one of recovered) {
      const what = one.state === 'waiting' ? 'it will run again' : `it is ${one.state}`
      const details = { ...fieldsOf(one), state: one.state }
      workplace.log.warn(details, `the lease of a job ended: ${what}`)
    }
    wake()
    const isScheduled = ({ name, state }: Recovered): boolean =>
      state !== 'waiting' && workplace.known.get(name)?.schedule !== undefined
    if (recovered.some(isScheduled)) void workplace.guard(() => workplace.schedules.keep())
  }
}
