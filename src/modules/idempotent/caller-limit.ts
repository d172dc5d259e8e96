/**
 * Limits what one caller may have stored: keys, and bytes of responses. Each process counts by itself, and reads the exact
 * numbers from the table from time to time, so several processes may exceed the limit by a minute's keys.
 */
import { HttpError } from '../../index.js'

/** What one caller has stored. */
export interface StoredKeys {
  readonly keys: number
  readonly bytes: number
  /** When the oldest key expires, in milliseconds since 1970. */
  readonly firstEnd: number
}

interface Usage {
  keys: number
  bytes: number
  firstEnd: number
  /** When the numbers were read. */
  readAt: number
  /** Whether they have changed in this process since. */
  hasChanged: boolean
}

/** Bytes of responses that one caller may have stored. Further responses are not stored. */
const maxBytes = 64 * 1024 * 1024

/** Milliseconds after which the numbers are read again: usually, and while the caller is at the limit. */
const [refreshMs, refreshAtLimitMs] = [60_000, 1_000]

/** The number of callers whose numbers are in memory. */
const maxCallers = 10_000

export class CallerLimit {
  readonly #maxKeys: number
  readonly #read: (caller: string) => Promise<StoredKeys>
  readonly #usages = new Map<string, Usage>()

  /** @param read reads what a caller has stored */
  constructor(maxKeys: number, read: (caller: string) => Promise<StoredKeys>) {
    this.#maxKeys = maxKeys
    this.#read = read
  }

  /** @returns undefined if the caller may store another key, otherwise the error for a new key */
  async findRefusal(caller: string, now: number): Promise<HttpError | undefined> {
    const usage = await this.#usageOf(caller, now)
    return usage.keys < this.#maxKeys ? undefined : tooManyKeys(usage.firstEnd - now)
  }

  addKey(caller: string): void {
    const usage = this.#usages.get(caller)
    if (usage === undefined) return
    usage.keys++
    usage.hasChanged = true
  }

  removeKey(caller: string): void {
    const usage = this.#usages.get(caller)
    if (usage !== undefined) usage.keys = Math.max(0, usage.keys - 1)
  }

  /** Counts the bytes of a response. @returns false if the caller has stored too many */
  addBytes(caller: string, bytes: number): boolean {
    const usage = this.#usages.get(caller)
    if (usage === undefined) return true
    if (usage.bytes + bytes > maxBytes) return false
    usage.bytes += bytes
    return true
  }

  async #usageOf(caller: string, now: number): Promise<Usage> {
    const existing = this.#usages.get(caller)
    if (existing !== undefined) {
      const isAtLimit = existing.keys >= this.#maxKeys
      const lifetime = isAtLimit ? refreshAtLimitMs : refreshMs
      const isRecent = Math.abs(now - existing.readAt) < lifetime
      if (isRecent && !(isAtLimit && existing.hasChanged)) return existing
    }
    const usage = { ...(await this.#read(caller)), readAt: now, hasChanged: false }
    this.#usages.delete(caller)
    this.#usages.set(caller, usage)
    if (this.#usages.size > maxCallers) {
      const [oldest] = this.#usages.keys()
      if (oldest !== undefined) this.#usages.delete(oldest)
    }
    return usage
  }
}

function tooManyKeys(wait: number): HttpError {
  const seconds = Math.max(1, Math.ceil(wait / 1000))
  return new HttpError(429, 'You have used too many Idempotency-Keys.', {
    code: 'IDEMPOTENCY_TOO_MANY_KEYS',
    headers: { 'Retry-After': String(seconds) },
  })
}
