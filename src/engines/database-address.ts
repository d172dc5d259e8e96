/**
 * Reads the addresses of databases: `sqlite:` and a file, or the URL of a PostgreSQL server. Sources: RFC 3986;
 * PostgreSQL, Connection Strings; node-postgres, Connecting.
 */
import { DeclarationError } from '../errors/declaration-error.js'
import { didYouMean } from '../errors/did-you-mean.js'

/** The scheme in lower case; empty if there is none. White space around the address is ignored, as in variables. */
export function schemeOf(url: string): string {
  const address = url.trim()
  return address.slice(0, Math.max(0, address.indexOf(':'))).toLowerCase()
}

/** True for a database that is a file, or lives in memory. */
export function isLocalAddress(url: string): boolean {
  return schemeOf(url) === 'sqlite'
}

/** @returns the name of the dialect that an address leads to; `undefined` for an unknown scheme */
export function dialectNameOf(url: string): string | undefined {
  if (isLocalAddress(url)) return 'sqlite'
  return /^postgres(ql)?$/.test(schemeOf(url)) ? 'postgres' : undefined
}

/**
 * @returns the file of an embedded database; `undefined` for servers and databases in memory
 * @throws {DeclarationError} `DATABASE_URL` as `readFileAddress` does
 */
export function fileOfAddress(url: string): string | undefined {
  return isLocalAddress(url) ? readFileAddress(url).file : undefined
}

/** The address of a file: `shop.db` → `sqlite:shop.db`. */
export function addressOfFile(file: string): string {
  return `sqlite:${file.replaceAll('%', '%25').replaceAll('?', '%3F')}`
}

/** The address for opening the database read-only, if its engine supports that. */
export function readOnlyAddress(url: string): string {
  return isLocalAddress(url) ? `${url.trim()}${url.includes('?') ? '&' : '?'}mode=ro` : url
}

interface FileAddress {
  /** Relative to the working folder unless it begins with `/`; `undefined` for a database in memory. */
  readonly file: string | undefined
  readonly parameters: URLSearchParams
}

/**
 * Reads `sqlite:app.db` and `sqlite://app.db`, which are relative, and `sqlite:/srv/app.db` and `sqlite:///srv/app.db`,
 * which are not. The file's name is percent-decoded.
 *
 * @throws {DeclarationError} `DATABASE_URL`: no file, a malformed escape, or an unknown parameter
 */
export function readFileAddress(url: string): FileAddress {
  const [path = '', query = ''] = url
    .trim()
    .slice('sqlite:'.length)
    .split(/\?(.*)/s)
  const parameters = new URLSearchParams(query)
  checkParameters(parameters, fileParameters, " Write %3F for a question mark in the file's name.")
  const file = decodePath(path.replace(/^\/\/(?!\/)/, '').replace(/^\/{2,}/, '/'))
  if (file === '')
    throw invalidAddress(
      'The address of the database names no file.',
      'Write sqlite:./data/app.db, or sqlite::memory: for a database in memory.',
    )
  return { file: file === ':memory:' ? undefined : file, parameters }
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    throw invalidAddress(
      `The address of the database has a "%" in the file's name that begins no escape: ${path}.`,
      'Write %25 for a percent sign.',
    )
  }
}

/**
 * @param label what the address is for: `The address of the database`
 * @throws {DeclarationError} `DATABASE_URL`: no URL of PostgreSQL, or an unknown parameter
 */
export function readServerAddress(url: string, label: string): URL {
  if (splitHosts(url).length > 1)
    throw invalidAddress(
      `${label} names several hosts.`,
      'Only DATABASE_URL can have several hosts. Write one here, or an address for each replica.',
    )
  if (!URL.canParse(url)) throw invalidAddress(`${label} is not a URL.`)
  const address = new URL(url)
  if (!/^postgres(ql)?:$/.test(address.protocol))
    throw invalidAddress(
      `${label} begins with "${address.protocol}" and must begin with "postgres:".`,
    )
  checkParameters(address.searchParams, serverParameters)
  if (address.searchParams.get('host')?.includes(',') === true)
    throw invalidAddress(
      `${label} has several hosts in the parameter host.`,
      'Write them before the name of the database: postgres://a:5432,b:5432/name.',
    )
  return address
}

/** @returns an address for each host of `postgres://a:5432,b:5432/name` */
export function splitHosts(url: string): readonly string[] {
  const [, before, hosts, after] = /^(\w+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s.exec(url.trim()) ?? []
  if (hosts?.includes(',') !== true) return [url]
  return hosts.split(',').map((host) => `${before}${host}${after}`)
}

const fileParameters: readonly string[] = ['synchronous', 'busyTimeout', 'mode', 'driver']

/** Our own parameters, then those of pg, then those of other clients of PostgreSQL, which pg ignores. */
const serverParameters: readonly string[] = [
  ...['connections', 'connectTimeout', 'prepare', 'direct', 'schemaTimeout', 'replicas'],
  ...['replicaLag', 'listen', 'locks'],
  ...['application_name', 'fallback_application_name', 'options', 'ssl', 'sslmode', 'sslcert'],
  ...['sslkey', 'sslrootcert', 'sslnegotiation', 'uselibpqcompat', 'client_encoding', 'encoding'],
  ...['host', 'port', 'user', 'password', 'database', 'replication', 'binary'],
  ...['statement_timeout', 'lock_timeout', 'query_timeout', 'idle_in_transaction_session_timeout'],
  ...['keepAlive', 'keepAliveInitialDelayMillis', 'connectionTimeoutMillis'],
  ...['connect_timeout', 'hostaddr', 'dbname', 'passfile', 'service', 'servicefile'],
  ...['channel_binding', 'require_auth', 'requirepeer', 'target_session_attrs'],
  ...['load_balance_hosts', 'tcp_user_timeout', 'keepalives', 'keepalives_idle'],
  ...['keepalives_interval', 'keepalives_count', 'gssencmode', 'gsslib', 'gssdelegation'],
  ...['krbsrvname', 'requiressl', 'sslcompression', 'sslpassword', 'sslcertmode', 'sslcrl'],
  ...['sslcrldir', 'sslsni', 'sslkeylogfile', 'ssl_min_protocol_version'],
  ...['ssl_max_protocol_version', 'min_protocol_version', 'max_protocol_version'],
]

function checkParameters(parameters: URLSearchParams, names: readonly string[], hint = ''): void {
  for (const name of parameters.keys()) {
    if (names.includes(name)) continue
    const some = names.slice(0, 9).join(', ')
    throw invalidAddress(
      `The address of the database has the unknown parameter "${name}".`,
      `${didYouMean(name, names)} Parameters: ${some}.${hint}`.trim(),
    )
  }
}

export function readChoice<W extends string>(
  parameters: URLSearchParams,
  name: string,
  choices: readonly W[],
): W | undefined {
  const text = parameters.get(name)
  if (text === null) return undefined
  const choice = choices.find((one) => one === text.toLowerCase())
  if (choice !== undefined) return choice
  throw invalidAddress(
    `The database's parameter ${name} is "${text}" and must be ${choices.join(' or ')}.`,
  )
}

export function readSwitch(parameters: URLSearchParams, name: string): boolean | undefined {
  const text = parameters.get(name)
  if (text === null) return undefined
  if (text === 'true' || text === 'false') return text === 'true'
  throw invalidAddress(`The database's parameter ${name} is "${text}" and must be true or false.`)
}

export function readCount(parameters: URLSearchParams, name: string): number | undefined {
  const text = parameters.get(name)
  if (text === null) return undefined
  if (/^\d{1,7}$/.test(text)) return Number(text)
  throw invalidAddress(`The database's parameter ${name} is "${text}" and must be a whole number.`)
}

export function invalidAddress(
  message: string,
  remedy = 'Check DATABASE_URL, DATABASE_DIRECT_URL and DATABASE_REPLICAS.',
): DeclarationError {
  return new DeclarationError([{ code: 'DATABASE_URL', message, remedy }])
}
