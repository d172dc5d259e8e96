/** Session stores: their interface, and the store in the memory of one process, whose sessions end with the process. */
import { MemoryExpiringStore, type ExpiringStore } from '../core/expiring-store.js'

/**
 * @param maxSessions maximum number of sessions; beyond it, the session that was written longest ago is dropped.
 * Default: 100,000.
 */
export function createMemoryStore(maxSessions = 100_000): SessionStore {
  return toSessionStore(new MemoryExpiringStore<string>({ maxEntries: maxSessions }))
}

/** The session store of an expiring store, whose values are the JSON texts. */
export function toSessionStore(entries: ExpiringStore<string>): SessionStore {
  return {
    read: (hash, now) => entries.get(hash, now),
    write: (hash, data, expiresAt, isExisting) =>
      isExisting ? entries.replace(hash, data, expiresAt) : entries.set(hash, data, expiresAt),
    remove: (hash) => entries.delete(hash),
    sweep: (now) => entries.deleteExpired(now),
  }
}

/**
 * The contract of session stores. Source: decisions, Sessions. The suite `test/contracts/session-store.contract.ts` tests every store. Sessions are
 * identified by the SHA-256 of their ID, so that reading the store does not allow taking over a session. Times are
 * milliseconds since 1970. Methods may return values or promises. Errors are logged.
 */
export interface SessionStore {
  /** @returns the JSON text last written, or `undefined` if there is none or it has expired */
  read(hash: string, now: number): string | undefined | Promise<string | undefined>
  /**
   * Stores the text until `expiresAt`, and replaces the previous text.
   *
   * @param isExisting true if the session was read from this store. If it has been removed since, it stays removed,
   * because the visitor signed out meanwhile.
   */
  write(hash: string, data: string, expiresAt: number, isExisting: boolean): void | Promise<void>
  /** Removes the session. Removing a missing session is not an error. */
  remove(hash: string): void | Promise<void>
  /** Drops expired sessions. Called every few minutes, for stores that do not drop them by themselves. */
  sweep?(now: number): void | Promise<void>
}
