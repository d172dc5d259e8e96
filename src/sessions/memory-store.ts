/** Sessions of one process, in its memory: gone with it. */
import type { SessionStore } from './session-store.js'

interface Entry {
  readonly data: string
  readonly expiresAt: number
}

/**
 * @param most sessions that are kept; then the one that was written longest ago is forgotten. Default 100,000.
 */
export function createMemoryStore(most = 100_000): SessionStore {
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
    write: (hash, data, expiresAt, known) => {
      if (!entries.delete(hash) && known) return
      if (entries.size >= most) dropFirst(entries)
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
