/** Refuses unknown names: a mistyped option would otherwise be ignored silently. */
import type { Problem } from './declaration-error.js'
import { didYouMean } from './did-you-mean.js'

/**
 * Adds a problem `UNKNOWN_OPTION` for every key of `given` that is not known.
 *
 * @param where what the options belong to, e.g. `GET /items (ItemController.list)`
 * @param known the known names, as a record so that the compiler checks that it is complete
 */
export function refuseUnknownNames(
  where: string,
  given: object,
  known: Readonly<Record<string, true>>,
  problems: Problem[],
): void {
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(known, name)) continue
    const names = Object.keys(known)
    problems.push({
      code: 'UNKNOWN_OPTION',
      message: `${where}: unknown option "${name}".`,
      remedy: `${didYouMean(name, names)} Options: ${names.join(', ')}.`.trim(),
    })
  }
}
