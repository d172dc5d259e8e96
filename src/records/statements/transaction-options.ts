/** The options of `transaction`: how well it is kept apart from others, and for how long it is tried. */
import { refuseUnknownOptions } from '../../errors/refuse-options.js'
import type { Isolation } from '../../engines/contract/begin-options.js'
import type { Dialect } from '../../engines/contract/dialect.js'

export interface TransactionOptions {
  /**
   * Which changes of others are seen meanwhile. Default `repeatable read`: what was read stays the same, and if two
   * change the same row, one runs again. `serializable` is as if it ran alone. `read committed` can lose changes
   * between a read and a write, unless the read has `{ lock: true }`. SQLite has one writer, so every level is as good
   * as the highest.
   */
  isolation?: Isolation
  /** Milliseconds within which the work may run again after conflicts. Default 30,000. */
  timeout?: number
}

const isolations: readonly Isolation[] = ['read committed', 'repeatable read', 'serializable']

/** With it no change between a read and a write is lost. */
export const defaultIsolation: Isolation = 'repeatable read'

const optionNames: ReadonlySet<string> = new Set(['isolation', 'timeout'])

/** @throws {TypeError} an unknown option, or a value that is none */
export function checkOptions(options: TransactionOptions): void {
  refuseUnknownOptions('transaction', options, optionNames)
  const { isolation, timeout } = options
  if (isolation !== undefined && !isolations.includes(isolation)) {
    const names = isolations.join(', ')
    throw new TypeError(
      `transaction: unknown isolation "${isolation as string}". Levels: ${names}.`,
    )
  }
  if (timeout !== undefined && !(timeout > 0))
    throw new TypeError(`transaction: timeout must be a number of milliseconds above 0.`)
}

/**
 * A part has the isolation of its transaction.
 *
 * @throws {TypeError} it wants a higher one
 */
export function refuseHigher(
  wanted: Isolation | undefined,
  open: Isolation | undefined,
  { hasOneWriter }: Pick<Dialect, 'hasOneWriter'>,
): void {
  if (wanted === undefined || hasOneWriter) return
  const level = open === undefined ? 0 : isolations.indexOf(open)
  if (isolations.indexOf(wanted) <= level) return
  throw new TypeError(
    `transaction: it is part of one that is ${open ?? 'read committed'}, so it cannot be ${wanted}. Set it on the outer one, or on the route: { transaction: '${wanted}' }.`,
  )
}
