/** Opens a primary with its replicas. Source: PostgreSQL, Hot Standby; System Administration Functions, Recovery. */

import type {
  DatabaseProcesses,
  Engine,
  EngineChannel,
  ChannelHandlers,
  ChannelListener,
} from '../../contract/engine.js'
import { EngineError } from '../../contract/engine-error.js'
import { noPool } from '../../engine-layer.js'
import type { Heartbeat, HeartbeatOptions } from '../../contract/heartbeat.js'
import { readPostgresTypes } from '../catalogue.js'
import { loadDriver } from '../driver.js'
import type { PostgresOptions } from '../options.js'
import { openPostgres } from '../postgres.js'
import { startPostgresHeartbeat } from '../session.js'
import { PositionProbe, Replica } from './replica.js'
import { ReplicaSet } from './replica-set.js'
import { readFromReplicas } from './read-from-replicas.js'

/** Milliseconds between two attempts to connect to the primary. */
const retryDelay = 1000

/** A primary that was unreachable at the start. It is opened when it is needed. */
class UnreachablePrimary {
  /** Undefined until it is open. */
  engine: Engine | undefined
  readonly #openPrimary: () => Promise<Engine>
  #opening: Promise<Engine> | undefined
  #triedAt = performance.now()

  constructor(openPrimary: () => Promise<Engine>) {
    this.#openPrimary = openPrimary
  }

  /** @throws {EngineError} `unavailable` if it does not respond, or was tried recently */
  async open(): Promise<Engine> {
    if (this.engine !== undefined) return this.engine
    const isTooSoon = performance.now() - this.#triedAt < retryDelay
    if (isTooSoon && this.#opening === undefined) throw unreachableError(undefined)
    this.#triedAt = performance.now()
    this.#opening ??= this.#openPrimary().finally(() => {
      this.#opening = undefined
    })
    try {
      return (this.engine = await this.#opening)
    } catch (error) {
      throw unreachableError(error)
    }
  }

  async close(): Promise<void> {
    await this.#opening?.catch(() => undefined)
    await this.engine?.close()
  }
}

/**
 * An engine whose primary was unreachable at the start, while a replica was not. The application starts read-only.
 *
 * @param replica provides the dialect and the catalogue until the primary is open, and is closed with it
 */
function createReadOnlyEngine(
  primary: UnreachablePrimary,
  replica: Engine,
  heartbeat: DatabaseProcesses['heartbeat'],
): Engine {
  const engine: Engine = {
    dialect: replica.dialect,
    status: {
      driver: replica.status.driver,
      // Until the primary is open, so that components create no tables.
      isReadOnly: () => primary.engine?.status.isReadOnly() ?? true,
      pool: () => primary.engine?.status.pool() ?? noPool,
      isFileLost: () => false,
    },
    run: async (statement, values, resultKind) =>
      (await primary.open()).run(statement, values, resultKind),
    begin: async (options) => (await primary.open()).begin(options),
    schema: {
      change: async (work, options) => (await primary.open()).schema.change(work, options),
      catalogue: (runner, names) =>
        primary.engine?.schema.catalogue(runner, names) ?? replica.schema.catalogue(replica, names),
      types: (runner, names) =>
        primary.engine?.schema.types?.(runner, names) ?? readPostgresTypes(replica, names),
      describe: (runner, schemas) => (primary.engine ?? replica).schema.describe(runner, schemas),
      sizes: (tables) => (primary.engine ?? replica).schema.sizes(tables),
    },
    requests: {
      reads: (reading) => primary.engine?.requests.reads?.(reading) ?? engine,
      writes: (writing) =>
        primary.engine?.requests.writes(writing) ?? {
          run: async (statement, values, resultKind) =>
            (await primary.open()).requests.writes(writing).run(statement, values, resultKind),
        },
    },
    processes: { heartbeat, channel: deferredChannel(primary) },
    close: async () => {
      await primary.close()
      await replica.close()
    },
  }
  return engine
}

function deferredChannel(primary: UnreachablePrimary): EngineChannel {
  const open = async (): Promise<EngineChannel | undefined> =>
    (await primary.open()).processes?.channel
  return {
    send: async (runner, messages) => (await open())?.send(runner, messages),
    topics: async (runner, exceptProcess) =>
      (await (await open())?.topics(runner, exceptProcess)) ?? new Set(),
    listen: (handlers) => new DeferredListener(open, handlers),
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
    readPrimaryPosition: async () => {
      const position = await probe.read()
      if (!position.isReplica || engine.status.isReadOnly()) return position
      probe.reconnect()
      throw new Error('The primary of the database is a replica now.')
    },
    closePrimary: () => {
      probe.close()
    },
    maxLag,
    log,
  })
  await set.start()
  return readFromReplicas(engine, set)
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
    return createReadOnlyEngine(
      new UnreachablePrimary(() => openPostgres(primary)),
      replica,
      heartbeat,
    )
  }
}

async function openFirst(replicas: readonly PostgresOptions[]): Promise<Engine | undefined> {
  for (const options of replicas) {
    const engine = await openPostgres(options).catch(() => undefined)
    if (engine?.status.isReadOnly() === true) return engine
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
  return typeof message === 'string' && /timeout|terminated|target_session_attrs/i.test(message)
}
