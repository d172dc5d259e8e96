/** Reads and stores the token, without a cache, so that all tabs agree. Source: specification, Authentication 6. */
import type { TokenStore } from './options.js'

// Missing in Node and in workers; reading it may throw if a browser blocks storage.
declare const localStorage: TokenStore

/**
 * @returns a function that stores a fresh token, if there is one, and returns the stored token
 *
 * @param memory receives the token if the store is missing, blocked or full
 */
export const accessToken =
  (memory: Record<string, string | undefined>, key: string, store?: TokenStore) =>
  (fresh?: string): string | undefined => {
    try {
      const target = store ?? localStorage
      if (fresh) target.setItem(key, fresh)
      return target.getItem(key) ?? memory[key]
    } catch {
      return (memory[key] = fresh ?? memory[key])
    }
  }
