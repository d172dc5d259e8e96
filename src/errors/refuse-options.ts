/** Refuses unknown options: otherwise they would be ignored silently. */
import { didYouMean } from './did-you-mean.js'

/** What only the framework gives: it is told to nobody. */
const inner: ReadonlySet<string> = new Set(['view', 'related'])

/** @throws {TypeError} an option that is none of these, or options that are no object */
export function refuseUnknownOptions(
  method: string,
  options: unknown,
  known: ReadonlySet<string>,
): void {
  if (options === undefined) return
  if (typeof options !== 'object' || options === null)
    throw new TypeError(`${method}: options must be an object. ${namesOf(toldOf(known))}`)
  for (const name of Object.keys(options)) if (!known.has(name)) refuse(method, name, toldOf(known))
}

function refuse(method: string, name: string, told: readonly string[]): never {
  const said = [`${method}: unknown option "${name}".`, didYouMean(name, told), namesOf(told)]
  throw new TypeError(said.filter((part) => part !== '').join(' '))
}

function toldOf(known: ReadonlySet<string>): readonly string[] {
  return [...known].filter((name) => !inner.has(name))
}

function namesOf(told: readonly string[]): string {
  return told.length === 0 ? 'It has none.' : `Options: ${told.join(', ')}.`
}
