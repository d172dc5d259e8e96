/**
 * Creates and detaches the partitions of records with `partitionBy` each day, in the processes that run jobs. A lock of the
 * database lets one of them do it; the others then find nothing to do.
 */
import type { Database, Log } from '../../index.js'

const dayMs = 24 * 3_600_000

export class PartitionUpkeep {
  readonly #database: Pick<Database, 'maintainPartitions'>
  readonly #log: Pick<Log, 'info' | 'warn' | 'error'>
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> = Promise.resolve()

  constructor(
    database: Pick<Database, 'maintainPartitions'>,
    log: Pick<Log, 'info' | 'warn' | 'error'>,
  ) {
    this.#database = database
    this.#log = log
  }

  /** Begins the first run, which nobody waits for. */
  start(): void {
    this.#running = this.#run()
    this.#timer = setInterval(() => {
      this.#running = this.#run()
    }, dayMs).unref()
  }

  /** Waits for a run. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#running
  }

  async #run(): Promise<void> {
    try {
      for (const {
        table,
        created,
        detached,
        failed,
      } of await this.#database.maintainPartitions()) {
        if (created.length > 0) this.#log.info({ table, created }, 'Partitions were created.')
        if (detached.length > 0)
          this.#log.info({ table, detached }, 'Partitions were detached. They stay as tables.')
        for (const { name, reason } of failed)
          this.#log.warn(
            { table, partition: name, reason },
            `The partition ${name} was not changed.`,
          )
      }
    } catch (err) {
      this.#log.error({ err }, 'The partitions were not maintained. Run npx filigree partitions.')
    }
  }
}
