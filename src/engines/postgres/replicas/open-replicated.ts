/** Opens a primary with its replicas. Source: PostgreSQL, Hot Standby; System Administration Functions, Recovery. */
import type { Engine } from '../../contract/engine.js'
import type { Heartbeat, HeartbeatOptions } from '../../contract/heartbeat.js'
import { loadDriver } from '../driver.js'
import type { PostgresOptions } from '../options.js'
import { openPostgres } from '../postgres.js'
import { heartbeatOfServer } from '../heartbeat.js'
import { AbsentPrimary } from './absent-primary.js'
import { PositionProbe } from './position-probe.js'
import { Replica } from './replica.js'
import { ReplicaSet } from './replica-set.js'
import { ReplicatedEngine } from './replicated-engine.js'

export interface ReplicatedOptions {
  readonly primary: PostgresOptions
  readonly replicas: readonly PostgresOptions[]
  /** How many milliseconds a replica may be behind. */
  readonly bound: number
}

/** The shortest time, in milliseconds, for a server to tell its position. */
const leastPatience = 1000

/** @throws {DeclarationError} the primary cannot be reached; unreachable replicas are left out until they answer */
export async function openReplicated(options: ReplicatedOptions): Promise<Engine> {
  const { primary, bound } = options
  const { log } = primary
  const engine = await openPrimary(options)
  const driver = await loadDriver()
  const patience = Math.max(leastPatience, bound)
  const probe = new PositionProbe(driver, primary, patience)
  const replicas = options.replicas.map((one) => {
    // For replicas, the features that a pooler hides are not needed.
    const settings = { ...one, direct: one.direct ?? one.url }
    const ofReplica = new PositionProbe(driver, settings, patience)
    return new Replica({
      name: new URL(one.url).host,
      log,
      open: () => openPostgres(settings),
      ask: () => ofReplica.read(),
      close: () => {
        ofReplica.close()
      },
    })
  })
  const set = new ReplicaSet({
    replicas,
    askPrimary: () => probe.read(),
    closePrimary: () => {
      probe.close()
    },
    bound,
    log,
  })
  await set.start()
  return new ReplicatedEngine(engine, set)
}

/** @throws {DeclarationError} the primary does not answer and there is no replica, or it refuses the connection */
async function openPrimary({ primary, replicas }: ReplicatedOptions): Promise<Engine> {
  try {
    return await openPostgres(primary)
  } catch (error) {
    const replica = isGone(error) ? await openFirst(replicas) : undefined
    if (replica === undefined) throw error
    primary.log.warn(
      { err: error },
      'the primary of the database does not answer: started read-only',
    )
    const heartbeat = (options: HeartbeatOptions): Heartbeat => heartbeatOfServer(primary, options)
    return new AbsentPrimary(() => openPostgres(primary), replica, heartbeat)
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

/** The server does not answer (yet). A wrong name or password would not become right later. */
function isGone(error: unknown): boolean {
  const { cause } = error as { readonly cause?: unknown }
  const { code, message } = (cause ?? {}) as { readonly code?: unknown; readonly message?: unknown }
  if (typeof code === 'string') {
    return /^(?:ECONNREFUSED|ECONNRESET|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|57P0\d)$/.test(code)
  }
  return typeof message === 'string' && /timeout|terminated/i.test(message)
}
