/** One attack on an application, as somebody from outside would try it. */
export interface Attack {
  /** What the attacker does, in words. */
  readonly name: string
  /** What the attack got before it was closed. */
  readonly before: string
  /** The attack measures time or memory: `npm run attacks` runs it, the tests do not. */
  readonly measures?: boolean
  /** Starts the application, attacks it, stops it. */
  run(): Promise<AttackResult>
}

export interface AttackResult {
  /** What the attacker gets now, with figures where there are any. */
  readonly now: string
  /** Whether the application held. */
  readonly held: boolean
}
