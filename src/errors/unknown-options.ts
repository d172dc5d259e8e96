/** Rejects unknown options, which would otherwise be ignored silently. */
import type { Problem } from './declaration-error.js'
import { didYouMean } from './did-you-mean.js'

interface KnownOptions {
  readonly names: { has(name: string): boolean }
  /** The names that messages suggest. */
  readonly listedNames: readonly string[]
  /** What the options belong to; without it, messages are not sentences. */
  readonly where: string | undefined
}

/**
 * Returns a problem for every unknown option: `audit: unknown option "kep".` with `Did you mean "keep"? Options: keep.`
 * Most options are declared by `declareOptions`, which calls it.
 */
export function findUnknownOptions(
  options: unknown,
  { names, listedNames, where }: KnownOptions,
): Problem[] {
  if (options === undefined) return []
  const toMessage = (text: string): string => (where === undefined ? text : `${where}: ${text}.`)
  const all = listedNames.length === 0 ? 'It has none.' : `Options: ${listedNames.join(', ')}.`
  const code = 'UNKNOWN_OPTION'
  if (typeof options !== 'object' || options === null)
    return [{ code, message: toMessage('the options are not an object'), remedy: all }]
  return Object.keys(options)
    .filter((name) => !names.has(name))
    .map((name) => ({
      code,
      message: toMessage(`unknown option "${name}"`),
      remedy: `${didYouMean(name, listedNames)} ${all}`.trim(),
    }))
}
