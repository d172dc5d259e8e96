/** Returns the error that a promise rejects with. */
import type { DeclarationError } from '../../src/index.js'

/** @throws {Error} if the promise does not reject */
export async function failure(work: Promise<unknown>): Promise<DeclarationError> {
  try {
    await work
  } catch (error) {
    return error as DeclarationError
  }
  throw new Error('It did not fail.')
}
