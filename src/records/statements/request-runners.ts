/** Runners for the writes of one request outside transactions: one reports each change, one gives each write a transaction. */
import type { Runner } from '../../engines/contract/engine.js'
import type { MaybePromise } from '../../core/maybe-promise.js'
import { isWrite, usesFrameworkTable } from '../../engines/contract/statement.js'

/** Reports each change. */
export function observeChanges(runner: Runner, onChange: () => void): Runner {
  return {
    run: (statement, values, resultForm) => {
      if (isWrite(statement)) onChange()
      return runner.run(statement, values, resultForm)
    },
  }
}

/** Runs each write of a request in a transaction, if work is registered for its commit. */
export function writeInTransactions(
  runner: Runner,
  inTransaction: (write: (runner: Runner) => MaybePromise<never>) => Promise<never>,
): Runner {
  return {
    run: (statement, values, resultForm) =>
      isWrite(statement) && !usesFrameworkTable(statement)
        ? inTransaction((one) => one.run(statement, values, resultForm) as MaybePromise<never>)
        : runner.run(statement, values, resultForm),
  }
}
