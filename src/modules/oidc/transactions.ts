/**
 * Sign-ins under way. Each lies sealed (AES-256-GCM) in a cookie of its own, named by its `state`, so that several tabs do not
 * meet and nothing is kept here; what was used is remembered until it would have run out, in the database where there is
 * one. Source: decisions, Sign-in; RFC 6265bis §4.1.3.2 (`__Host-`).
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import {
  ApplicationState,
  Auth,
  Clock,
  type Lifecycle,
  type CustomSql,
  resetState,
} from '../../index.js'

/** A sign-in that a browser has begun. */
export interface Transaction {
  /** Of the provider. */
  readonly provider: string
  /** PKCE's. */
  readonly verifier: string
  readonly nonce: string
  /** Where it leads. */
  readonly to: string
  /** In milliseconds since 1970, by the database's clock where there is one. */
  readonly ends: number
}

/** In milliseconds. */
const life = 600_000

/** The most that one browser has at a time, and the bytes of their cookies: requests with a longer head are refused. */
const [mostAtOnce, mostBytes] = [10, 6000]

/** When it began, in milliseconds by base 36, then 128 random bits: names are in the order of time. */
const stateForm = /^[0-9a-z]{9}[\w-]{22}$/

const table = 'filigree_signed_in'
const createTable = `create table if not exists ${table} (
  state text primary key not null,
  ends_at bigint not null
);
create index if not exists ${table}_ends_at on ${table} (ends_at)`

/** Milliseconds between two removals of what has run out. */
const sweepEvery = 60_000

/** The name of a transaction's cookie. @param secure over https no other host and no http page can set it */
export function cookieName(state: string, secure: boolean): string {
  return `${cookiePrefix(secure)}${state}`
}

function cookiePrefix(secure: boolean): string {
  return `${secure ? '__Host-' : ''}app_signin_`
}

export class Transactions implements Lifecycle {
  static readonly inject = [ApplicationState, Clock, Auth]
  readonly #state: ApplicationState
  readonly #clock: Clock
  readonly #auth: Auth
  readonly #used = new Map<string, number>()
  #statements: Readonly<Record<'use' | 'sweep', CustomSql>> | undefined
  #nextSweep = 0

  constructor(state: ApplicationState, clock: Clock, auth: Auth) {
    this.#state = state
    this.#clock = clock
    this.#auth = auth
  }

  async onStart(): Promise<void> {
    const { database } = this.#state
    if (database === undefined) return
    await database.ensureTable(table, createTable)
    const tables = [table]
    this.#statements = {
      use: database.prepare(
        { kind: 'insert', tables },
        ({ value }) =>
          `insert into ${table} (state, ends_at) values (${value('state')}, ${value('ends')}) on conflict do nothing`,
      ),
      sweep: database.prepare(
        { kind: 'delete', tables },
        ({ value }) => `delete from ${table} where ends_at <= ${value('now')}`,
      ),
    }
  }

  [resetState](): void {
    this.#used.clear()
  }

  /** @returns `state`, the transaction, and the cookie's value */
  async begin(
    provider: string,
    to: string,
  ): Promise<{ state: string; transaction: Transaction; sealed: string }> {
    const now = this.#now()
    const state = now.toString(36).padStart(9, '0') + randomBytes(16).toString('base64url')
    const transaction = {
      ...{ provider, to, ends: now + life },
      verifier: randomBytes(32).toString('base64url'),
      nonce: randomBytes(16).toString('base64url'),
    }
    return { state, transaction, sealed: await this.#seal(state, transaction) }
  }

  /**
   * @param state as the provider sent it back
   * @param cookies of the browser that it sent
   * @returns undefined where this browser has begun no such sign-in at this provider, or long ago
   */
  async open(
    state: string,
    { provider, cookies, secure }: { provider: string; cookies: Cookies; secure: boolean },
  ): Promise<Transaction | undefined> {
    if (!stateForm.test(state)) return undefined
    const sealed = cookies[cookieName(state, secure)]
    const transaction = sealed === undefined ? undefined : await this.#unseal(state, sealed)
    if (transaction?.provider !== provider || transaction.ends <= this.#now()) return undefined
    return transaction
  }

  /** @returns false where it was used before, by whatever process */
  async use(state: string, { ends }: Transaction): Promise<boolean> {
    const now = this.#now()
    if (now >= this.#nextSweep) {
      this.#nextSweep = now + sweepEvery
      for (const [used, end] of this.#used) if (end <= now) this.#used.delete(used)
      await this.#statements?.sweep.change({ now })
    }
    if (this.#statements !== undefined)
      return (await this.#statements.use.change({ state, ends })) > 0
    if (this.#used.has(state)) return false
    this.#used.set(state, ends)
    return true
  }

  /** The cookies that have to go for one more to have a place: the oldest. */
  surplus(cookies: Cookies, secure: boolean): string[] {
    const prefix = cookiePrefix(secure)
    const own = Object.keys(cookies).filter(
      (name) => name.startsWith(prefix) && stateForm.test(name.slice(prefix.length)),
    )
    // The newest first; one more is to come.
    let bytes = 0
    let kept = 1
    return own
      .sort()
      .reverse()
      .filter((name) => {
        bytes += name.length + (cookies[name]?.length ?? 0)
        kept++
        return kept > mostAtOnce || bytes > mostBytes
      })
  }

  #now(): number {
    return this.#state.database?.now(this.#clock) ?? this.#clock.now()
  }

  /** The name of the cookie is sealed too: under another name it is none. */
  async #seal(state: string, transaction: Transaction): Promise<string> {
    const start = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', await this.#key(), start)
    cipher.setAAD(Buffer.from(state))
    const text = Buffer.concat([cipher.update(JSON.stringify(transaction)), cipher.final()])
    return Buffer.concat([start, cipher.getAuthTag(), text]).toString('base64url')
  }

  async #unseal(state: string, sealed: string): Promise<Transaction | undefined> {
    const bytes = Buffer.from(sealed, 'base64url')
    if (bytes.length < 29) return undefined
    const decipher = createDecipheriv('aes-256-gcm', await this.#key(), bytes.subarray(0, 12))
    decipher.setAAD(Buffer.from(state)).setAuthTag(bytes.subarray(12, 28))
    try {
      const text = Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()])
      return JSON.parse(text.toString()) as Transaction
    } catch {
      return undefined
    }
  }

  #key(): Promise<Buffer> {
    return this.#auth.secretFor('sign-in by a provider')
  }
}

export type Cookies = Readonly<Record<string, string>>
