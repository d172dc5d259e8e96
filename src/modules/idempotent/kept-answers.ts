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

export class KeptAnswers {
  static readonly inject = [Database, Clock]
  readonly #database: Database
  readonly #clock: Clock
  #nextSweep = 0

  constructor(database: Database, clock: Clock) {
    this.#database = database
    this.#clock = clock
  }

  onStart(): Promise<void> {
    return this.#database.ensureTable(table, createTable)
  }

  /** Takes the key for a request, or returns its state. */
  async claim(id: string, hash: string): Promise<Claim> {
    const now = this.#clock.now()
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

  /** @param life milliseconds */
  async keep(id: string, answer: KeptAnswer, life: number): Promise<void> {
    await this.#tables
      .updateTable(table)
      .set({ answer: toText(answer), expires_at: this.#clock.now() + life })
      .where('id', '=', id)
      .execute()
  }

  async release(id: string): Promise<void> {
    await this.#tables.deleteFrom(table).where('id', '=', id).where('answer', 'is', null).execute()
  }

  async #sweep(now: number): Promise<void> {
    if (now < this.#nextSweep) return
    this.#nextSweep = now + sweepEvery
    await this.#tables.deleteFrom(table).where('expires_at', '<=', now).execute()
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
