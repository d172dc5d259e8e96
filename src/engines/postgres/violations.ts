/**
 * Reads which constraint a server's error is about. Servers that pass on the errors of other servers lose the fields of
 * the error, and a failed `copy` even its code, so both are read from the message. The server translates the words
 * around the names. Sources: PostgreSQL, Error and Notice Message Fields; Citus, remote_commands.c, multi_copy.c.
 */

/** The fields of a server's error. */
export type PostgresError = Readonly<Partial<Record<string, unknown>>>

export interface PostgresViolation {
  /** The constraint's name in the database. */
  readonly constraint?: string
  /** The columns whose values violate it. */
  readonly columns?: readonly string[]
}

/** The code of a server's error. @returns `undefined` for errors of the connection and of the program */
export function serverCode(error: PostgresError): string | undefined {
  const { code } = error
  if (typeof code !== 'string' || !/^[0-9A-Z]{5}$/.test(code) || code.startsWith('E'))
    return undefined
  if (code !== 'XX000') return code
  if (error['routine'] === 'ReportCopyError') return codeOfCopy(error)
  return isLostByCitus(error) ? '08006' : code
}

/**
 * Whether the connection to another server broke during a statement, which Citus reports in the words of its client and
 * without a code. Source: Citus, ReportResultError; PostgreSQL, fe-misc.c and fe-secure.c.
 */
function isLostByCitus({ routine, message }: PostgresError): boolean {
  const words = /connection|SSL|socket|server closed|could not (?:receive|send)/i
  return routine === 'ReportResultError' && words.test(String(message))
}

/**
 * A commit that failed because of a conflict on another server, which a notice has reported. Source: Citus,
 * ErrorIfPostCommitFailedShardPlacements.
 */
export function asConflict(error: unknown): unknown {
  const { code, message, severity } = (error ?? {}) as PostgresError
  if (code !== 'XX000') return error
  return Object.assign(new Error(String(message), { cause: error }), { code: '40001', severity })
}

/** The code of an error that a `copy` to another server has lost. */
function codeOfCopy({ message, detail }: PostgresError): string {
  const [code] = messages.find(([, words]) => words.test(String(message))) ?? []
  if (code !== undefined) return code
  const names = namesIn(message)
  const keys = String(detail).split(')=(').length - 1
  if (names.length === 1 && keys > 0) return keys === 1 ? '23505' : '23P01'
  if (names.length > 1 && keys === 1) return '23503'
  if (names.length !== 2 || typeof detail !== 'string') return 'XX000'
  return isShardName(names[1]) && !isShardName(names[0]) ? '23502' : '23514'
}

/** Errors of time and conflicts, whose messages contain no names. */
const messages: readonly (readonly [code: string, words: RegExp])[] = [
  ['40001', /^could not serialize access/],
  ['40P01', /^deadlock detected/],
  ['55P03', /lock timeout/],
  ['57014', /statement timeout/],
]

/** @param code the result of `serverCode` */
export function readViolation(code: string, error: PostgresError): PostgresViolation {
  const { constraint, column, detail, message } = error
  if (code === '23502') {
    const name = column ?? namesIn(message)[0]
    return typeof name === 'string' ? { columns: [name] } : {}
  }
  if (!code.startsWith('23')) return typeof constraint === 'string' ? { constraint } : {}
  const names = namesIn(message)
  const name = constraint ?? (isOfIndex(code) ? names[0] : names[1])
  const columns = code === '23514' ? undefined : columnsOf(detail)
  return {
    ...(typeof name === 'string' && { constraint: name }),
    ...(columns !== undefined && { columns }),
  }
}

function isOfIndex(code: string): boolean {
  return code === '23505' || code === '23P01'
}

/** The quoted names of a message. */
function namesIn(message: unknown): string[] {
  return Array.from(String(message).matchAll(/["“„«»](.+?)["“”»«]/g), ([, name]) => String(name))
}

/** The server adds the number of the shard to names: `product_102008`. */
function isShardName(name: string | undefined): boolean {
  return name !== undefined && /_\d+$/.test(name)
}

/** `Key (tenant_id, lower(name::text))=(1, a) already exists.` → `tenant_id`, `name` */
function columnsOf(detail: unknown): readonly string[] | undefined {
  const [, terms] = /\((.*?)\)=\(/s.exec(String(detail)) ?? []
  if (terms === undefined) return undefined
  const texts = terms.replace(/'(?:[^']|'')*'/g, '').replace(/::"?[\w ]+"?(?:\(\d+\))?/g, '')
  return Array.from(
    texts.matchAll(/"((?:[^"]|"")+)"|\b([\p{L}_][\p{L}\d_$]*)\b(?!\s*\()/gu),
    ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? String(plain),
  )
}
