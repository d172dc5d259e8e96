/** The part of pg that is used, and its loading. Source: node-postgres, Client. */
import { installCommand } from '../../../core/install-command.js'
import { DeclarationError } from '../../../errors/declaration-error.js'
import type { CancelConnection } from './cancel-statement.js'

/** Typed here, by the part that is used: no types of its own are needed to compile. */
export interface Driver {
  readonly Client: new (options: object) => Client
  /** The class of its own statements, which those of others have to be of. */
  readonly Query: { readonly prototype: object }
  readonly Connection: CancelConnection
  readonly types: { getTypeParser(oid: number, format?: string): (text: string) => unknown }
  readonly utils: { readonly prepareValue: (value: unknown) => string | Buffer | null }
}

export interface Client {
  /** By these its statement can be cancelled; null behind what does not tell them. */
  readonly processID: number | null
  readonly secretKey?: unknown
  readonly host?: string
  readonly port?: number
  readonly ssl?: unknown
  readonly connection: Wire
  connect(): Promise<unknown>
  end(): Promise<void>
  query(query: Query | string): Promise<Result>
  /** Sends a statement that hears of its own answer. */
  query(query: Submittable): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'end', listener: () => void): unknown
  on(event: 'notification', listener: (message: Notification) => void): unknown
}

/** The protocol below. */
export interface Wire {
  readonly stream: {
    readonly writable: boolean
    write(bytes: Uint8Array): boolean
    cork(): void
    uncork(): void
    destroy(): void
  }
  query(sql: string): void
  sendCopyFail(reason: string): void
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

/** What the driver calls of a statement, in the order of the answer; behind a failure nothing else. */
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

/** @throws {DeclarationError} the package is not there */
export async function loadDriver(): Promise<Driver> {
  try {
    const name = 'pg'
    const { default: driver } = (await import(name)) as { default: Driver }
    return driver
  } catch (cause) {
    const error = new DeclarationError([
      {
        code: 'DATABASE_DRIVER_MISSING',
        message: 'A database at postgres:// needs the package pg, which is not installed.',
        remedy: `Run: ${installCommand('pg')}`,
      },
    ])
    error.cause = cause
    throw error
  }
}
