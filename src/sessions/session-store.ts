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
   * @param known the session was read from here: where it is gone by now it stays gone, since somebody signed out meanwhile
   */
  write(hash: string, data: string, expiresAt: number, known: boolean): void | Promise<void>
  /** Nothing to remove is no fault. */
  remove(hash: string): void | Promise<void>
  /** Drops what is over. Called every few minutes, for stores that do not do so by themselves. */
  sweep?(now: number): void | Promise<void>
}
