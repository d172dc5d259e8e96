/**
 * A statement that is sent through pg's clients. It writes its own messages and parses its own result, so that it costs
 * one buffer, one promise and no copy. Source: node-postgres, Client.query with an object that has `submit`.
 */

import { EngineError } from '../contract/engine-error.js'
import { tooLargeError } from '../contract/read-bytes.js'
import { isWrite } from '../contract/statement.js'
import { endsConnection, isCommitUnknown, isLostConnection, isOtherServerLost } from './errors.js'
import { asConflict } from './violations.js'
import {
  maxAttempts,
  type Preparation,
  type PreparedStatements,
  stalenessOf,
} from './prepared-statements.js'
import type { Row, Statement, ResultKind } from '../contract/engine.js'
import { sendRows } from './bulk-insert.js'
import { noColumns, type Columns, writeStatement } from './wire-protocol.js'
import type { Driver, Field, ParameterDescription, Wire } from './driver.js'
import type { PooledCall, PooledConnection } from './pooled-connection.js'

/**
 * Decides whether a failed call runs again: a read whose connection was lost, or a statement that was rejected because
 * of its prepared statement. Errors of a working server, such as timeouts, are not retried. Behind a pooler each
 * attempt may use another server connection, so the last attempt is not prepared.
 *
 * @param error the error of the last attempt, from which the state of prepared statements is updated
 */
export function canRetry(call: Call, error: unknown, names: PreparedStatements): boolean {
  if (!(error instanceof EngineError)) return false
  const { statement, attempts } = call
  const isStale = names.recordStaleness(statement.sql, error.cause)
  if (attempts >= maxAttempts) return false
  const isLost = isLostConnection(error) && !isWrite(statement)
  return isStale || (isLost && attempts === 1)
}

/** The maximum number of attempts after conflicts. With the delays below, they take 1.5 seconds. */
const maxConflicts = 16
/**
 * The maximum delay before the second attempt in milliseconds. It doubles with each attempt, up to the second number.
 */
const [firstWait, longestWait] = [4, 120]

/**
 * Runs a statement again after a conflict (40001) and a delay: it was a transaction by itself, which was rolled back.
 *
 * @returns whether it will run
 */
export function retryAfterConflict(call: Call, error: unknown, run: (call: Call) => void): boolean {
  if (!(error instanceof EngineError) || error.kind !== 'conflict') return false
  if (call.attempts >= maxConflicts) return false
  const maxDelay = Math.min(longestWait, firstWait * 2 ** (call.attempts - 1))
  setTimeout(run, Math.random() * maxDelay, call)
  return true
}

/** Decides whether a failed call runs again or is refused. */
export interface CallOwner {
  failed(call: Call, error: unknown): void
  /** The call has a result or a final error. */
  settled?(isDone: boolean): void
  /** The call takes so long that it got the connection for itself. */
  becameExclusive?(call: Call, connection: PooledConnection): void
  /** The call was behind a slow one and must run elsewhere. */
  rerouted?(call: Call): void
}

/** Tags of commands that change nothing. Source: PostgreSQL, Message Formats, CommandComplete. */
const readingTag = /^(?:SELECT|SHOW|EXPLAIN|FETCH)\b/

export class Call implements PooledCall {
  readonly statement: Statement
  /** Named as in pg's own statements, for tools that instrument its clients. */
  readonly values: readonly unknown[]
  readonly #resultKind: ResultKind
  readonly #owner: CallOwner
  readonly #isPrepared: boolean
  /** The calls before and after it on its connection. */
  previous: PooledCall | undefined = undefined
  next: PooledCall | undefined = undefined
  isListed = false
  /** The number of attempts so far. */
  attempts = 0
  /** The maximum bytes of its rows. */
  maxBytes = Infinity
  /** Whether the last attempt reached a connection. */
  isSent = false
  /** Set by pg if the address has a `query_timeout`: ends its timer. */
  callback: (() => void) | undefined = undefined
  #resolve: ((value: unknown) => void) | undefined
  #reject: ((error: unknown) => void) | undefined
  #connection: PooledConnection | undefined
  /** The name under which it is prepared on this connection. */
  #name: string | undefined
  #columns: Columns | undefined
  #rows: Row[] = []
  #bytes = 0
  #changes = 0
  #hasOnlyRead = false
  #hasConflict = false
  #protocolError: unknown

  /** @param isPrepared whether it is prepared once on each connection */
  constructor(
    statement: Statement,
    values: readonly unknown[],
    resultKind: ResultKind,
    owner: CallOwner,
    isPrepared = resultKind !== 'all',
  ) {
    this.statement = statement
    this.values = values
    this.#resultKind = resultKind
    this.#owner = owner
    this.#isPrepared = isPrepared
  }

  get text(): string {
    return this.statement.sql
  }

  /** Its result. Call it once, before the call is sent. */
  result<T>(): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve as (value: unknown) => void
      this.#reject = reject
    })
  }

  /** Called before it is passed to a connection's client. */
  started(connection: PooledConnection): void {
    this.attempts++
    this.isSent = true
    this.#connection = connection
    this.#columns = undefined
    this.#rows = []
    this.#bytes = 0
    this.#changes = 0
    this.#hasOnlyRead = false
    this.#hasConflict = false
    this.#protocolError = undefined
    this.callback = undefined
  }

  /** No connection was available. */
  failUnsent(error: unknown): void {
    this.attempts++
    this.isSent = false
    this.#owner.failed(this, error)
  }

  /** Whether a connection broke during a write, so that its outcome is unknown. */
  isOutcomeUnknown(error: unknown): boolean {
    const isLost = endsConnection(error) || isOtherServerLost(error) || isCommitUnknown(error)
    return this.isSent && isWrite(this.statement) && isLost
  }

  reject(error: unknown): void {
    if (this.#reject === undefined) return
    this.#owner.settled?.(false)
    this.#reject(error)
  }

  /** The call takes so long that no other call may use its connection. */
  becomeExclusive(connection: PooledConnection): void {
    this.#owner.becameExclusive?.(this, connection)
  }

  /** Runs the statement again as another call. The result of this one is ignored. */
  reroute(): void {
    const other = new Call(
      this.statement,
      this.values,
      this.#resultKind,
      this.#owner,
      this.#isPrepared,
    )
    other.maxBytes = this.maxBytes
    other.#resolve = this.#resolve
    other.#reject = this.#reject
    this.#resolve = undefined
    this.#reject = undefined
    this.#owner.rerouted?.(other)
  }

  submit(wire: Wire): Error | null {
    const { sql } = this.statement
    const connection = this.#connection as PooledConnection
    if (this.#resultKind === 'nothing' || this.statement.takesRows === true) {
      wire.query(sql)
      return null
    }
    const { prepared, names, toText } = connection
    let name = this.#isPrepared && this.attempts < maxAttempts ? names.nameFor(sql) : undefined
    let preparation: Preparation | undefined = name === undefined ? undefined : prepared.get(name)
    // The preparation may fail, so concurrent calls do not rely on it.
    if (preparation === 'begun') name = preparation = undefined
    const isReady = preparation !== undefined && preparation !== 'unsure'
    this.#name = name
    if (isReady && preparation !== 'undescribed' && !names.isPooled)
      this.#columns = preparation as Columns
    else if (name !== undefined && !isReady) prepared.set(name, 'begun')
    try {
      wire.stream.write(
        writeStatement({
          name: name ?? '',
          text: isReady ? undefined : sql,
          closes: preparation === 'unsure',
          dropped: name === undefined || isReady ? [] : connection.forgetDroppedNames(),
          describes: this.#columns === undefined,
          values: this.values,
          toText,
        }),
      )
    } catch (error) {
      if (name !== undefined && !isReady) prepared.delete(name)
      return error as Error
    }
    return null
  }

  handleUnreplicatedCommit(): void {
    this.#protocolError ??= new EngineError(
      'unavailable',
      'The commit was cancelled while it waited for the synchronous replica, so a failover may lose it.',
    )
  }

  handleConflictElsewhere(): void {
    this.#hasConflict = true
  }

  handleRowDescription({ fields }: { readonly fields: readonly Field[] }): void {
    const connection = this.#connection as PooledConnection
    this.#describe(connection.readColumns(fields))
  }

  /** Reports the types of the placeholders. pg's client ignores this message. */
  handleParameterDescription({ dataTypeIDs }: ParameterDescription): void {
    this.#connection?.names.types.record(this.statement.sql, dataTypeIDs)
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    const resultKind = this.#resultKind
    if (resultKind === 'nothing' || (resultKind === 'first' && this.#rows.length > 0)) return
    if (this.#bytes > this.maxBytes) return
    const { read } = this.#columns ?? noColumns
    const row = new Array<unknown>(fields.length)
    try {
      for (let index = 0; index < fields.length; index++) {
        const text = fields[index] as string | null
        if (text !== null) this.#bytes += text.length
        const reader = read[index]
        row[index] = text === null || reader === undefined ? text : reader(text)
      }
    } catch (error) {
      this.#protocolError ??= error
      return
    }
    this.#rows.push(row)
    if (this.#bytes <= this.maxBytes) return
    // Further rows are dropped as they arrive.
    this.#rows = []
    this.#protocolError ??= tooLargeError()
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    this.#changes = Number(text.slice(text.lastIndexOf(' ') + 1)) || 0
    this.#hasOnlyRead = readingTag.test(text)
    if (this.#columns === undefined) this.#describe(noColumns)
  }

  handleEmptyQuery(): void {
    this.#describe(noColumns)
  }

  handlePortalSuspended(): void {
    this.#protocolError ??= new Error('The server has sent only a part of the result.')
  }

  handleCopyInResponse(wire: Wire): void {
    if (this.statement.takesRows === true) {
      sendRows(wire, this.values[0] as string)
      this.#connection?.copyEnded()
      return
    }
    wire.sendCopyFail('Nothing is copied here.')
  }

  handleCopyData(): void {
    this.#protocolError ??= new Error('Nothing is copied here.')
  }

  handleReadyForQuery(): void {
    if (this.#protocolError !== undefined) {
      this.handleError(this.#protocolError)
      return
    }
    if (!this.#end() || this.#resolve === undefined) return
    this.#owner.settled?.(true)
    this.#resolve(this.#result())
  }

  handleError(reported: unknown): void {
    const connection = this.#connection
    if (connection === undefined) return
    const error = this.#hasConflict ? asConflict(reported) : reported
    this.#recordPreparationError(error, connection)
    connection.checkError(error)
    this.#end()
    if (this.#reject !== undefined) this.#owner.failed(this, error)
  }

  /** @returns false if it has already ended */
  #end(): boolean {
    const connection = this.#connection
    if (connection === undefined) return false
    this.#connection = undefined
    this.callback?.()
    connection.callEnded(this)
    return true
  }

  #result(): unknown {
    switch (this.#resultKind) {
      case 'rows':
        return this.#rows
      case 'first':
        return this.#rows[0]
      case 'count':
        return this.#changes
      case 'all': {
        const { names } = this.#columns ?? noColumns
        const hasOnlyRead = this.#hasOnlyRead
        return { names, rows: this.#rows, changes: this.#changes, hasOnlyRead }
      }
      case 'nothing':
        return undefined
    }
  }

  #describe(columns: Columns): void {
    this.#columns = columns
    if (this.#name !== undefined) this.#connection?.prepared.set(this.#name, columns)
  }

  /** Updates the state of the connection's prepared statements. */
  #recordPreparationError(error: unknown, { prepared }: PooledConnection): void {
    const name = this.#name
    if (name === undefined) return
    const staleness = stalenessOf(error)
    if (staleness === 'missing') prepared.delete(name)
    else if (staleness === 'there already') prepared.set(name, 'undescribed')
    else if (prepared.get(name) === 'begun') prepared.set(name, 'unsure')
  }
}

/** pg's clients pipeline statements only if they are of pg's own class. */
export function becomeQueries({ Query }: Driver): void {
  Object.setPrototypeOf(Call.prototype, Query.prototype)
}
