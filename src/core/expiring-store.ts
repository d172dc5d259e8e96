/**
 * Values that are stored under a key until a time: sessions, revoked tokens and replaced tokens. This file has the
 * interface and the store in memory, which is valid for one process. `records/expiring-table.ts` is the store in the
 * database, for all processes. The suite `test/contracts/expiring-store.contract.ts` tests every store.
 */
import type { MaybePromise } from './maybe-promise.js'

/** Times are milliseconds since 1970. Methods return values, or promises if the store is in a database. */
export interface ExpiringStore<Value> {
  /** @returns undefined if the key has no entry, or its entry has expired */
  get(key: string, now: number): MaybePromise<Value | undefined>
  /** Stores an entry. It replaces the previous entry of the key. */
  set(key: string, value: Value, expiresAt: number): MaybePromise<void>
  /** Replaces an existing entry. An entry that was deleted stays deleted. */
  replace(key: string, value: Value, expiresAt: number): MaybePromise<void>
  /**
   * Stores an entry unless the key has one. An expired entry counts until `deleteExpired` has removed it.
   *
   * @returns true for only one of several concurrent callers
   */
  add(key: string, value: Value, expiresAt: number): MaybePromise<boolean>
  /** As `add`. @returns the stored value; all concurrent callers get the first one's */
  getOrAdd(key: string, value: Value, expiresAt: number): MaybePromise<Value>
  /** Lets an existing entry expire later. An earlier time changes nothing. */
  extend(key: string, expiresAt: number): MaybePromise<void>
  /** Deleting a missing entry is not an error. */
  delete(key: string): MaybePromise<void>
  /** Removes expired entries. Calls within the store's sweep interval do nothing. */
  deleteExpired(now: number): MaybePromise<void>
}

interface ExpiringValue<Value> {
  readonly value: Value
  expiresAt: number
}

interface MemoryStoreOptions {
  /** The maximum number of entries. Beyond it, the entry that was stored longest ago is dropped. Default: no limit. */
  readonly maxEntries?: number
  /** Milliseconds between two removals of expired entries. Default: 0, so that every call removes them. */
  readonly sweepInterval?: number
}

/** The store of one process. Its entries end with the process. */
export class MemoryExpiringStore<Value> implements ExpiringStore<Value> {
  /** In the order in which they were stored. */
  readonly #entries = new Map<string, ExpiringValue<Value>>()
  readonly #maxEntries: number
  readonly #sweepInterval: number
  #nextSweep = -Infinity

  constructor({ maxEntries = Infinity, sweepInterval = 0 }: MemoryStoreOptions = {}) {
    this.#maxEntries = maxEntries
    this.#sweepInterval = sweepInterval
  }

  get(key: string, now: number): Value | undefined {
    const entry = this.#entries.get(key)
    return entry === undefined || entry.expiresAt <= now ? undefined : entry.value
  }

  set(key: string, value: Value, expiresAt: number): void {
    this.#entries.delete(key)
    if (this.#entries.size >= this.#maxEntries) this.#dropOldest()
    this.#entries.set(key, { value, expiresAt })
  }

  replace(key: string, value: Value, expiresAt: number): void {
    if (this.#entries.has(key)) this.set(key, value, expiresAt)
  }

  add(key: string, value: Value, expiresAt: number): boolean {
    if (this.#entries.has(key)) return false
    this.set(key, value, expiresAt)
    return true
  }

  getOrAdd(key: string, value: Value, expiresAt: number): Value {
    const existing = this.#entries.get(key)
    if (existing !== undefined) return existing.value
    this.set(key, value, expiresAt)
    return value
  }

  extend(key: string, expiresAt: number): void {
    const entry = this.#entries.get(key)
    if (entry !== undefined && entry.expiresAt < expiresAt) entry.expiresAt = expiresAt
  }

  delete(key: string): void {
    this.#entries.delete(key)
  }

  deleteExpired(now: number): void {
    if (now < this.#nextSweep) return
    this.#nextSweep = now + this.#sweepInterval
    for (const [key, { expiresAt }] of this.#entries)
      if (expiresAt <= now) this.#entries.delete(key)
  }

  clear(): void {
    this.#entries.clear()
  }

  #dropOldest(): void {
    for (const key of this.#entries.keys()) {
      this.#entries.delete(key)
      return
    }
  }
}
