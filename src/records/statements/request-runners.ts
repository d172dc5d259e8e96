/** Runners for the writes of one request outside transactions: one reports each change, one gives each write a transaction. */
import type {
  Results,
  Runner,
  Statement,
  Values,
  ResultKind,
} from '../../engines/contract/engine.js'
import type { MaybePromise } from '../../core/maybe-promise.js'
import { isWrite, usesFrameworkTable } from '../../engines/contract/statement.js'

/** Reports each change that it runs. */
export class ObservedRunner implements Runner {
  readonly #inner: Runner
  readonly #onChange: () => void

  constructor(inner: Runner, onChange: () => void) {
    this.#inner = inner
    this.#onChange = onChange
  }

  run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultForm: W,
  ): MaybePromise<Results[W]> {
    if (isWrite(statement)) this.#onChange()
    return this.#inner.run(statement, values, resultForm)
  }
}

/** Runs each write of a request in a transaction, if work is registered for its commit. */
export class TransactionalWrites implements Runner {
  readonly #inner: Runner
  readonly #inTransaction: (write: (runner: Runner) => MaybePromise<never>) => Promise<never>

  constructor(
    inner: Runner,
    inTransaction: (write: (runner: Runner) => MaybePromise<never>) => Promise<never>,
  ) {
    this.#inner = inner
    this.#inTransaction = inTransaction
  }

  run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultForm: W,
  ): MaybePromise<Results[W]> {
    if (!isWrite(statement) || usesFrameworkTable(statement))
      return this.#inner.run(statement, values, resultForm)
    return this.#inTransaction(
      (runner) => runner.run(statement, values, resultForm) as MaybePromise<never>,
    )
  }
}
