/**
 * Names of prepared statements. Each name is a hash of the text, so that the same name always means the same statement
 * if a pooler assigns one server connection to several processes. Sources: PostgreSQL, Extended Query; PgBouncer,
 * Features.
 */

import { createHash } from 'node:crypto'
import type { MaybePromise } from '../../core/maybe-promise.js'
import type { Row, Statement } from '../contract/engine.js'
import { frameworkQuery } from '../contract/statement.js'
import type { Columns } from './wire-protocol.js'

/** The maximum number of statements with stored placeholder types. Calls of other statements are sent one by one. */
const maxStatements = 1000

/** Runs a query that reads only the catalogue. */
type RunQuery = (statement: Statement, values: readonly unknown[]) => Promise<readonly Row[]>

/**
 * The types that the server determined for the placeholders of statements when it prepared them. A separate `prepare`
 * for that would wait for locks on the statement's table. Source: PostgreSQL, Extended Query, ParameterDescription.
 */
export class PlaceholderTypes {
  readonly #numbers = new Map<string, MaybePromise<readonly number[]>>()
  readonly #waiters = new Map<string, (numbers: readonly number[]) => void>()
  readonly #names = new Map<number, string>()

  /** @param numbers the object ids of the types, in the order of the placeholders */
  record(sql: string, numbers: readonly number[]): void {
    if (this.#numbers.size < maxStatements || this.#numbers.has(sql))
      this.#numbers.set(sql, numbers)
    this.#waiters.get(sql)?.(numbers)
    this.#waiters.delete(sql)
  }

  /** @returns false if no types were stored */
  forget(sql: string): boolean {
    return this.#numbers.delete(sql)
  }

  /** Waits until any caller has prepared the statement. */
  async typesOf(sql: string, runQuery: RunQuery): Promise<readonly string[]> {
    let numbers = this.#numbers.get(sql)
    if (numbers === undefined) {
      numbers = new Promise((resolve) => this.#waiters.set(sql, resolve))
      if (this.#numbers.size < maxStatements) this.#numbers.set(sql, numbers)
    }
    return this.toNames(await numbers, runQuery)
  }

  async toNames(numbers: readonly number[], runQuery: RunQuery): Promise<readonly string[]> {
    const missing = numbers.filter((number) => !this.#names.has(number))
    if (missing.length > 0) {
      for (const [number, name] of await runQuery(typeNames, [missing]))
        this.#names.set(Number(number), String(name))
    }
    return numbers.map((number) => String(this.#names.get(number)))
  }
}

const typeNames = frameworkQuery(
  `select cast(number as bigint), format_type(number, null) from unnest(cast($1 as oid[])) as number`,
  { together: 'calls' },
)

/**
 * The maximum number of names. Servers keep prepared statements until the connection ends or closes them. Above the
 * limit, the names without use for the longest time are removed, such as those of live queries without listeners or of
 * queries that one client has tried.
 */
export const maxNames = 1000
/** The number of names that are removed together, so that the search for them is rare. */
const droppedNames = 100
/** A statement that became outdated this often is no longer prepared. */
const maxRenewals = 20

/** The maximum number of attempts if the prepared form is outdated. The last attempt sends the text. */
export const maxAttempts = 4

/** Why the server refused a prepared statement. */
export type Staleness = 'missing' | 'there already' | 'outdated'

interface NameEntry {
  /** Undefined for a statement that is no longer prepared. */
  readonly name: string | undefined
  lastUse: number
}

export class PreparedStatements {
  /**
   * True behind a pooler: other processes use the same server connections, so prepared statements may be missing or
   * belong to others. Such an error would end a transaction, so transactions send texts.
   */
  isPooled = false
  /** The types of their placeholders. */
  readonly types = new PlaceholderTypes()
  readonly #isDisabled: boolean
  readonly #names = new Map<string, NameEntry>()
  readonly #currentNames = new Set<string>()
  #uses = 0
  readonly #renewals = new Map<string, number>()

  /** @param isDisabled whether to send texts instead of prepared statements */
  constructor(isDisabled = false) {
    this.#isDisabled = isDisabled
  }

  /** @returns `undefined` if the text must be sent */
  nameFor(sql: string): string | undefined {
    const entry = this.#names.get(sql)
    if (entry !== undefined) {
      entry.lastUse = ++this.#uses
      return entry.name
    }
    if (this.#isDisabled) return undefined
    if (this.#names.size >= maxNames) this.#dropOldest()
    return this.#remember(sql, nameOf(sql))
  }

  /** False for a removed name. A connection may close its statement. */
  isCurrent(name: string): boolean {
    return this.#currentNames.has(name)
  }

  #dropOldest(): void {
    const byUse = [...this.#names].sort(([, one], [, other]) => one.lastUse - other.lastUse)
    for (const [sql, { name }] of byUse.slice(0, droppedNames)) {
      this.#names.delete(sql)
      this.#renewals.delete(sql)
      if (name !== undefined) this.#currentNames.delete(name)
    }
  }

  /** Assigns a new name to an outdated statement, so that every connection prepares it again. */
  #renew(sql: string): void {
    const renewals = (this.#renewals.get(sql) ?? 0) + 1
    this.#renewals.set(sql, renewals)
    const before = this.#names.get(sql)?.name
    if (before !== undefined) this.#currentNames.delete(before)
    if (renewals > maxRenewals) this.#remember(sql, undefined)
    else this.#remember(sql, `${nameOf(sql)}_${renewals}`)
  }

  /**
   * Whether the statement was refused before it ran because its prepared form is missing, outdated or exists already.
   * Stores the reason.
   */
  recordStaleness(sql: string, error: unknown): boolean {
    const staleness = this.#isRetyped(sql, error) ? 'outdated' : stalenessOf(error)
    if (staleness === undefined) return false
    if (staleness === 'outdated') this.#renew(sql)
    else this.isPooled = true
    return true
  }

  /** Whether a column has a different type than when the server determined the types of the placeholders. */
  #isRetyped(sql: string, error: unknown): boolean {
    const { code } = (error ?? {}) as { readonly code?: unknown }
    return typeof code === 'string' && typeErrorCodes.has(code) && this.types.forget(sql)
  }

  #remember<Name extends string | undefined>(sql: string, name: Name): Name {
    this.#names.set(sql, { name, lastUse: ++this.#uses })
    if (name !== undefined) this.#currentNames.add(name)
    return name
  }
}

/** The codes `undefined_function`, which also covers operators, and `datatype_mismatch`. */
const typeErrorCodes: ReadonlySet<string> = new Set(['42883', '42804'])

/** The reason if the statement was refused before it ran, so that it may run again. */
export function stalenessOf(error: unknown): Staleness | undefined {
  const { code, message, routine } = (error ?? {}) as Partial<Record<string, unknown>>
  if (code === '26000') return 'missing'
  if (code === '42P05') return 'there already'
  const isOutdated =
    routine === 'RevalidateCachedQuery' || String(message).startsWith('cached plan')
  return code === '0A000' && isOutdated ? 'outdated' : undefined
}

function nameOf(sql: string): string {
  return `filigree_${createHash('sha256').update(sql).digest('hex').slice(0, 32)}`
}

/**
 * The state of a prepared statement on this connection: its columns; `begun` while it is being prepared; `unsure` after
 * the preparation has failed, so that it may exist or not; or that another process has prepared it on a server
 * connection of a pooler.
 */
export type Preparation = Columns | 'begun' | 'unsure' | 'undescribed'
