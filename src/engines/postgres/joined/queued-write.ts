/** A write that waits to go together with others of its statement, and how one goes by itself. */
import type { Engine, Row, Statement } from '../../contract/engine.js'

/** Rows in one statement. */
export const mostRows = 64
/** Groups that failed where each of their calls did not: then all go by themselves. */
export const mostFailures = 3

export interface QueuedWrite {
  readonly values: readonly unknown[]
  readonly resolve: (rows: readonly Row[]) => void
  readonly reject: (error: unknown) => void
}

/** @returns whether it was answered, and not refused */
export async function writeAlone(
  { values, resolve, reject }: QueuedWrite,
  statement: Statement,
  engine: Engine,
): Promise<boolean> {
  try {
    resolve(await engine.rows(statement, values))
    return true
  } catch (error) {
    reject(error)
    return false
  }
}
