/** The values of `unknownKeys`, for the application and for a route. */
import type { Problem } from '../errors/declaration-error.js'

/**
 * @param where the beginning of the message: `bootstrap`, or a route
 * @param problems receives any other word, which must not let unknown keys pass
 */
export function checkUnknownKeys(
  where: string,
  given: string | undefined,
  problems: Problem[],
): void {
  if (given === undefined || given === 'refuse' || given === 'drop') return
  const message = `${where}: unknownKeys is "${given}".`
  problems.push({ code: 'INVALID_OPTION', message, remedy: "Write 'refuse' or 'drop'." })
}
