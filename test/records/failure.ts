/** What a promise rejects with. */
import type { DeclarationError } from '../../src/index.js'

/** @throws {Error} where it does not reject */
export async function failure(work: Promise<unknown>): Promise<DeclarationError> {
  try {
    await work
  } catch (error) {
    return error as DeclarationError
  }
  throw new Error('It did not fail.')
}
