/** A transaction, which ends with the release of the lock of the only writer. */
import type { ResultKind, Results, Statement, TransactionRunner } from '../contract/engine.js'
import { EngineError } from '../contract/engine-error.js'
import type { WriterLock } from '../writer-lock.js'
import type { Connection } from './connection.js'

interface TransactionEnd {
  readonly schema: boolean
  /** Whether references are checked at the end of a schema change. Default true. */
  readonly checksReferences?: boolean
  /** Called immediately after the commit. */
  readonly onCommitted: (() => void) | undefined
}

export class SqliteTransaction implements TransactionRunner {
  readonly #connection: Connection
  readonly #writeQueue: WriterLock
  readonly #schema: boolean
  readonly #checksReferences: boolean
  readonly #onCommitted: (() => void) | undefined
  #isOver = false

  constructor(
    connection: Connection,
    writeQueue: WriterLock,
    { schema, checksReferences = schema, onCommitted }: TransactionEnd,
  ) {
    this.#connection = connection
    this.#writeQueue = writeQueue
    this.#schema = schema
    this.#checksReferences = checksReferences
    this.#onCommitted = onCommitted
  }

  run<W extends ResultKind>(
    statement: Statement,
    values: readonly unknown[],
    resultKind: W,
  ): Results[W] {
    return this.#activeConnection().run(statement, values, resultKind)
  }

  commit(): Promise<void> {
    return this.#end(() => {
      const connection = this.#activeConnection()
      if (this.#checksReferences) connection.checkReferences()
      connection.script('commit')
      this.#onCommitted?.()
    })
  }

  rollback(): Promise<void> {
    return this.#end(() => undefined)
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- errors must become rejections
  async #end(last: () => void): Promise<void> {
    if (this.#isOver) return
    try {
      last()
    } finally {
      this.#isOver = true
      if (this.#connection.inTransaction) this.#connection.script('rollback')
      // A migration may have failed between its statements that switch the second one on and off.
      if (this.#schema)
        this.#connection.script('pragma foreign_keys = on; pragma legacy_alter_table = off')
      this.#writeQueue.release()
    }
  }

  /**
   * SQLite rolls back by itself after some errors, such as a full disk. Without this check, later statements of the
   * transaction would be committed one by one.
   *
   * @throws {EngineError} the transaction is over
   */
  #activeConnection(): Connection {
    if (this.#isOver || !this.#connection.inTransaction) {
      throw new EngineError('other', 'The transaction is over.')
    }
    return this.#connection
  }
}
