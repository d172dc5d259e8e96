/**
 * A primary that did not answer at the start, while a replica did: the application starts read-only, and tries the
 * primary again whenever it is needed.
 */
import type { Catalogue } from '../../contract/catalogue.js'
import type { BeginOptions } from '../../contract/begin-options.js'
import type { ChannelHandlers, ChannelListener } from '../../contract/channel-listener.js'
import type { Dialect } from '../../contract/dialect.js'
import type {
  Answers,
  ClientReading,
  ClientWriting,
  Engine,
  EngineChannel,
  PoolState,
  Runner,
  SchemaChangeOptions,
  Statement,
  TransactionRunner,
  Values,
  Wanted,
} from '../../contract/engine.js'
import { EngineFault } from '../../contract/engine-fault.js'
import { writesOn } from '../../client-writes.js'

/** Milliseconds between two attempts. */
const pause = 1000

export class AbsentPrimary implements Engine {
  readonly dialect: Dialect
  readonly driver: string
  readonly changesPiecemeal: boolean
  readonly channel: EngineChannel
  readonly heartbeat: NonNullable<Engine['heartbeat']>
  readonly #open: () => Promise<Engine>
  readonly #replica: Engine
  #engine: Engine | undefined
  #opening: Promise<Engine> | undefined
  #triedAt = performance.now()

  /**
   * @param replica answers what can be known without the primary, and is closed with it
   * @param heartbeat connects by itself
   */
  constructor(
    open: () => Promise<Engine>,
    replica: Engine,
    heartbeat: NonNullable<Engine['heartbeat']>,
  ) {
    this.#open = open
    this.heartbeat = heartbeat
    this.#replica = replica
    this.dialect = replica.dialect
    this.driver = replica.driver
    this.changesPiecemeal = replica.changesPiecemeal
    const channel = async (): Promise<EngineChannel | undefined> => (await this.#primary()).channel
    this.channel = {
      send: async (runner, messages) => (await channel())?.send(runner, messages),
      topics: async (runner, but) => (await (await channel())?.topics(runner, but)) ?? new Set(),
      listen: (handlers) => new LateListener(channel, handlers),
    }
  }

  /** Components that start meanwhile create no tables. */
  get isReadOnly(): boolean {
    return this.#engine === undefined || this.#engine.isReadOnly === true
  }

  async run<W extends Wanted>(
    statement: Statement,
    values: Values,
    wanted: W,
  ): Promise<Answers[W]> {
    return (await this.#primary()).run(statement, values, wanted)
  }

  clientReads(reading: ClientReading): Runner {
    return this.#engine?.clientReads?.(reading) ?? this
  }

  clientWrites(writing: ClientWriting): Runner {
    return this.#engine === undefined ? this : writesOn(this.#engine, writing)
  }

  async begin(options?: BeginOptions): Promise<TransactionRunner> {
    return (await this.#primary()).begin(options)
  }

  async changeSchema<T>(
    work: (runner: Runner) => Promise<T>,
    options?: SchemaChangeOptions,
  ): Promise<T> {
    return (await this.#primary()).changeSchema(work, options)
  }

  catalogue(runner: Runner, names?: readonly string[]): Promise<Catalogue> {
    if (this.#engine !== undefined) return this.#engine.catalogue(runner, names)
    return this.#replica.catalogue(this.#replica, names)
  }

  async tableSizes(tables: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return (this.#engine ?? this.#replica).tableSizes(tables)
  }

  pool(): PoolState {
    return this.#engine?.pool?.() ?? { most: 0, open: 0, idle: 0, waiting: 0 }
  }

  async close(): Promise<void> {
    await this.#opening?.catch(() => undefined)
    await this.#engine?.close()
    await this.#replica.close()
  }

  async #primary(): Promise<Engine> {
    if (this.#engine !== undefined) return this.#engine
    const isSoon = performance.now() - this.#triedAt < pause
    if (isSoon && this.#opening === undefined) throw absent(undefined)
    this.#triedAt = performance.now()
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined
    })
    try {
      return (this.#engine = await this.#opening)
    } catch (error) {
      throw absent(error)
    }
  }
}

function absent(cause: unknown): EngineFault {
  return new EngineFault('unavailable', 'The primary of the database does not answer.', cause)
}

class LateListener implements ChannelListener {
  readonly #channel: () => Promise<EngineChannel | undefined>
  readonly #handlers: ChannelHandlers
  #inner: ChannelListener | undefined

  constructor(channel: () => Promise<EngineChannel | undefined>, handlers: ChannelHandlers) {
    this.#channel = channel
    this.#handlers = handlers
  }

  get processId(): number | undefined {
    return this.#inner?.processId
  }

  async listenTo(topics: ReadonlySet<number>): Promise<void> {
    if (this.#inner === undefined && topics.size === 0) return
    this.#inner ??= (await this.#channel())?.listen(this.#handlers)
    await this.#inner?.listenTo(topics)
  }

  async close(): Promise<void> {
    await this.#inner?.close()
  }
}
