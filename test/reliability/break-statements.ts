/** Makes statements fail in the database drivers. */
import { createRequire } from 'node:module'

/**
 * `refused`: the database refuses the statement. `lost`: the connection is closed before the statement ran. `unheard`: the
 * statement ran, and the connection is closed before its result arrived.
 */
export type Kind = 'refused' | 'lost' | 'unheard'

export interface Breaker {
  readonly kinds: readonly Kind[]
  /** Makes the statement with this number fail, counted from now on, starting with 1. */
  arm(kind: Kind, place: number): void
  /** @returns whether the statement has failed */
  disarm(): boolean
  /** Restores the methods of the driver. */
  mend(): void
}

const require = createRequire(import.meta.url)

class Countdown {
  kind: Kind = 'refused'
  #left = 0

  arm(kind: Kind, place: number): void {
    this.kind = kind
    this.#left = place
  }

  disarm(): boolean {
    const wasHit = this.#left === 0
    this.#left = 0
    return wasHit
  }

  /** Counts a statement. @returns true if it has to fail */
  get isNow(): boolean {
    return this.#left > 0 && --this.#left === 0
  }
}

type Method = (this: object, ...given: unknown[]) => unknown
type Methods = Record<string, Method>

/** Breaks the SQLite driver that this version of Node.js uses. */
export async function breakSqlite(): Promise<Breaker> {
  const [databases, statements] = await sqlitePrototypes()
  const countdown = new Countdown()
  const mend = [
    ...['run', 'get', 'all', 'iterate'].map((name) => replace(statements, name, countdown)),
    replace(databases, 'exec', countdown),
  ]
  return {
    kinds: ['refused'],
    arm: (kind, place) => {
      countdown.arm(kind, place)
    },
    disarm: () => countdown.disarm(),
    mend: () => {
      for (const one of mend) one()
    },
  }
}

function replace(prototype: Methods, name: string, countdown: Countdown): () => void {
  const own = prototype[name]
  if (own === undefined) return () => undefined
  prototype[name] = function (...given) {
    if (countdown.isNow) throw diskFault()
    return own.apply(this, given)
  }
  return () => {
    prototype[name] = own
  }
}

/** The error of both drivers for a failing disk. */
function diskFault(): Error {
  const codes = { code: 'SQLITE_IOERR', errcode: 10, errstr: 'disk I/O error' }
  return Object.assign(new Error('disk I/O error'), codes)
}

async function sqlitePrototypes(): Promise<[Methods, Methods]> {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const isBuiltIn = major > 22 || (major === 22 && minor >= 16)
  const name = isBuiltIn ? 'node:sqlite' : 'better-sqlite3'
  const loaded = (await import(name)) as {
    DatabaseSync?: new (file: string) => Opened
    default: new (file: string) => Opened
  }
  const database = new (loaded.DatabaseSync ?? loaded.default)(':memory:')
  const prototypes: [Methods, Methods] = [
    Object.getPrototypeOf(database) as Methods,
    Object.getPrototypeOf(database.prepare('select 1')) as Methods,
  ]
  database.close()
  return prototypes
}

interface Opened {
  prepare(sql: string): object
  close(): void
}

/** The used part of pg's client. */
interface Client {
  readonly connection: { readonly stream: { destroy(): void } }
}
type Callback = (error: Error | undefined, result?: unknown) => void
/** A query object of the framework, which the client notifies of the result. */
interface Told {
  handleError(error: Error): void
  handleReadyForQuery(): void
}

export function breakPostgres(): Promise<Breaker> {
  const { Client: client } = require('pg') as { Client: { prototype: Methods } }
  const { prototype } = client
  const own = prototype['query'] as Method
  const countdown = new Countdown()
  prototype['query'] = function (...given) {
    if (!countdown.isNow) return own.apply(this, given)
    if (countdown.kind === 'unheard') return unheard(own, this, given)
    if (countdown.kind === 'refused') return answered(given, refusal())
    ;(this as Client).connection.stream.destroy()
    return own.apply(this, given)
  }
  return Promise.resolve({
    kinds: ['refused', 'lost', 'unheard'],
    arm: (kind, place) => {
      countdown.arm(kind, place)
    },
    disarm: () => countdown.disarm(),
    mend: () => {
      prototype['query'] = own
    },
  })
}

/** The error of a server without memory. */
function refusal(): Error {
  return Object.assign(new Error('out of memory'), { code: '53200', severity: 'ERROR' })
}

function isTold(query: unknown): query is Told {
  return typeof query === 'object' && query !== null && 'submit' in query
}

function answered(given: unknown[], error: Error): unknown {
  const [query] = given
  if (isTold(query)) {
    process.nextTick(() => {
      query.handleError(error)
    })
    return undefined
  }
  const callback = given.at(-1)
  if (typeof callback !== 'function') return Promise.reject(error)
  process.nextTick(callback, error)
  return undefined
}

async function unheard(own: Method, client: object, given: unknown[]): Promise<unknown> {
  const [query] = given
  if (isTold(query)) {
    query.handleReadyForQuery = () => {
      ;(client as Client).connection.stream.destroy()
      query.handleError(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }))
    }
    return own.apply(client, given)
  }
  const callback = given.at(-1)
  const withoutCallback = typeof callback === 'function' ? given.slice(0, -1) : given
  await (own.apply(client, withoutCallback) as Promise<unknown>)
  ;(client as Client).connection.stream.destroy()
  const error = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
  if (typeof callback !== 'function') throw error
  ;(callback as Callback)(error)
  return undefined
}
