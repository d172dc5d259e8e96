/**
 * Keeps the first answers in the table `filigree_idempotency`: a row is inserted when its request begins, filled when
 * it is answered, and deleted if there is nothing to keep.
 */
import { Clock, Database } from '../../index.js'

/** An answer in the form in which it is kept. */
export interface KeptAnswer {
  readonly status: number
  /** Names and values. */
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string | Uint8Array | null
}

/** The state of a key: this request has just taken it, another request is running, or there is an answer. */
export type Claim =
  | { readonly state: 'claimed' }
  | { readonly state: 'running'; readonly hash: string }
  | { readonly state: 'answered'; readonly hash: string; readonly answer: KeptAnswer }

type Row = Record<'id' | 'hash', string> &
  Record<'answer', string | null> &
  Record<'expires_at', number | string>
type Tables = Record<'filigree_idempotency', Row>

const table = 'filigree_idempotency'
const createTable = `create table if not exists ${table} (
  id text primary key not null,
  hash text not null,
  answer text,
  expires_at bigint not null
);
create index if not exists ${table}_expires_at on ${table} (expires_at)`

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
   * @throws {HttpError} 503 if the database does not answer: then the key is free again
   */
  async claim(id: string, hash: string): Promise<Claim> {
    let claiming: Promise<Claim> | undefined
    try {
      return await this.#store.ask(() => (claiming = this.#claim(id, hash)))
    } catch (error) {
      // It may still be taken, once the database goes on.
      void claiming?.then(
        ({ state }) => (state === 'claimed' ? this.release(id) : undefined),
        () => undefined,
      )
      throw error
    }
  }

  async #claim(id: string, hash: string): Promise<Claim> {
    const now = this.#now()
    await this.#sweep(now)
    const claimed = await this.#tables
      .insertInto(table)
      .values({ id, hash, answer: null, expires_at: now + lease })
      .onConflict((conflict) =>
        conflict
          .column('id')
          .doUpdateSet({ hash, answer: null, expires_at: now + lease })
          .where(`${table}.expires_at`, '<=', now),
      )
      .returning('id')
      .executeTakeFirst()
    if (claimed !== undefined) return { state: 'claimed' }
    const row = await this.#tables
      .selectFrom(table)
      .select(['hash', 'answer'])
      .where('id', '=', id)
      .executeTakeFirst()
    // The other request released it between the two statements; the next attempt will get it.
    if (row === undefined) return { state: 'running', hash }
    if (row.answer === null) return { state: 'running', hash: row.hash }
    return { state: 'answered', hash: row.hash, answer: fromText(row.answer) }
  }

  /**
   * Never fails: what was written is answered, and its answer kept once the database goes on.
   *
   * @param life milliseconds
   */
  keep(id: string, answer: KeptAnswer, life: number): Promise<void> {
    const text = toText(answer)
    return this.#insist(() =>
      this.#tables
        .updateTable(table)
        .set({ answer: text, expires_at: this.#now() + life })
        .where('id', '=', id)
        .execute(),
    )
  }

  /** Never fails, as `keep`. */
  release(id: string): Promise<void> {
    return this.#insist(() =>
      this.#tables.deleteFrom(table).where('id', '=', id).where('answer', 'is', null).execute(),
    )
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
