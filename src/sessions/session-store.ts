/** Sessions of one process, in its memory: gone with it. */

interface Entry {
  readonly data: string
  readonly expiresAt: number
}

/**
 * @param maxSessions sessions that are kept; then the one that was written longest ago is forgotten. Default 100,000.
 */
export function createMemoryStore(maxSessions = 100_000): SessionStore {
  // In the order of writing, which is the order of expiry too while the idle life is one for all.
  const entries = new Map<string, Entry>()
  return {
    read: (hash, now) => {
      const entry = entries.get(hash)
      if (entry === undefined) return undefined
      if (now < entry.expiresAt) return entry.data
      entries.delete(hash)
      return undefined
    },
    write: (hash, data, expiresAt, isExisting) => {
      if (!entries.delete(hash) && isExisting) return
      if (entries.size >= maxSessions) dropFirst(entries)
      entries.set(hash, { data, expiresAt })
    },
    remove: (hash) => {
      entries.delete(hash)
    },
    sweep: (now) => {
      for (const [hash, { expiresAt }] of entries) {
        if (expiresAt <= now) entries.delete(hash)
      }
    },
  }
}

function dropFirst(entries: Map<string, Entry>): void {
  for (const hash of entries.keys()) {
    entries.delete(hash)
    return
  }
}

/** Where sessions are kept. Source: decisions, Sessions. */

/**
 * One suite, `test/contracts/session-store.contract.ts`, holds every store to this. Sessions are named by the SHA-256 of
 * their id, so that who reads the store cannot take one over. Times are milliseconds since 1970. A store may answer at
 * once or later; what it throws is logged and the request goes on.
 */
export interface SessionStore {
  /** @returns the JSON text last written, or `undefined` where there is none or its time is over */
  read(hash: string, now: number): string | undefined | Promise<string | undefined>
  /**
   * Keeps the text until `expiresAt`, in place of what was there.
   *
   * @param isExisting the session was read from here: where it is gone by now it stays gone, since somebody signed out meanwhile
   */
  write(hash: string, data: string, expiresAt: number, isExisting: boolean): void | Promise<void>
  /** Nothing to remove is no fault. */
  remove(hash: string): void | Promise<void>
  /** Drops what is over. Called every few minutes, for stores that do not do so by themselves. */
  sweep?(now: number): void | Promise<void>
}
