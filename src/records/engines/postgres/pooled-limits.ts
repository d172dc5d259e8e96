/**
 * Time-outs behind a pooler that refuses them among a connection's parameters, as PgBouncer does: each transaction sets
 * them for itself, in the message that begins it. Source: issue 13, 1; docs/records.md, Behind a pooler.
 */
import type { PostgresOptions } from './options.js'

const names = ['statement_timeout', 'lock_timeout'] as const

/** Whether a server has refused a connection because of its time-outs. */
export function refusesLimits(cause: unknown): boolean {
  return /unsupported startup parameter.*(statement|lock)_timeout/.test(String(cause))
}

/** The same without time-outs among the connection's parameters; those of the address win, as before. */
export function limitedWithin(options: PostgresOptions): PostgresOptions {
  const { statementTimeout = 30_000, lockTimeout = 10_000 } = options
  const address = new URL(options.url)
  const [statement, lock] = names.map((name) => readLimit(address.searchParams.get(name)))
  for (const name of names) address.searchParams.delete(name)
  const limits = [
    ['statement_timeout', statement ?? statementTimeout],
    ['lock_timeout', lock ?? lockTimeout],
  ] as const
  return {
    ...options,
    url: address.href,
    statementTimeout: 0,
    lockTimeout: 0,
    limitsWithin: limits
      .filter(([, milliseconds]) => milliseconds > 0)
      .map(([name, milliseconds]) => `; set local ${name} = ${milliseconds}`)
      .join(''),
  }
}

/** Milliseconds; what is no number of them is left to the server's word on it, which is none here. */
function readLimit(text: string | null): number | undefined {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : undefined
}
