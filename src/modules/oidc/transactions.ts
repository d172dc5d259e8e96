/**
 * Sign-ins in progress. Each is stored encrypted (AES-256-GCM) in a separate cookie, named by its `state`, so that several tabs
 * do not conflict. Used states are stored until they expire, in the database if there is one (`__Host-` cookies: RFC 6265bis
 * §4.1.3.2).
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
export interface SignInTransaction {
  /** The name of the provider. */
  readonly provider: string
  /** The PKCE code verifier. */
  readonly verifier: string
  readonly nonce: string
  /** The path to open after the sign-in. */
  readonly to: string
  /** When it expires, in milliseconds since 1970, by the database's clock if there is a database. */
  readonly ends: number
}

/** How long a sign-in may take, in milliseconds. */
const lifetime = 600_000

/** Maximum number and total bytes of these cookies in a browser, because servers reject requests with long headers. */
const [maxCookies, maxCookieBytes] = [10, 6000]

/** The start time in milliseconds (base 36), then 128 random bits, so that names sort by time. */
const stateForm = /^[0-9a-z]{9}[\w-]{22}$/

const table = 'filigree_signed_in'
const createTable = `create table if not exists ${table} (
  state text primary key not null,
  ends_at bigint not null
);
create index if not exists ${table}_ends_at on ${table} (ends_at)`

/** Milliseconds between removals of expired states. */
const sweepInterval = 60_000

export class SignInTransactions implements Lifecycle {
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

  /** The name of a transaction's cookie. @param secure adds `__Host-`, so that other hosts and http pages cannot set the cookie */
  cookieName(state: string, secure: boolean): string {
    return `${secure ? '__Host-' : ''}${this.#state.cookieName('signin')}_${state}`
  }

  /** @returns `state`, the transaction, and the cookie's value */
  async begin(
    provider: string,
    to: string,
  ): Promise<{ state: string; transaction: SignInTransaction; sealed: string }> {
    const now = this.#now()
    const state = now.toString(36).padStart(9, '0') + randomBytes(16).toString('base64url')
    const transaction = {
      provider,
      to,
      ends: now + lifetime,
      verifier: randomBytes(32).toString('base64url'),
      nonce: randomBytes(16).toString('base64url'),
    }
    return { state, transaction, sealed: await this.#seal(state, transaction) }
  }

  /**
   * @param state the value that the provider sent back
   * @param cookies the cookies of the browser
   * @returns undefined if this browser did not start the sign-in at this provider, or it has expired
   */
  async open(
    state: string,
    { provider, cookies, secure }: { provider: string; cookies: Cookies; secure: boolean },
  ): Promise<SignInTransaction | undefined> {
    if (!stateForm.test(state)) return undefined
    const sealed = cookies[this.cookieName(state, secure)]
    const transaction = sealed === undefined ? undefined : await this.#unseal(state, sealed)
    if (transaction?.provider !== provider || transaction.ends <= this.#now()) return undefined
    return transaction
  }

  /** Marks a state as used. @returns false if any process has used it before */
  async use(state: string, { ends }: SignInTransaction): Promise<boolean> {
    const now = this.#now()
    if (now >= this.#nextSweep) {
      this.#nextSweep = now + sweepInterval
      for (const [used, end] of this.#used) if (end <= now) this.#used.delete(used)
      await this.#statements?.sweep.change({ now })
    }
    if (this.#statements !== undefined)
      return (await this.#statements.use.change({ state, ends })) > 0
    if (this.#used.has(state)) return false
    this.#used.set(state, ends)
    return true
  }

  /** The oldest cookies that must be removed to make room for a new one. */
  surplusCookies(cookies: Cookies, secure: boolean): string[] {
    const prefix = this.cookieName('', secure)
    const cookieNames = Object.keys(cookies).filter(
      (name) => name.startsWith(prefix) && stateForm.test(name.slice(prefix.length)),
    )
    // Count from the newest, including the cookie that will be added.
    let bytes = 0
    let count = 1
    return cookieNames
      .sort()
      .reverse()
      .filter((name) => {
        bytes += name.length + (cookies[name]?.length ?? 0)
        count++
        return count > maxCookies || bytes > maxCookieBytes
      })
  }

  #now(): number {
    return this.#state.database?.now(this.#clock) ?? this.#clock.now()
  }

  /** Encrypts a transaction. The state is authenticated, so the cookie is not valid under another name. */
  async #seal(state: string, transaction: SignInTransaction): Promise<string> {
    const start = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', await this.#key(), start)
    cipher.setAAD(Buffer.from(state))
    const text = Buffer.concat([cipher.update(JSON.stringify(transaction)), cipher.final()])
    return Buffer.concat([start, cipher.getAuthTag(), text]).toString('base64url')
  }

  async #unseal(state: string, sealed: string): Promise<SignInTransaction | undefined> {
    const bytes = Buffer.from(sealed, 'base64url')
    if (bytes.length < 29) return undefined
    const decipher = createDecipheriv('aes-256-gcm', await this.#key(), bytes.subarray(0, 12))
    decipher.setAAD(Buffer.from(state)).setAuthTag(bytes.subarray(12, 28))
    try {
      const text = Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()])
      return JSON.parse(text.toString()) as SignInTransaction
    } catch {
      return undefined
    }
  }

  #key(): Promise<Buffer> {
    return this.#auth.secretFor('sign-in by a provider')
  }
}

export type Cookies = Readonly<Record<string, string>>
