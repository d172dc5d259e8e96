/** The part of pg that is used, and how it is loaded. Source: node-postgres, Client. */
import { missingPackage } from '../../errors/missing-package.js'
import { pg } from './needed-package.js'
import type { CancelConnection } from './cancel-statement.js'

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
  /** Needed to cancel its statement; null if the server does not tell it. */
  readonly processID: number | null
  readonly secretKey?: unknown
  readonly host?: string
  readonly port?: number
  readonly ssl?: unknown
  readonly connection: Wire
  connect(): Promise<unknown>
  end(): Promise<void>
  query(query: Query | string): Promise<Result>
  /** Runs a statement that handles its own answer. */
  query(query: Submittable): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'end', listener: () => void): unknown
  on(event: 'notification', listener: (message: Notification) => void): unknown
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

/** The methods of a statement that the driver calls, in the order of the answer; nothing follows a failure. */
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

/** The part of pg's class that says what a connection begins with. */
type Starting = new (options: object) => Client & { getStartupConf(): object }

/**
 * Days and moments are read in ISO form, whatever the server, the database or the role prefers. Said when a connection
 * begins, as JDBC does, so that poolers keep it for each of their clients. Source: PostgreSQL, Date/Time Output; PgBouncer,
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
