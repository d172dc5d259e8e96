/** Opens a primary with its replicas. Source: PostgreSQL, Hot Standby; System Administration Functions, Recovery. */

import type { Catalogue } from '../../contract/table-schema.js'
import type {
  BeginOptions,
  Results,
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
  ResultKind,
  ChannelHandlers,
  ChannelListener,
  TableSize,
} from '../../contract/engine.js'
import type { Dialect } from '../../contract/dialect.js'
import { EngineError } from '../../contract/engine-error.js'
import { clientWritesOf } from '../../client-writes.js'
import type { Heartbeat, HeartbeatOptions } from '../../contract/heartbeat.js'
import { loadDriver } from '../driver.js'
import type { PostgresOptions } from '../options.js'
import { openPostgres } from '../postgres.js'
import { startPostgresHeartbeat } from '../session.js'
import { PositionProbe, Replica } from './replica.js'
import { ReplicaSet } from './replica-set.js'
import { ReplicatedEngine } from './replicated-engine.js'

/** Milliseconds between two attempts to connect to the primary. */
const retryDelay = 1000

/**
 * A primary that was unreachable at the start, while a replica was not. The application starts read-only, and connects to
 * the primary when it is needed.
 */
class UnreachablePrimary implements Engine {
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
   * @param replica provides the dialect and the catalogue until the primary is open, and is closed with it
   * @param heartbeat opens its own connection
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
      topics: async (runner, exceptProcess) =>
        (await (await channel())?.topics(runner, exceptProcess)) ?? new Set(),
      listen: (handlers) => new DeferredListener(channel, handlers),
    }
  }

  /** True until the primary is open, so that components create no tables. */
  get isReadOnly(): boolean {
    return this.#engine === undefined || this.#engine.isReadOnly === true
  }

  async run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultKind: W,
  ): Promise<Results[W]> {
    return (await this.#primary()).run(statement, values, resultKind)
  }

  clientReads(reading: ClientReading): Runner {
    return this.#engine?.clientReads?.(reading) ?? this
  }

  clientWrites(writing: ClientWriting): Runner {
    return this.#engine === undefined ? this : clientWritesOf(this.#engine, writing)
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

  async tableSizes(tables: readonly string[]): Promise<ReadonlyMap<string, TableSize>> {
    return (this.#engine ?? this.#replica).tableSizes(tables)
  }

  pool(): PoolState {
    return this.#engine?.pool?.() ?? { maxConnections: 0, open: 0, idle: 0, waiting: 0 }
  }

  async close(): Promise<void> {
    await this.#opening?.catch(() => undefined)
    await this.#engine?.close()
    await this.#replica.close()
  }

  async #primary(): Promise<Engine> {
    if (this.#engine !== undefined) return this.#engine
    const isTooSoon = performance.now() - this.#triedAt < retryDelay
    if (isTooSoon && this.#opening === undefined) throw unreachableError(undefined)
    this.#triedAt = performance.now()
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined
    })
    try {
      return (this.#engine = await this.#opening)
    } catch (error) {
      throw unreachableError(error)
    }
  }
}

function unreachableError(cause: unknown): EngineError {
  return new EngineError('unavailable', 'The primary of the database does not respond.', cause)
}

class DeferredListener implements ChannelListener {
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

export interface ReplicatedOptions {
  readonly primary: PostgresOptions
  readonly replicas: readonly PostgresOptions[]
  /** The maximum lag of a replica in milliseconds. */
  readonly maxLag: number
}

/** The minimum timeout, in milliseconds, for reading a server's position. */
const minProbeTimeout = 1000

/** Unreachable replicas are used once they respond. @throws {DeclarationError} the primary cannot be reached */
export async function openReplicated(options: ReplicatedOptions): Promise<Engine> {
  const { primary, maxLag } = options
  const { log } = primary
  const engine = await openPrimary(options)
  const driver = await loadDriver()
  const timeout = Math.max(minProbeTimeout, maxLag)
  const probe = new PositionProbe(driver, primary, timeout)
  const replicas = options.replicas.map((one) => {
    // For replicas, the features that a pooler hides are not needed.
    const settings = { ...one, direct: one.direct ?? one.url }
    const replicaProbe = new PositionProbe(driver, settings, timeout)
    return new Replica({
      name: new URL(one.url).host,
      log,
      open: () => openPostgres(settings),
      readPosition: () => replicaProbe.read(),
      close: () => {
        replicaProbe.close()
      },
    })
  })
  const set = new ReplicaSet({
    replicas,
    readPrimaryPosition: () => probe.read(),
    closePrimary: () => {
      probe.close()
    },
    maxLag,
    log,
  })
  await set.start()
  return new ReplicatedEngine(engine, set)
}

/** @throws {DeclarationError} the primary refuses the connection, or it does not respond and there is no replica */
async function openPrimary({ primary, replicas }: ReplicatedOptions): Promise<Engine> {
  try {
    return await openPostgres(primary)
  } catch (error) {
    const replica = isUnreachable(error) ? await openFirst(replicas) : undefined
    if (replica === undefined) throw error
    primary.log.warn(
      { err: error },
      'the primary of the database does not respond: started read-only',
    )
    const heartbeat = (options: HeartbeatOptions): Heartbeat =>
      startPostgresHeartbeat(primary, options)
    return new UnreachablePrimary(() => openPostgres(primary), replica, heartbeat)
  }
}

async function openFirst(replicas: readonly PostgresOptions[]): Promise<Engine | undefined> {
  for (const options of replicas) {
    const engine = await openPostgres(options).catch(() => undefined)
    if (engine?.isReadOnly === true) return engine
    await engine?.close()
  }
  return undefined
}

/** Whether a later attempt may succeed. A wrong name or password would not become right later. */
function isUnreachable(error: unknown): boolean {
  const { cause } = error as { readonly cause?: unknown }
  const { code, message } = (cause ?? {}) as { readonly code?: unknown; readonly message?: unknown }
  if (typeof code === 'string') {
    return /^(?:ECONNREFUSED|ECONNRESET|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|57P0\d)$/.test(code)
  }
  return typeof message === 'string' && /timeout|terminated/i.test(message)
}
