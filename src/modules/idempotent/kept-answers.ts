/**
 * Stores the first responses in the table `filigree_idempotency`. A row is inserted when its request begins. Each transaction
 * of the request marks the row, so that the mark is committed with what was written, or not at all: after a lost connection or
 * the end of a process, the row tells whether the request has written. The row gets the response at the end, and is deleted if
 * the request has failed without writing.
 */
import { randomUUID } from 'node:crypto'
import { Clock, Database, HttpError, type HttpRequest } from '../../index.js'

/** An answer in the form in which it is kept. */
export interface KeptAnswer {
  readonly status: number
  /** Names and values. */
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string | Uint8Array | null
}

/** A request that has taken a key. */
export interface ClaimedKey {
  readonly id: string
  /** A random text: what a request writes for its key has no effect once another request has taken the key. */
  readonly claim: string
}

/**
 * The state of a key: this request has just taken it, another request is running, the first request was done but has no
 * stored response, or there is a response.
 */
export type Claim =
  | { readonly state: 'claimed'; readonly key: ClaimedKey }
  | { readonly state: 'running'; readonly hash: string }
  | { readonly state: 'done'; readonly hash: string }
  | { readonly state: 'answered'; readonly hash: string; readonly answer: KeptAnswer }

type Row = Record<'id' | 'hash' | 'claim', string> &
  Record<'answer', string | null> &
  Record<'expires_at', number | string>
type Tables = Record<'filigree_idempotency', Row>

const table = 'filigree_idempotency'
const createTable = `create table if not exists ${table} (
  id text primary key not null,
  hash text not null,
  claim text not null,
  answer text,
  expires_at bigint not null
);
create index if not exists ${table}_expires_at on ${table} (expires_at)`

/** Instead of a response: something was written, or is in the transaction that writes it. */
const done = ''

/** Milliseconds after which an unanswered request loses its key, because its process must have ended. */
const lease = 120_000

/** Milliseconds between two removals of old rows. */
const sweepEvery = 60_000

/** Milliseconds that a request waits for the database: a write with a key is refused rather than done without it. */
const patience = 2_000

/** Milliseconds between two attempts to keep an answer. */
const insistEvery = 500

export class KeptAnswers {
  static readonly inject = [Database, Clock]
  readonly #database: Database
  readonly #clock: Clock
  readonly #store: ReturnType<Database['patience']>
  #nextSweep = 0

  constructor(database: Database, clock: Clock) {
    this.#database = database
    this.#clock = clock
    this.#store = database.patience(patience)
  }

  onStart(): Promise<void> {
    return this.#database.ensureTable(table, createTable)
  }

  /**
   * Takes the key for a request, or returns its state.
   *
   * @throws {HttpError} 503 if the database does not respond: the key is released once it responds again
   */
  async claim(id: string, hash: string): Promise<Claim> {
    const key: ClaimedKey = { id, claim: randomUUID() }
    try {
      return await this.#store.ask(() => this.#claim(key, hash))
    } catch (error) {
      // The statement may have been executed, or may still be.
      void this.release(key)
      throw error
    }
  }

  async #claim(key: ClaimedKey, hash: string): Promise<Claim> {
    const now = this.#now()
    await this.#sweep(now)
    const { id, claim } = key
    const taken = { hash, claim, answer: null, expires_at: now + lease }
    const claimed = await this.#tables
      .insertInto(table)
      .values({ id, ...taken })
      .onConflict((conflict) =>
        conflict.column('id').doUpdateSet(taken).where(`${table}.expires_at`, '<=', now),
      )
      .returning('id')
      .executeTakeFirst()
    if (claimed !== undefined) return { state: 'claimed', key }
    const row = await this.#tables
      .selectFrom(table)
      .select(['hash', 'answer'])
      .where('id', '=', id)
      .executeTakeFirst()
    // The other request released it between the two statements; the next attempt will get it.
    if (row === undefined) return { state: 'running', hash }
    if (row.answer === null) return { state: 'running', hash: row.hash }
    if (row.answer === done) return { state: 'done', hash: row.hash }
    return { state: 'answered', hash: row.hash, answer: fromText(row.answer) }
  }

  /**
   * From now on each transaction of the request marks the key before its commit, and single writes run in a transaction. If
   * another request has taken the key, the transaction is rolled back.
   *
   * @param life milliseconds
   */
  markWrites(request: HttpRequest, { id, claim }: ClaimedKey, life: number): void {
    this.#database.beforeCommit(request, async () => {
      const marked = await this.#tables
        .updateTable(table)
        .set({ answer: done, expires_at: this.#now() + life })
        .where('id', '=', id)
        .where('claim', '=', claim)
        .executeTakeFirst()
      if (Number(marked.numUpdatedRows) === 0) throw inFlight()
    })
  }

  /**
   * Never fails: the request was done, and its response is stored once the database responds.
   *
   * @param answer undefined: it cannot be repeated, but the request will not be done again either
   * @param life milliseconds
   */
  keep({ id, claim }: ClaimedKey, answer: KeptAnswer | undefined, life: number): Promise<void> {
    const text = answer === undefined ? done : toText(answer)
    return this.#insist(() =>
      this.#tables
        .updateTable(table)
        .set({ answer: text, expires_at: this.#now() + life })
        .where('id', '=', id)
        .where('claim', '=', claim)
        .execute(),
    )
  }

  /**
   * Never fails, as `keep`. Waits for a transaction of the request that is being committed.
   *
   * @param hasFailed the handler itself has refused the request: released even if something was committed before
   */
  release({ id, claim }: ClaimedKey, hasFailed = false): Promise<void> {
    return this.#insist(() => {
      const own = this.#tables.deleteFrom(table).where('id', '=', id).where('claim', '=', claim)
      return (hasFailed ? own : own.where('answer', 'is', null)).execute()
    })
  }

  /** Done now, or in the background for as long as the key is held. */
  async #insist(work: () => Promise<unknown>, until = performance.now() + lease): Promise<void> {
    try {
      await this.#store.ask(work)
    } catch (error) {
      if (performance.now() >= until) {
        this.#database.log.error(
          { err: error },
          'an answer could not be kept for its Idempotency-Key',
        )
        return
      }
      setTimeout(() => void this.#insist(work, until), insistEvery).unref()
    }
  }

  async #sweep(now: number): Promise<void> {
    if (now < this.#nextSweep) return
    this.#nextSweep = now + sweepEvery
    await this.#tables.deleteFrom(table).where('expires_at', '<=', now).execute()
  }

  #now(): number {
    return this.#database.now(this.#clock)
  }

  get #tables() {
    return this.#database.kysely.withTables<Tables>()
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

function toText({ status, headers, body }: KeptAnswer): string {
  const bytes = body instanceof Uint8Array ? Buffer.from(body).toString('base64') : undefined
  return JSON.stringify(
    bytes === undefined ? { status, headers, body } : { status, headers, bytes },
  )
}

function fromText(text: string): KeptAnswer {
  const { bytes, ...kept } = JSON.parse(text) as KeptAnswer & { readonly bytes?: string }
  return bytes === undefined ? kept : { ...kept, body: Buffer.from(bytes, 'base64') }
}
