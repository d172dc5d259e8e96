/**
 * Single-use tokens: invitations, password resets, confirmations of an email address. Only the hash of a token is
 * stored. `take` deletes its row, in the open transaction if there is one. Source: decisions, Sign-in.
 *
 *     const invitations = oneTime<{ orgId: number }>('invitation', { for: '7d' })    // @Module({ providers: [invitations] })
 *     const token = await invitations.make({ orgId: 3 })
 *     const invitation = await invitations.take(token)                               // { orgId: 3 }, and null afterwards
 */
import { createHash, randomBytes } from 'node:crypto'
import { Clock } from '../core/time.js'
import type { MaybePromise } from '../core/maybe-promise.js'
import type { Class } from '../metadata/class.js'
import type { Problem } from '../errors/declaration-error.js'
import { declareOptions, type OptionsOf } from '../options/declare-options.js'
import { option } from '../options/option.js'
import { Database } from './database.js'
import type { CustomSql } from './custom-sql.js'
import { createSweep } from './expiring-table.js'

const example = "For example: oneTime('invitation', { for: '7d' })."

const oneTimeOptions = declareOptions({
  /** The lifetime of a token: `'7d'`, or seconds. It is measured by the database's clock. */
  for: option.seconds(`Give at least one second. ${example}`).required(),
})

export interface OneTimeOptions extends OptionsOf<typeof oneTimeOptions> {}

const makeOptions = declareOptions({
  /** The subject of the token. A new token invalidates an earlier one with the same key. */
  key: option.any<string>(),
})

export interface OneTimeMakeOptions extends OptionsOf<typeof makeOptions> {}

/** Makes tokens for a value, and returns the value once. */
export interface OneTime<T> {
  /**
   * @param value JSON
   * @returns 256 random bits as 43 characters that need no escaping in a URL
   */
  make(value: T, options?: OneTimeMakeOptions): Promise<string>
  /** @returns the value; null if the token is wrong, was taken, was replaced, or has expired */
  take(token: string): Promise<T | null>
}

/**
 * The result of `oneTime`: a provider to inject as `OneTime<T>`. It has the same two methods itself, for a process with
 * one application.
 */
export type OneTimeProvider<T> = OneTime<T> & Class<OneTime<T>>

const table = 'filigree_one_time'
const createTable = `create table if not exists ${table} (
  hash text primary key not null,
  name text not null,
  about text,
  value text not null,
  ends_at bigint not null,
  unique (name, about)
);
create index if not exists ${table}_ends_at on ${table} (ends_at)`

/** Milliseconds between two removals of expired tokens. */
const sweepInterval = 60_000

class OneTimeTokens<T> implements OneTime<T> {
  static readonly inject: readonly unknown[] = [Database, Clock]
  #statements: Readonly<Record<'make' | 'take', CustomSql>> | undefined
  #sweep: ((now: number) => MaybePromise<unknown>) | undefined

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly name: string,
    private readonly lifetime: number,
  ) {}

  async start(): Promise<void> {
    await this.database.ensureTable(table, createTable)
    const tables = [table]
    const { database } = this
    this.#statements = {
      make: database.prepare({ kind: 'upsert', tables }, ({ value }) => {
        const values = ['hash', 'name', 'about', 'value', 'ends'].map(value).join(', ')
        return `insert into ${table} (hash, name, about, value, ends_at) values (${values})
          on conflict (name, about) do update
          set hash = excluded.hash, value = excluded.value, ends_at = excluded.ends_at`
      }),
      take: database.prepare(
        { kind: 'delete', tables },
        ({ value }) =>
          `delete from ${table} where hash = ${value('hash')} and name = ${value('name')}
          and ends_at > ${value('now')} returning value`,
      ),
    }
    this.#sweep = createSweep(database, { name: table, expiresAt: 'ends_at', sweepInterval })
  }

  async make(value: T, options: OneTimeMakeOptions = {}): Promise<string> {
    makeOptions.check('make', options)
    const text = JSON.stringify(value) as string | undefined
    if (text === undefined) throw new TypeError(`${this.name}: the value of a token must be JSON.`)
    const now = this.database.now(this.clock)
    await this.#sweep?.(now)
    const token = randomBytes(32).toString('base64url')
    // Keys are hashed, so that every text can be a key on every database.
    const about = options.key === undefined ? null : hashOf(options.key)
    await this.#run('make').change({
      hash: hashOf(token),
      name: this.name,
      about,
      value: text,
      ends: now + this.lifetime,
    })
    return token
  }

  async take(token: string): Promise<T | null> {
    const now = this.database.now(this.clock)
    // Any input is hashed and looked up, so that all rejections take the same time.
    const parameters = { hash: hashOf(isCanonical(token) ? token : ''), name: this.name, now }
    // If the request has already timed out, the transaction is rolled back. Otherwise the token would be lost.
    const [row] = await this.database.transaction(() => this.#run('take').rows(parameters), {
      isolation: 'read committed',
    })
    return row === undefined ? null : (JSON.parse(String(row[0])) as T)
  }

  #run(statement: 'make' | 'take'): CustomSql {
    if (this.#statements === undefined)
      throw new Error(`${this.name}: the application has not started yet.`)
    return this.#statements[statement]
  }
}

/**
 * @param name the purpose of the tokens, so that an invitation cannot be used as a password reset
 * @returns a provider: list it in `@Module({ providers })`
 */
export function oneTime<T>(name: string, options: OneTimeOptions): OneTimeProvider<T> {
  oneTimeOptions.check('oneTime', options)
  if (typeof name !== 'string' || name === '')
    throw new TypeError(`oneTime: the tokens need a name. ${example}`)
  const lifetime = oneTimeOptions.read(options).for * 1000
  const instances = new Set<OneTime<T>>()
  const soleInstance = (): OneTime<T> => {
    const [first, second] = instances
    if (first === undefined)
      throw new Error(
        `${name}: no application runs that has it among its providers. Add it to @Module({ providers }).`,
      )
    if (second !== undefined)
      throw new Error(
        `${name}: several applications run in this process. Inject it: static inject = [invitations].`,
      )
    return first
  }
  const provider = class extends OneTimeTokens<T> {
    constructor(database: Database, clock: Clock) {
      super(database, clock, name, lifetime)
    }
    async onStart(): Promise<void> {
      await this.start()
      instances.add(this)
    }
    onStop(): void {
      instances.delete(this)
    }
    static make(value: T, options?: OneTimeMakeOptions): Promise<string> {
      return soleInstance().make(value, options)
    }
    static take(token: string): Promise<T | null> {
      return soleInstance().take(token)
    }
  }
  Object.defineProperty(provider, 'name', { value: `oneTime(${name})` })
  tokenNames.set(provider, name)
  return provider
}

/** The names of tokens by the class of their provider. */
const tokenNames = new WeakMap<Class, string>()

/** Finds providers with the same name, each of which would accept the tokens of the other. */
export function findDuplicateTokens(classes: Iterable<Class>): Problem[] {
  const names = new Set<string>()
  const problems: Problem[] = []
  for (const type of classes) {
    const name = tokenNames.get(type)
    if (name === undefined) continue
    if (names.has(name))
      problems.push({
        code: 'DUPLICATE_ONE_TIME',
        message: `oneTime: two providers have the name '${name}', so a token of one would be valid for the other.`,
        remedy: "Give one of them another name: oneTime('reset', { for: '1h' }).",
      })
    names.add(name)
  }
  return problems
}

/** True for the canonical encoding, which `make` writes. Other encodings of the same bytes are rejected. */
function isCanonical(token: unknown): token is string {
  return (
    typeof token === 'string' &&
    token.length === 43 &&
    Buffer.from(token, 'base64url').toString('base64url') === token
  )
}

/** Hashes the UTF-16 form, because UTF-8 maps all lone surrogates to the same bytes. */
function hashOf(text: unknown): string {
  return createHash('sha256').update(String(text), 'utf16le').digest('base64url')
}
