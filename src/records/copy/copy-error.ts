/** The errors of `filigree copy`. */
import { DeclarationError } from '../../errors/declaration-error.js'

export function copyError(
  message: string,
  cause?: unknown,
  remedy = 'Correct it in the source, empty the target, and copy again.',
): DeclarationError {
  return new DeclarationError([{ code: 'COPY_FAILED', message, remedy }], { cause })
}
