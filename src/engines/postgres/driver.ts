/** The part of pg that is used, and how it is loaded. Source: node-postgres, Client. */

import {
  installCommand,
  type MissingPackage,
  missingPackage,
} from '../../errors/missing-package.js'

/** The package that applications install for `postgres://`. */
export const pg: MissingPackage = {
  name: 'pg',
  code: 'DATABASE_DRIVER_MISSING',
  message: 'A database at postgres:// needs the package pg, which is not installed.',
  remedy: `Run: ${installCommand('pg')}`,
}

/**
 * pg's low-level connection, which sends requests to cancel a statement. Source: PostgreSQL, Canceling Requests in
 * Progress.
 */
type CancelConnection = new (options: { readonly ssl: unknown }) => BareConnection

interface BareConnection {
  connect(portOrSocket: number | string, host?: string): void
  requestSsl(): void
  cancel(processId: number, secretKey: number): void
  once(event: 'connect' | 'sslconnect', listener: () => void): unknown
  on(event: 'error', listener: () => void): unknown
}

/**
 * Cancels the running statement of a connection, without waiting. The server may ignore the request if the statement
 * has not begun, so repeat it while the statement runs.
 */
export function cancelStatement(client: Client, Connection: CancelConnection): void {
  const { processID, secretKey, host, port, ssl } = client
  if (processID === null || typeof secretKey !== 'number' || typeof host !== 'string') return
  const connection = new Connection({ ssl })
  const cancel = (): void => {
    connection.cancel(processID, secretKey)
  }
  connection.on('error', () => undefined)
  connection.once('connect', () => {
    if (ssl === undefined || ssl === null || ssl === false) cancel()
    else connection.requestSsl()
  })
  connection.once('sslconnect', cancel)
  if (host.startsWith('/')) connection.connect(`${host}/.s.PGSQL.${port ?? 5432}`)
  else connection.connect(port ?? 5432, host)
}

/** Typed here, so that the package's types are not needed to compile. */
export interface Driver {
  readonly Client: new (options: object) => Client
  /** The class of pg's own statements, which other statements must belong to. */
  readonly Query: { readonly prototype: object }
  readonly Connection: CancelConnection
  readonly types: { getTypeParser(oid: number, format?: string): (text: string) => unknown }
  readonly utils: { readonly prepareValue: (value: unknown) => string | Buffer | null }
}

export interface Client {
  /** The id of the server process, for cancelling; null if the server does not report it. */
  readonly processID: number | null
  readonly secretKey?: unknown
  readonly host?: string
  readonly port?: number
  readonly ssl?: unknown
  readonly connection: Wire
  connect(): Promise<unknown>
  end(): Promise<void>
  query(query: Query | string): Promise<Result>
  /** Runs a statement that parses its own result. */
  query(query: Submittable): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'end', listener: () => void): unknown
  on(event: 'notification', listener: (message: Notification) => void): unknown
  on(event: 'notice', listener: (message: Notice) => void): unknown
}

/** The low-level protocol. */
export interface Wire {
  readonly stream: {
    readonly writable: boolean
    write(bytes: Uint8Array): boolean
    cork(): void
    uncork(): void
    destroy(): void
  }
  query(sql: string): void
  on(event: 'parameterDescription', listener: (message: ParameterDescription) => void): unknown
  sendCopyFail(reason: string): void
}

export interface ParameterDescription {
  readonly dataTypeIDs: readonly number[]
}

export interface Notification {
  readonly channel: string
  readonly payload?: string
}

/** A message of the server beside the result, such as a warning. */
export interface Notice {
  readonly code?: string
  /** The server's function that sent it, which is not translated. */
  readonly routine?: string
}

export interface Query {
  readonly text: string
  readonly values: readonly unknown[]
  readonly rowMode: 'array'
}

export interface Result {
  readonly rows: (readonly unknown[])[]
  readonly rowCount: number | null
  readonly fields: readonly { readonly name: string }[]
}

/** The methods of a statement that the driver calls, in this order. Nothing follows a failure. */
export interface Submittable {
  submit(wire: Wire): Error | null
  handleRowDescription(message: { readonly fields: readonly Field[] }): void
  handleDataRow(message: { readonly fields: readonly (string | null)[] }): void
  handleCommandComplete(message: { readonly text: string }): void
  handleReadyForQuery(): void
  handleError(error: unknown): void
}

export interface Field {
  readonly name: string
  readonly dataTypeID: number
}

/** The part of pg's class with the startup parameters of a connection. */
type Starting = new (options: object) => Client & { getStartupConf(): object }

/**
 * Requests dates and timestamps in ISO form, whatever the server, the database or the role prefers. Set by a startup
 * parameter, as JDBC does, so that poolers keep it for each client. Source: PostgreSQL, Date/Time Output; PgBouncer,
 * track_extra_parameters.
 */
function inIsoStyle(driver: Driver): Driver {
  class IsoClient extends (driver.Client as Starting) {
    override getStartupConf(): object {
      return { ...super.getStartupConf(), DateStyle: 'ISO' }
    }
  }
  const { Query, Connection, types, utils } = driver
  return { Client: IsoClient, Query, Connection, types, utils }
}

/** @throws {DeclarationError} the package is missing */
export async function loadDriver(): Promise<Driver> {
  try {
    const { default: driver } = (await import(pg.name)) as { default: Driver }
    return inIsoStyle(driver)
  } catch (cause) {
    throw missingPackage(pg, cause)
  }
}
