/**
 * Stores idempotency keys and responses in the table `filigree_idempotency`. A row is inserted when its request starts. Each transaction of the request
 * marks the row, so the mark is committed together with the written data: after a lost connection or a crash, the row shows whether the request has written.
 * At the end, the row gets the response, or is deleted if the request failed without writing.
 *
 * A process renews its row in `filigree_idempotency_process` while it holds keys. Another request may take a key whose process has stopped without writing:
 * once the lease has expired, it challenges the process, and a live process renews its lease in response. This also works after an outage of the database, when
 * all leases have expired. A heartbeat does not change the rows of keys, because it would conflict with serializable transactions that mark them.
 */
import { randomUUID } from 'node:crypto'
import { Clock, Database, HttpError, type HttpRequest } from '../../index.js'
import { CallerLimit, type StoredKeys } from './caller-limit.js'
import {
  createKeyTables,
  prepareKeyStatements,
  prepareProcessStatements,
  type KeyStatements,
  type ProcessStatements,
} from './key-tables.js'

/** A response as it is stored. */
export interface StoredResponse {
  readonly status: number
  /** Names and values. */
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string | Uint8Array | null
}

/** A key that a request has claimed. */
export interface ClaimedKey {
  readonly id: string
  /** Identifies the caller whose keys are limited. */
  readonly caller: string
  /** A random text. Writes for the key have no effect once another request has claimed it. */
  readonly claim: string
}

/**
 * The state of a key: claimed by this request, running in another one, done without a stored response, or answered.
 */
export type KeyClaim =
  | { readonly state: 'claimed'; readonly key: ClaimedKey }
  | { readonly state: 'running'; readonly hash: string }
  | { readonly state: 'done'; readonly hash: string }
  | { readonly state: 'answered'; readonly hash: string; readonly response: StoredResponse }

/** Stored instead of a response: the request has written, or its open transaction will. */
const done = ''

/** Milliseconds between two heartbeats of a process that holds keys, and after a heartbeat that failed. */
const [heartbeatIntervalMs, heartbeatRetryMs] = [2_000, 500]

/** Milliseconds after its last heartbeat when a process may be challenged. */
const leaseMs = 5_000

/** Milliseconds that a challenged process has for a heartbeat, before its keys can be taken. */
const challengeMs = 4_000

/** Milliseconds after which the row of a request that never ended is removed. */
const maxRunMs = 24 * 3_600_000

/** Milliseconds after which the row of a process that holds no key is removed. */
const processLifetimeMs = 3_600_000

/** Milliseconds between two removals of old rows. */
const sweepIntervalMs = 60_000

/** Milliseconds that a request waits for the database: a write with a key is refused rather than done without it. */
const databaseTimeoutMs = 2_000

/** Milliseconds between two attempts to store a response or to release a key. */
const retryIntervalMs = 500

export class KeyStore {
  readonly #database: Database
  readonly #clock: Clock
  readonly #timeouts: ReturnType<Database['timeouts']>
  readonly #limit: CallerLimit
  readonly #keys: KeyStatements
  readonly #processes: ProcessStatements
  /** The id of this process, or rather of its application. */
  readonly #process = randomUUID()
  /** Claims of running requests, and of requests whose response is not stored or whose key is not released yet. */
  readonly #heldClaims = new Set<string>()
  /** When the lease was last renewed, by `performance.now()`. */
  #lastHeartbeatAt = -Infinity
  #runningHeartbeat: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #unwatch: (() => void) | undefined
  #isStopped = false
  #nextSweep = 0

  /** @param maxKeys the number of keys that one caller may have stored */
  constructor(database: Database, clock: Clock, maxKeys: number) {
    this.#database = database
    this.#clock = clock
    this.#timeouts = database.timeouts(databaseTimeoutMs)
    this.#keys = prepareKeyStatements(database)
    this.#processes = prepareProcessStatements(database)
    this.#limit = new CallerLimit(maxKeys, (caller) => this.#readStored(caller))
  }

  async onStart(): Promise<void> {
    await createKeyTables(this.#database)
    // Not started by a request, whose context it would inherit.
    this.#scheduleHeartbeat(heartbeatIntervalMs)
    this.#unwatch = this.#clock.onMove(() =>
      this.#heldClaims.size === 0 ? undefined : this.#heartbeat(),
    )
  }

  onStop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
    this.#unwatch?.()
  }

  /**
   * Claims the key for a request, or returns its state.
   *
   * @param caller identifies the caller whose keys are limited
   * @throws {HttpError} 429 for a new key if the caller has stored too many
   * @throws {HttpError} 503 if the database does not respond. The key is released once it responds again
   */
  async claim(id: string, hash: string, caller: string): Promise<KeyClaim> {
    const key: ClaimedKey = { id, caller, claim: randomUUID() }
    this.#heldClaims.add(key.claim)
    const sent = { isSent: false }
    try {
      const claim = await this.#timeouts.run(() => this.#claim(key, hash, sent))
      if (claim.state === 'claimed') this.#limit.addKey(caller)
      else this.#heldClaims.delete(key.claim)
      return claim
    } catch (error) {
      if (sent.isSent) void this.#withdraw(key, hash)
      else this.#heldClaims.delete(key.claim)
      throw error
    }
  }

  /** @param sent is told when the statement that claims the key is sent */
  async #claim(key: ClaimedKey, hash: string, sent: { isSent: boolean }): Promise<KeyClaim> {
    const { id, claim, caller } = key
    if (performance.now() - this.#lastHeartbeatAt >= heartbeatIntervalMs) await this.#heartbeat()
    const now = this.#now()
    await this.#sweep(now)
    const refusal = await this.#limit.findRefusal(caller, now)
    if (refusal !== undefined && !(await this.#has(id, now))) throw refusal
    // The request got a 503 meanwhile.
    if (!this.#heldClaims.has(claim)) throw inFlight()
    sent.isSent = true
    const claimed = await this.#keys.claim.rows({
      ...{ id, caller, hash, claim, process: this.#process },
      ...{ now, expires: now + maxRunMs, challengeUntil: now - challengeMs },
    })
    if (claimed.length > 0) return { state: 'claimed', key }
    const [row] = await this.#keys.read.rows({ id })
    // The other request released it between the two statements; the next attempt will get it.
    if (row === undefined) return { state: 'running', hash }
    const [storedHash, answer, process] = row as [string, string | null, string]
    if (answer === null) {
      await this.#challenge(process, now)
      return { state: 'running', hash: storedHash }
    }
    if (answer === done) return { state: 'done', hash: storedHash }
    return { state: 'answered', hash: storedHash, response: fromText(answer) }
  }

  /**
   * Withdraws a claim whose statement failed, was executed, or may still be. Never fails. The row that it leaves has expired:
   * other requests can claim the key, and the late statement of this claim cannot.
   */
  #withdraw({ id, caller, claim }: ClaimedKey, hash: string): Promise<void> {
    return this.#retryUntilDone(claim, () =>
      this.#keys.withdraw.change({
        id,
        caller,
        hash,
        claim,
        process: this.#process,
        now: this.#now(),
      }),
    )
  }

  async #has(id: string, now: number): Promise<boolean> {
    return (await this.#keys.has.rows({ id, now })).length > 0
  }

  async #readStored(caller: string): Promise<StoredKeys> {
    const [row = []] = await this.#keys.readStored.rows({ caller, now: this.#now() })
    const [keys, bytes, firstEnd] = row
    // Without rows, the sum and the minimum are null.
    return { keys: Number(keys), bytes: Number(bytes), firstEnd: Number(firstEnd) }
  }

  /** Challenges a process whose lease has expired. */
  async #challenge(id: string, now: number): Promise<void> {
    if (id !== this.#process) await this.#processes.challenge.change({ id, now })
  }

  /** Renews the lease of this process. */
  #heartbeat(): Promise<void> {
    this.#runningHeartbeat ??= this.#renewLease().finally(() => {
      this.#runningHeartbeat = undefined
    })
    return this.#runningHeartbeat
  }

  async #renewLease(): Promise<void> {
    await this.#processes.renewLease.change({
      id: this.#process,
      aliveUntil: this.#now() + leaseMs,
    })
    this.#lastHeartbeatAt = performance.now()
  }

  /** Repeats the heartbeat; without a statement while no key is held. */
  #scheduleHeartbeat(wait: number): void {
    const beat = async (): Promise<void> => {
      let isRenewed = true
      if (this.#heldClaims.size > 0)
        isRenewed = await this.#timeouts
          .run(() => this.#heartbeat())
          .then(
            () => true,
            () => false,
          )
      if (!this.#isStopped)
        this.#scheduleHeartbeat(isRenewed ? heartbeatIntervalMs : heartbeatRetryMs)
    }
    this.#timer = setTimeout(() => void beat(), wait).unref()
  }

  /**
   * From now on each transaction of the request marks the key before its commit, and single writes run in a transaction. If
   * another request has taken the key, the transaction is rolled back.
   *
   * @param lifetimeMs milliseconds
   */
  markWrites(request: HttpRequest, { id, claim }: ClaimedKey, lifetimeMs: number): void {
    this.#database.beforeCommit(request, async () => {
      const expires = this.#now() + lifetimeMs
      const marked = await this.#keys.mark.change({ id, claim, answer: done, expires })
      if (marked === 0) throw inFlight()
    })
  }

  /**
   * Stores the response once the database responds. Never fails.
   *
   * @param response undefined: it cannot be repeated, but the request must not run again
   * @param lifetimeMs how long it is stored
   */
  store(key: ClaimedKey, response: StoredResponse | undefined, lifetimeMs: number): Promise<void> {
    const { id, claim, caller } = key
    const written = response === undefined ? done : toText(response)
    const bytes = Buffer.byteLength(written)
    const text = this.#limit.addBytes(caller, bytes) ? written : done
    return this.#retryUntilDone(claim, () =>
      this.#keys.store.change({
        ...{ id, claim, answer: text, bytes: text === done ? 0 : bytes },
        expires: this.#now() + lifetimeMs,
      }),
    )
  }

  /**
   * Deletes the key. Never fails. Waits for a transaction of the request that is being committed.
   *
   * @param hasFailed the handler has rejected the request: the key is released even if something was committed
   */
  release(key: ClaimedKey, hasFailed = false): Promise<void> {
    const { id, claim, caller } = key
    this.#limit.removeKey(caller)
    const remove = hasFailed ? this.#keys.delete : this.#keys.deleteUnwritten
    return this.#retryUntilDone(claim, () => remove.change({ id, claim }))
  }

  /** Retries in the background until the database responds or the application closes. The claim is held until then. */
  async #retryUntilDone(claim: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await this.#timeouts.run(work)
      this.#heldClaims.delete(claim)
    } catch (error) {
      if (this.#isStopped)
        this.#database.log.error(
          { err: error },
          'a response could not be stored for its Idempotency-Key',
        )
      else setTimeout(() => void this.#retryUntilDone(claim, work), retryIntervalMs).unref()
    }
  }

  async #sweep(now: number): Promise<void> {
    if (now < this.#nextSweep) return
    this.#nextSweep = now + sweepIntervalMs
    await this.#keys.sweep.change({ now })
    await this.#processes.sweep.change({ until: now - processLifetimeMs })
  }

  #now(): number {
    return this.#database.now(this.#clock)
  }
}

export function inFlight(): HttpError {
  return new HttpError(
    409,
    'The first request with this Idempotency-Key has not been answered yet.',
    {
      code: 'IDEMPOTENCY_IN_FLIGHT',
      headers: { 'Retry-After': '1' },
    },
  )
}

function toText({ status, headers, body }: StoredResponse): string {
  const bytes = body instanceof Uint8Array ? Buffer.from(body).toString('base64') : undefined
  return JSON.stringify(
    bytes === undefined ? { status, headers, body } : { status, headers, bytes },
  )
}

function fromText(text: string): StoredResponse {
  const { bytes, ...response } = JSON.parse(text) as StoredResponse & { readonly bytes?: string }
  return bytes === undefined ? response : { ...response, body: Buffer.from(bytes, 'base64') }
}
