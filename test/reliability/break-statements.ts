/** Makes statements fail in the database drivers. */
import { createRequire } from 'node:module'
import { findDrivers } from '../records/sqlite-drivers.js'

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
  #remaining = 0

  arm(kind: Kind, place: number): void {
    this.kind = kind
    this.#remaining = place
  }

  disarm(): boolean {
    const wasHit = this.#remaining === 0
    this.#remaining = 0
    return wasHit
  }

  /** Counts a statement. @returns true if it has to fail */
  get isNow(): boolean {
    return this.#remaining > 0 && --this.#remaining === 0
  }
}

type Method = (this: object, ...args: unknown[]) => unknown
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
  const original = prototype[name]
  if (original === undefined) return () => undefined
  prototype[name] = function (...args) {
    if (countdown.isNow) throw diskError()
    return original.apply(this, args)
  }
  return () => {
    prototype[name] = original
  }
}

/** The error of both drivers for a failing disk. */
function diskError(): Error {
  const codes = { code: 'SQLITE_IOERR', errcode: 10, errstr: 'disk I/O error' }
  return Object.assign(new Error('disk I/O error'), codes)
}

async function sqlitePrototypes(): Promise<[Methods, Methods]> {
  const [name = 'better-sqlite3'] = await findDrivers()
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
interface NotifiedQuery {
  handleError(error: Error): void
  handleReadyForQuery(): void
}

export function breakPostgres(): Promise<Breaker> {
  const { Client: client } = require('pg') as { Client: { prototype: Methods } }
  const { prototype } = client
  const original = prototype['query'] as Method
  const countdown = new Countdown()
  prototype['query'] = function (...args) {
    if (!countdown.isNow) return original.apply(this, args)
    if (countdown.kind === 'unheard') return unheard(original, this, args)
    if (countdown.kind === 'refused') return fail(args, refusal())
    ;(this as Client).connection.stream.destroy()
    return original.apply(this, args)
  }
  return Promise.resolve({
    kinds: ['refused', 'lost', 'unheard'],
    arm: (kind, place) => {
      countdown.arm(kind, place)
    },
    disarm: () => countdown.disarm(),
    mend: () => {
      prototype['query'] = original
    },
  })
}

/** The error of a server without memory. */
function refusal(): Error {
  return Object.assign(new Error('out of memory'), { code: '53200', severity: 'ERROR' })
}

function isNotifiedQuery(query: unknown): query is NotifiedQuery {
  return typeof query === 'object' && query !== null && 'submit' in query
}

function fail(args: unknown[], error: Error): unknown {
  const [query] = args
  if (isNotifiedQuery(query)) {
    process.nextTick(() => {
      query.handleError(error)
    })
    return undefined
  }
  const callback = args.at(-1)
  if (typeof callback !== 'function') return Promise.reject(error)
  process.nextTick(callback, error)
  return undefined
}

async function unheard(original: Method, client: object, args: unknown[]): Promise<unknown> {
  const [query] = args
  if (isNotifiedQuery(query)) {
    query.handleReadyForQuery = () => {
      ;(client as Client).connection.stream.destroy()
      query.handleError(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }))
    }
    return original.apply(client, args)
  }
  const callback = args.at(-1)
  const withoutCallback = typeof callback === 'function' ? args.slice(0, -1) : args
  await (original.apply(client, withoutCallback) as Promise<unknown>)
  ;(client as Client).connection.stream.destroy()
  const error = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
  if (typeof callback !== 'function') throw error
  ;(callback as Callback)(error)
  return undefined
}
