/** Runs work in a transaction, and rolls it back although it did not fail. */
import type { Database } from '../../index.js'

/** Milliseconds for a change of many rows, and for its preview. */
export const longTimeout = 120_000

/** Thrown to roll back a transaction that did not fail. */
class WorkDone extends Error {
  constructor() {
    super('the transaction was rolled back')
  }
}

/** @returns the result of the work */
export async function runAndRollBack<T>(database: Database, work: () => Promise<T>): Promise<T> {
  let result: { readonly value: T } | undefined
  const transaction = database.transaction(
    async () => {
      result = { value: await work() }
      throw new WorkDone()
    },
    { timeout: longTimeout },
  )
  await transaction.catch((error: unknown) => {
    if (!(error instanceof WorkDone)) throw error
  })
  if (result === undefined) throw new Error('The transaction was rolled back before its work.')
  return result.value
}
