/**
 * The time that an application goes by: tokens, sessions, limits and kept answers ask it, never the system itself, so that
 * tests can move it. A provider of every application: `static inject = [Clock]`.
 */
export class Clock {
  /** Milliseconds since 1970. */
  now(): number {
    return Date.now()
  }
}
