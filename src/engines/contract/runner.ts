/** What runs statements: an engine, a transaction, the statements of one request, or a layer around one of them. */
import type { MaybePromise } from '../../core/maybe-promise.js'
import type { Statement } from './statement.js'

export type Row = readonly unknown[]

/** The values of the placeholders, in order. */
export type Values = readonly unknown[]

/** Runs statements. Errors are `EngineError`s, thrown synchronously or as rejections. */
export interface Runner {
  run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultKind: W,
  ): MaybePromise<Results[W]>
}

/** The kinds of results of a statement. */
export interface Results {
  readonly rows: readonly Row[]
  readonly first: Row | undefined
  /** The number of rows that were inserted, updated or deleted. */
  readonly count: number
  /** The complete result of a statement that runs once and is not cached. */
  readonly all: QueryResult
  /** No result, for a script of several statements without values. */
  readonly nothing: undefined
}

export type ResultKind = keyof Results

export interface QueryResult {
  /** The names of the columns, if the statement returns rows. */
  readonly names: readonly string[]
  readonly rows: readonly Row[]
  /** The number of rows that were inserted, updated or deleted. */
  readonly changes: number
  /** The database reports that a statement of unknown kind has changed nothing. Default false. */
  readonly hasOnlyRead?: boolean
}

/** A transaction: runs statements on one connection. Other connections see its changes after the commit. */
export interface TransactionRunner extends Runner {
  /** If it fails, the transaction is rolled back already. */
  commit(): Promise<void>
  rollback(): Promise<void>
  /** Cancels the running statement. Only `rollback` may follow. Undefined if statements cannot be cancelled. */
  stop?(): void
}

/** Opens transactions, in addition to running statements. */
export interface TransactionSource extends Runner {
  begin(): Promise<TransactionRunner>
}
