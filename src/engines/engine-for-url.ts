/** Selects the engine by the database's address. A new engine is a folder in `engines` and a line here. */
import type { DeclarationError } from '../errors/declaration-error.js'
import { didYouMean } from '../errors/did-you-mean.js'
import type { MissingPackage } from '../errors/missing-package.js'
import type { Dialect } from './contract/dialect.js'
import type { Engine, OpenOptions } from './contract/engine.js'
import { createPostgresDialect } from './postgres/dialect.js'
import { pg } from './postgres/driver.js'
import { sessionKinds, type PostgresOptions } from './postgres/options.js'
import {
  dialectNameOf,
  invalidAddress,
  isLocalAddress,
  readChoice,
  readCount,
  readFileAddress,
  readServerAddress,
  readSwitch,
  schemeOf,
  splitHosts,
} from './database-address.js'
import { sqliteDialect } from './sqlite/dialect.js'

/** The address of a database that lives in memory and ends with its application. */
export const inMemory = 'sqlite::memory:'

/** The default address. */
export const defaultUrl = 'sqlite:./data/app.db'

/** The address of a temporary database in memory. */
export const emptyAddress = 'sqlite::memory:'

/**
 * @param url `sqlite:./data/app.db`, `sqlite::memory:`, `postgres://…`. Parameters of SQLite: `synchronous=full`,
 * `busyTimeout=5000`, `mode=ro`, `driver=node:sqlite`; of PostgreSQL: `connections=10`, `connectTimeout=5000`,
 * `prepare=false`, `direct=postgres://…`, `schemaTimeout=60000`, `replicas=postgres://a/x,postgres://b/x`,
 * `replicaLag=1000`, `listen=poll`, `locks=row`, and pg's own
 * @throws {DeclarationError} an address without a known engine, or a database that cannot be opened
 */
export async function openEngine(url: string, options: OpenOptions): Promise<Engine> {
  const scheme = schemeOf(url)
  const open = Object.hasOwn(engines, scheme) ? engines[scheme] : undefined
  if (open === undefined) throw unknownScheme(scheme)
  if (open === openSqliteUrl && (options.replicas?.length ?? 0) > 0) throw noReplicas()
  return open(url, options)
}

/**
 * The dialects of all engines, for usual servers: migrations are written for an engine without being connected to it.
 */
export const dialects: readonly Dialect[] = [sqliteDialect, createPostgresDialect(true)]

/** The package that applications install themselves for a database at this address. */
export function packageFor(url: string): MissingPackage | undefined {
  return dialectNameOf(url) === 'postgres' ? pg : undefined
}

/** The program that makes backups of a database server; `undefined` if the engine does. */
export function backupProgram(
  url: string,
): { readonly title: string; readonly command: string } | undefined {
  if (isLocalAddress(url)) return undefined
  const { title = 'a server', backup: command = '' } =
    dialects.find(({ product }) => product.backup !== undefined)?.product ?? {}
  return { title, command }
}

type Open = (url: string, options: OpenOptions) => Promise<Engine>

const engines: Readonly<Record<string, Open>> = {
  sqlite: openSqliteUrl,
  postgres: openPostgresUrl,
  postgresql: openPostgresUrl,
}

async function openSqliteUrl(url: string, { statementTimeout }: OpenOptions): Promise<Engine> {
  const { file, parameters } = readFileAddress(url)
  const { openSqlite } = await import('./sqlite/sqlite.js')
  return openSqlite({
    file: file ?? ':memory:',
    synchronous: readChoice(parameters, 'synchronous', ['normal', 'full']) ?? 'normal',
    busyTimeout: readCount(parameters, 'busyTimeout'),
    readOnly: readChoice(parameters, 'mode', ['ro']) === 'ro',
    driver: parameters.get('driver') ?? undefined,
    readTime: statementTimeout,
  })
}

async function openPostgresUrl(url: string, options: OpenOptions): Promise<Engine> {
  const addresses = splitHosts(url).map((one) =>
    readServerAddress(one, 'The address of the database'),
  )
  const [{ searchParams } = new URL(url)] = addresses
  const replicas = readReplicas(searchParams.get('replicas')) ?? options.replicas ?? []
  const bound = readCount(searchParams, 'replicaLag') ?? options.replicaLag ?? defaultReplicaLag
  const primary = readPostgresOptions(addresses, options)
  if (replicas.length > 0) {
    const copies = replicas.map((one, index) => {
      const copy = readServerAddress(one, `Address ${index + 1} of the database's replicas`)
      return readPostgresOptions([copy], { ...options, direct: undefined })
    })
    const { openReplicated } = await import('./postgres/replicas/open-replicated.js')
    return openReplicated({ primary, replicas: copies, maxLag: bound })
  }
  const { openPostgres } = await import('./postgres/postgres.js')
  return openPostgres(primary)
}

/** Milliseconds. */
const defaultReplicaLag = 1000

function readReplicas(text: string | null): readonly string[] | undefined {
  return text === null ? undefined : splitAddresses(text)
}

/** `postgres://a/shop,postgres://b/shop` */
export function splitAddresses(text: string): readonly string[] {
  const addresses = text.split(',').map((one) => one.trim())
  return addresses.filter((one) => one !== '')
}

/** @param addresses an address for each host, with the same parameters */
function readPostgresOptions(
  addresses: readonly URL[],
  { log, direct, statementTimeout }: OpenOptions,
): PostgresOptions {
  const parameters = addresses[0]?.searchParams ?? new URLSearchParams()
  const directAddress = parameters.get('direct') ?? direct
  const options = {
    connections: readCount(parameters, 'connections'),
    connectTimeout: readCount(parameters, 'connectTimeout'),
    schemaTimeout: readCount(parameters, 'schemaTimeout'),
    prepare: readSwitch(parameters, 'prepare'),
    listen: readChoice(parameters, 'listen', ['notify', 'poll']),
    locks: readChoice(parameters, 'locks', ['advisory', 'row']),
    direct:
      directAddress === undefined
        ? undefined
        : readServerAddress(directAddress, 'The direct address of the database').href,
  }
  const sessionKind = readChoice(parameters, 'target_session_attrs', sessionKinds)
  const ownNames = [...Object.keys(options), 'replicas', 'replicaLag', 'target_session_attrs']
  const [url = '', ...otherUrls] = addresses.map((address) => {
    for (const name of ownNames) address.searchParams.delete(name)
    return address.href
  })
  return { url, otherUrls, ...options, sessionKind, statementTimeout, log }
}

function noReplicas(): DeclarationError {
  return invalidAddress(
    'The database is a file of SQLite, which has no replicas.',
    'Leave DATABASE_REPLICAS and the option replicas out, or use PostgreSQL.',
  )
}

function unknownScheme(scheme: string): DeclarationError {
  const suggestion = didYouMean(scheme, Object.keys(engines))
  return invalidAddress(
    scheme === ''
      ? 'The address of the database does not begin with an engine.'
      : `The address of the database begins with "${scheme}:", which is not an engine.`,
    `${suggestion} Write sqlite:./data/app.db or postgres://user:password@host/name.`.trim(),
  )
}
