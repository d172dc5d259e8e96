/** Applications that share a database like several processes, each with a clock that tests can move. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  bootstrap,
  Clock,
  Database,
  Module,
  type Application,
  type BootstrapOptions,
  type ModuleOptions,
} from 'filigree'
import { makePair } from '../auth/key-pair.js'
import { reusing } from '../records/both-engines.js'
import { startPostgres, type PostgresServer } from '../records/postgres-server.js'

/** The middle of the second in which the suite began. */
const startTime = Math.floor(Date.now() / 1000) * 1000 + 500

/**
 * The clock of one process. It stands still until a test moves it, so that no second begins between two requests. The
 * time of the database follows it. The middle of a second leaves half a second for the error of that.
 */
export class ProcessClock extends Clock {
  /** Milliseconds since `startTime`. */
  by = 0
  override now(): number {
    return startTime + this.by
  }
  override moved(): number {
    return this.now() - super.now()
  }
}

class UsesDatabase {
  static readonly inject = [Database]
}

export const engines = ['SQLite', 'PostgreSQL'] as const

/** The two applications of a suite, and their database. */
export class Processes {
  readonly clocks = [new ProcessClock(), new ProcessClock()] as const
  apps: Application[] = []
  readonly #server: PostgresServer
  readonly #openEmpty: () => Promise<string>
  readonly #folder = mkdtempSync(join(tmpdir(), 'filigree-processes-'))
  readonly #env = { APP_PRIVATE_KEY: makePair().privatePem }
  #files = 0

  private constructor(server: PostgresServer) {
    this.#server = server
    this.#openEmpty = reusing(() => server.createDatabase())
  }

  static async open(): Promise<Processes> {
    return new Processes(await startPostgres())
  }

  get first(): Application {
    return this.apps[0] as Application
  }

  get second(): Application {
    return this.apps[1] as Application
  }

  advance(seconds: number): void {
    for (const clock of this.clocks) clock.by += seconds * 1000
  }

  /** @param engine `memory` starts one application without a database */
  async start(
    engine: 'memory' | 'SQLite' | 'PostgreSQL',
    controllers: NonNullable<ModuleOptions['controllers']>,
    options: BootstrapOptions = {},
  ): Promise<void> {
    for (const clock of this.clocks) clock.by = 0
    @Module({ controllers, providers: engine === 'memory' ? [] : [UsesDatabase] })
    class ProcessModule {}
    const database = await this.#database(engine)
    const clocks = engine === 'memory' ? this.clocks.slice(0, 1) : this.clocks
    for (const clock of clocks)
      this.apps.push(
        await bootstrap(ProcessModule, {
          ...{ listen: false, logger: false, env: this.#env, override: [[Clock, clock]] },
          ...database,
          ...options,
        }),
      )
  }

  async stop(): Promise<void> {
    await Promise.all(this.apps.splice(0).map((app) => app.close()))
  }

  async close(): Promise<void> {
    await this.#server.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #database(engine: string): Promise<{ database?: string }> {
    if (engine === 'memory') return {}
    if (engine === 'PostgreSQL') return { database: await this.#openEmpty() }
    return { database: `sqlite:${join(this.#folder, `${++this.#files}.db`)}` }
  }
}
