/**
 * Time-outs behind a pooler that does not accept them as parameters of a connection, such as PgBouncer: each
 * transaction sets them in the message that begins it. Source: docs/records.md, Behind a pooler.
 */
import type { PostgresOptions } from './options.js'

const names = ['statement_timeout', 'lock_timeout'] as const

/** Whether a server has refused a connection because of its time-outs. */
export function refusesLimits(cause: unknown): boolean {
  return /unsupported startup parameter.*(statement|lock)_timeout/.test(String(cause))
}

/** The options without time-outs as parameters of the connection; those of the address still take precedence. */
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

/** Milliseconds; other values are ignored here, where the server does not see them. */
function readLimit(text: string | null): number | undefined {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : undefined
}
