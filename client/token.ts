/** Reads and stores the token, without a cache, so that all tabs agree. Source: specification, Authentication 6. */
import type { StoredTokens, TokenStore } from './options.js'

// Missing in Node and in workers; reading it may throw if a browser blocks storage.
declare const localStorage: TokenStore

/**
 * @param memory receives the token if the store is missing, blocked or full
 * @returns a function that returns the stored token. With an argument, it stores this token first
 */
export const tokenAccessor =
  (memory: StoredTokens, key: string, store?: TokenStore) =>
  (fresh?: string): string | undefined => {
    try {
      const target = store ?? localStorage
      if (fresh) target.setItem(key, fresh)
      return target.getItem(key) ?? memory[key]
    } catch {
      return (memory[key] = fresh ?? memory[key])
    }
  }
