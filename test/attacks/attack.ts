/** One attack on an application by an outsider. */
export interface Attack {
  /** The action of the attacker. */
  readonly name: string
  /** The result of the attack before it was blocked. */
  readonly before: string
  /** Whether the attack measures time or memory. Only `npm run attacks` runs it, not the tests. */
  readonly measures?: boolean
  /** Starts the application, attacks it, stops it. */
  run(): Promise<AttackResult>
}

export interface AttackResult {
  /** The result of the attack now, with measured values if there are any. */
  readonly now: string
  /** Whether the application blocked the attack. */
  readonly isBlocked: boolean
}
