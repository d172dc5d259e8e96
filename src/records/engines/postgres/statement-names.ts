/**
 * Names of prepared statements. Each is a hash of its text: where a pooler lends one server connection to several processes,
 * a name that is there already stands for the same statement.
 * Sources: PostgreSQL, Extended Query; PgBouncer, Features.
 */
import { createHash } from 'node:crypto'

/** Servers keep statements until the connection ends: their number is bounded. */
const mostNames = 1000
/** A text that a change of the schema outdates this often is sent whole from then on. */
const mostRenewals = 20

/** Attempts at a statement whose preparation is stale; the last sends its text. */
export const mostAttempts = 4

/** What an error of a prepared statement says about it. */
export type Staleness = 'missing' | 'there already' | 'outdated'

export class StatementNames {
  /**
   * Others use the server's connections too: what was prepared may be gone or another's, and transactions, which that ends,
   * send texts.
   */
  isPooled = false
  readonly #isOff: boolean
  readonly #names = new Map<string, string | undefined>()
  readonly #renewals = new Map<string, number>()

  /** @param isOff no statement is prepared: all texts are sent whole */
  constructor(isOff = false) {
    this.#isOff = isOff
  }

  /** @returns `undefined`: the text is sent whole */
  of(sql: string): string | undefined {
    const name = this.#names.get(sql)
    if (name !== undefined || this.#names.has(sql)) return name
    if (this.#isOff || this.#names.size >= mostNames) return undefined
    return this.#remember(sql, nameOf(sql))
  }

  /** The plan of the text is outdated: it is prepared anew under a name that no connection has. */
  #renew(sql: string): void {
    const renewals = (this.#renewals.get(sql) ?? 0) + 1
    this.#renewals.set(sql, renewals)
    if (renewals > mostRenewals) this.#names.set(sql, undefined)
    else this.#remember(sql, `${nameOf(sql)}_${renewals}`)
  }

  /** Whether the statement was refused before it ran, because of what was prepared. Takes note of what that says. */
  heed(sql: string, error: unknown): boolean {
    const staleness = stalenessOf(error)
    if (staleness === undefined) return false
    if (staleness === 'outdated') this.#renew(sql)
    else this.isPooled = true
    return true
  }

  #remember(sql: string, name: string): string {
    this.#names.set(sql, name)
    return name
  }
}

/** The statement was refused before it ran: it may run again. */
export function stalenessOf(error: unknown): Staleness | undefined {
  const { code, message, routine } = (error ?? {}) as Partial<Record<string, unknown>>
  if (code === '26000') return 'missing'
  if (code === '42P05') return 'there already'
  const isOutdated =
    routine === 'RevalidateCachedQuery' || String(message).startsWith('cached plan')
  return code === '0A000' && isOutdated ? 'outdated' : undefined
}

function nameOf(sql: string): string {
  return `filigree_${createHash('sha256').update(sql).digest('hex').slice(0, 32)}`
}
