/** Ends the streams of a token once the token is revoked. Source: decisions, "Sign-in". */
import type { Log } from '../core/log.js'
import type { Claims } from '../http/request.js'
import { toTrace, type Revocations, type TokenTrace } from './revocations.js'

/** Milliseconds between two looks at what other processes have revoked. */
const every = 2000

export interface WatchedTokensOptions {
  readonly revocations: Revocations
  readonly log: Log
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Told which of those that are watched were found to be called back, elsewhere or before; calls `endRevoked`. */
  readonly found: (names: ReadonlySet<string>) => void
}

export class WatchedTokens {
  readonly #options: WatchedTokensOptions
  readonly #watched = new Map<TokenTrace, () => void>()
  /** Opened since the last look: their token may have been revoked between the gate and now. */
  readonly #fresh: TokenTrace[] = []
  #timer: NodeJS.Timeout | undefined
  #looking = false
  #failing = false

  constructor(options: WatchedTokensOptions) {
    this.#options = options
  }

  /**
   * @param end called once when the token is revoked. Must not throw
   * @returns ends the watch
   */
  watch(claims: Claims, end: () => void): () => void {
    const trace = toTrace(claims)
    this.#watched.set(trace, end)
    this.#fresh.push(trace)
    if (this.#fresh.length === 1) setImmediate(() => void this.#look(this.#fresh.splice(0)))
    if (this.#options.revocations.trustFor !== undefined) this.#start()
    return () => {
      this.#watched.delete(trace)
      if (this.#watched.size === 0) this.#stop()
    }
  }

  /** Ends those that are revoked, in this process as soon as they are. */
  endRevoked(isRevoked: (trace: TokenTrace) => boolean): void {
    for (const trace of this.#watched.keys()) if (isRevoked(trace)) this.#end(trace)
  }

  /** One timer for all, while there are any; it never keeps a process alive. */
  #start(): void {
    this.#timer ??= setInterval(() => {
      if (!this.#looking) void this.#look([...this.#watched.keys()])
    }, every).unref()
  }

  #stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  async #look(traces: readonly TokenTrace[]): Promise<void> {
    const { revocations, now, log, found } = this.#options
    this.#looking = true
    try {
      const revoked = await revocations.among(traces, now())
      if (revoked.size > 0) found(new Set([...revoked].map(({ name }) => name)))
      this.#failing = false
    } catch (error) {
      // Nothing can be revoked in a database that does not answer; what was revoked meanwhile is found when it does.
      if (!this.#failing) log.warn({ err: error }, 'revoked tokens cannot be looked up for streams')
      this.#failing = true
    } finally {
      this.#looking = false
    }
  }

  #end(trace: TokenTrace): void {
    const end = this.#watched.get(trace)
    this.#watched.delete(trace)
    if (this.#watched.size === 0) this.#stop()
    end?.()
  }
}
