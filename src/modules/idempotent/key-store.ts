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

type KeyRow = Record<'id' | 'caller' | 'hash' | 'claim' | 'process', string> &
  Record<'answer', string | null> &
  Record<'expires_at' | 'bytes', number | string>
type ProcessRow = Record<'id', string> &
  Record<'alive_until', number | string> &
  Record<'challenged_at', number | string | null>
type KeyTables = Record<'filigree_idempotency', KeyRow> &
  Record<'filigree_idempotency_process', ProcessRow>

const table = 'filigree_idempotency'
const processes = 'filigree_idempotency_process'
const createTable = `create table if not exists ${table} (
  id text primary key not null,
  caller text not null,
  hash text not null,
  claim text not null,
  process text not null,
  answer text,
  bytes bigint not null,
  expires_at bigint not null
);
create index if not exists ${table}_expires_at on ${table} (expires_at);
create index if not exists ${table}_caller on ${table} (caller, expires_at, bytes)`
const createProcesses = `create table if not exists ${processes} (
  id text primary key not null,
  alive_until bigint not null,
  challenged_at bigint
)`

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

/** Milliseconds between two attempts to store a response, and for all attempts together. */
const [retryIntervalMs, maxRetryMs] = [500, 120_000]

export class KeyStore {
  readonly #database: Database
  readonly #clock: Clock
  readonly #timeouts: ReturnType<Database['timeouts']>
  readonly #limit: CallerLimit
  /** The id of this process, or rather of its application. */
  readonly #process = randomUUID()
  /** Keys of running requests, and of requests whose response is not stored yet. */
  readonly #heldKeys = new Set<ClaimedKey>()
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
    this.#limit = new CallerLimit(maxKeys, (caller) => this.#readStored(caller))
  }

  async onStart(): Promise<void> {
    await this.#database.ensureTable(table, createTable)
    await this.#database.ensureTable(processes, createProcesses)
    // Not started by a request, whose context it would inherit.
    this.#scheduleHeartbeat(heartbeatIntervalMs)
    this.#unwatch = this.#clock.onMove(() =>
      this.#heldKeys.size === 0 ? undefined : this.#heartbeat(),
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
    this.#heldKeys.add(key)
    try {
      const claim = await this.#timeouts.run(() => this.#claim(key, hash))
      if (claim.state === 'claimed') this.#limit.addKey(caller)
      else this.#heldKeys.delete(key)
      return claim
    } catch (error) {
      // The statement may have been executed, or may still be.
      void this.release(key)
      throw error
    }
  }

  async #claim(key: ClaimedKey, hash: string): Promise<KeyClaim> {
    if (performance.now() - this.#lastHeartbeatAt >= heartbeatIntervalMs) await this.#heartbeat()
    const now = this.#now()
    await this.#sweep(now)
    const { id, claim, caller } = key
    const refusal = await this.#limit.findRefusal(caller, now)
    if (refusal !== undefined && !(await this.#has(id, now))) throw refusal
    const expires = now + maxRunMs
    const claimColumns = {
      ...{ hash, claim, caller, process: this.#process },
      ...{ answer: null, bytes: 0, expires_at: expires },
    }
    const claimed = await this.#tables
      .insertInto(table)
      .values({ id, ...claimColumns })
      .onConflict((conflict) =>
        conflict
          .column('id')
          .doUpdateSet(claimColumns)
          .where((row) => {
            const liveProcess = row
              .selectFrom(processes)
              .select(`${processes}.id`)
              .whereRef(`${processes}.id`, '=', `${table}.process`)
              .where((process) =>
                process.or([
                  process('alive_until', '>', now),
                  process('challenged_at', 'is', null),
                  process('challenged_at', '>', now - challengeMs),
                ]),
              )
            return row.or([
              row(`${table}.expires_at`, '<=', now),
              row.and([row(`${table}.answer`, 'is', null), row.not(row.exists(liveProcess))]),
            ])
          }),
      )
      .returning('id')
      .executeTakeFirst()
    if (claimed !== undefined) return { state: 'claimed', key }
    const row = await this.#tables
      .selectFrom(table)
      .select(['hash', 'answer', 'process'])
      .where('id', '=', id)
      .executeTakeFirst()
    // The other request released it between the two statements; the next attempt will get it.
    if (row === undefined) return { state: 'running', hash }
    if (row.answer === null) {
      await this.#challenge(row.process, now)
      return { state: 'running', hash: row.hash }
    }
    if (row.answer === done) return { state: 'done', hash: row.hash }
    return { state: 'answered', hash: row.hash, response: fromText(row.answer) }
  }

  async #has(id: string, now: number): Promise<boolean> {
    const row = await this.#tables
      .selectFrom(table)
      .select('id')
      .where('id', '=', id)
      .where('expires_at', '>', now)
      .executeTakeFirst()
    return row !== undefined
  }

  async #readStored(caller: string): Promise<StoredKeys> {
    const now = this.#now()
    const row = await this.#tables
      .selectFrom(table)
      .select((row) => [
        row.fn.countAll().as('keys'),
        row.fn.sum('bytes').as('bytes'),
        row.fn.min('expires_at').as('firstEnd'),
      ])
      .where('caller', '=', caller)
      .where('expires_at', '>', now)
      .executeTakeFirstOrThrow()
    // Without rows, the sum and the minimum are null.
    return { keys: Number(row.keys), bytes: Number(row.bytes), firstEnd: Number(row.firstEnd) }
  }

  /** Challenges a process whose lease has expired. */
  async #challenge(id: string, now: number): Promise<void> {
    if (id === this.#process) return
    await this.#tables
      .updateTable(processes)
      .set({ challenged_at: now })
      .where('id', '=', id)
      .where('alive_until', '<=', now)
      .where('challenged_at', 'is', null)
      .execute()
  }

  /** Renews the lease of this process. */
  #heartbeat(): Promise<void> {
    this.#runningHeartbeat ??= this.#renewLease().finally(() => {
      this.#runningHeartbeat = undefined
    })
    return this.#runningHeartbeat
  }

  async #renewLease(): Promise<void> {
    const leaseColumns = { alive_until: this.#now() + leaseMs, challenged_at: null }
    await this.#tables
      .insertInto(processes)
      .values({ id: this.#process, ...leaseColumns })
      .onConflict((conflict) => conflict.column('id').doUpdateSet(leaseColumns))
      .execute()
    this.#lastHeartbeatAt = performance.now()
  }

  /** Repeats the heartbeat; without a statement while no key is held. */
  #scheduleHeartbeat(wait: number): void {
    const beat = async (): Promise<void> => {
      let isRenewed = true
      if (this.#heldKeys.size > 0)
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
      const marked = await this.#tables
        .updateTable(table)
        .set({ answer: done, expires_at: this.#now() + lifetimeMs })
        .where('id', '=', id)
        .where('claim', '=', claim)
        .executeTakeFirst()
      if (Number(marked.numUpdatedRows) === 0) throw inFlight()
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
    return this.#retryUntilDone(key, () =>
      this.#tables
        .updateTable(table)
        .set({
          answer: text,
          bytes: text === done ? 0 : bytes,
          expires_at: this.#now() + lifetimeMs,
        })
        .where('id', '=', id)
        .where('claim', '=', claim)
        .execute(),
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
    return this.#retryUntilDone(key, () => {
      const ownRow = this.#tables.deleteFrom(table).where('id', '=', id).where('claim', '=', claim)
      return (hasFailed ? ownRow : ownRow.where('answer', 'is', null)).execute()
    })
  }

  /** Retries in the background until the application closes. The key is held until then. */
  async #retryUntilDone(
    key: ClaimedKey,
    work: () => Promise<unknown>,
    until = performance.now() + maxRetryMs,
  ): Promise<void> {
    try {
      await this.#timeouts.run(work)
      this.#heldKeys.delete(key)
    } catch (error) {
      if (this.#isStopped || performance.now() >= until) {
        this.#heldKeys.delete(key)
        this.#database.log.error(
          { err: error },
          'a response could not be stored for its Idempotency-Key',
        )
        return
      }
      setTimeout(() => void this.#retryUntilDone(key, work, until), retryIntervalMs).unref()
    }
  }

  async #sweep(now: number): Promise<void> {
    if (now < this.#nextSweep) return
    this.#nextSweep = now + sweepIntervalMs
    await this.#tables.deleteFrom(table).where('expires_at', '<=', now).execute()
    // Rows of processes that hold keys are needed to decide when the keys can be claimed.
    await this.#tables
      .deleteFrom(processes)
      .where('alive_until', '<=', now - processLifetimeMs)
      .where((process) =>
        process.not(
          process.exists(
            process
              .selectFrom(table)
              .select(`${table}.id`)
              .whereRef(`${table}.process`, '=', `${processes}.id`)
              .where(`${table}.answer`, 'is', null),
          ),
        ),
      )
      .execute()
  }

  #now(): number {
    return this.#database.now(this.#clock)
  }

  get #tables() {
    return this.#database.kysely.withTables<KeyTables>()
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
