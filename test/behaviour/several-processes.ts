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
import { startPostgres, type PostgresServer } from '../records/postgres-server.js'

/** The clock of one process. The time of the database is moved by the same amount. */
export class ProcessClock extends Clock {
  by = 0
  override now(): number {
    return super.now() + this.by
  }
  override moved(): number {
    return this.by
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
  readonly #folder = mkdtempSync(join(tmpdir(), 'filigree-processes-'))
  readonly #env = { APP_PRIVATE_KEY: makePair().privatePem }
  #files = 0

  private constructor(server: PostgresServer) {
    this.#server = server
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
    if (engine === 'PostgreSQL') return { database: await this.#server.createDatabase() }
    return { database: `sqlite:${join(this.#folder, `${++this.#files}.db`)}` }
  }
}
