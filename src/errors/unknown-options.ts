/** Rejects unknown options, which would otherwise be ignored silently. */
import type { Problem } from './declaration-error.js'
import type { Problems } from './problems.js'
import { didYouMean } from './did-you-mean.js'

/**
 * Adds a problem `UNKNOWN_OPTION` for every unknown key of the options.
 *
 * @param where what the options belong to, e.g. `GET /items (ItemController.list)`
 * @param allowedNames the known names, as a record so that the compiler checks that it is complete
 */
export function checkOptionNames(
  where: string,
  options: object,
  allowedNames: Readonly<Record<string, true>>,
  problems: Problems,
): void {
  problems.addAll(findUnknownOptions(options, Object.keys(allowedNames), where))
}

/**
 * Returns a problem for every unknown option, for the `problems` of a module and the `check` of a custom decorator:
 * `audit: unknown option "kep".` with `Did you mean "keep"? Options: keep.`
 *
 * @param allowedNames the names of all options
 * @param where what the options belong to; a decorator's `check` omits it, because its problems name the decorator
 */
export function findUnknownOptions(
  options: unknown,
  allowedNames: readonly string[],
  where?: string,
): Problem[] {
  if (options === undefined || options === null) return []
  const toMessage = (text: string): string => (where === undefined ? text : `${where}: ${text}.`)
  const all = allowedNames.length === 0 ? 'It has none.' : `Options: ${allowedNames.join(', ')}.`
  const code = 'UNKNOWN_OPTION'
  if (typeof options !== 'object')
    return [{ code, message: toMessage('the options are not an object'), remedy: all }]
  return Object.keys(options)
    .filter((name) => !allowedNames.includes(name))
    .map((name) => ({
      code,
      message: toMessage(`unknown option "${name}"`),
      remedy: `${didYouMean(name, allowedNames)} ${all}`.trim(),
    }))
}

/** Options that only the framework passes. Messages do not list them. */
const internalNames: ReadonlySet<string> = new Set(['view', 'related'])

/** @throws {TypeError} if an option is unknown, or the options are not an object */
export function checkCallOptions(
  method: string,
  options: unknown,
  allowedNames: ReadonlySet<string>,
): void {
  if (options === undefined) return
  if (typeof options !== 'object' || options === null)
    throw new TypeError(
      `${method}: options must be an object. ${namesOf(publicNames(allowedNames))}`,
    )
  for (const name of Object.keys(options))
    if (!allowedNames.has(name)) refuse(method, name, publicNames(allowedNames))
}

function refuse(method: string, name: string, names: readonly string[]): never {
  const parts = [`${method}: unknown option "${name}".`, didYouMean(name, names), namesOf(names)]
  throw new TypeError(parts.filter((part) => part !== '').join(' '))
}

function publicNames(allowedNames: ReadonlySet<string>): readonly string[] {
  return [...allowedNames].filter((name) => !internalNames.has(name))
}

function namesOf(names: readonly string[]): string {
  return names.length === 0 ? 'It has none.' : `Options: ${names.join(', ')}.`
}
