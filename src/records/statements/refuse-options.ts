/** Refuses unknown options: otherwise they would be ignored silently. */
import { didYouMean } from '../../errors/did-you-mean.js'

/** What only the framework gives: it is told to nobody. */
const inner: ReadonlySet<string> = new Set(['view', 'related'])

/** @throws {TypeError} an option that is none of these, or options that are no object */
export function refuseUnknownOptions(
  method: string,
  options: unknown,
  known: ReadonlySet<string>,
): void {
  if (options === undefined) return
  const told = [...known].filter((name) => !inner.has(name))
  const names = told.length === 0 ? 'It has none.' : `Options: ${told.join(', ')}.`
  if (typeof options !== 'object' || options === null)
    throw new TypeError(`${method}: options must be an object. ${names}`)
  for (const name of Object.keys(options)) {
    if (known.has(name)) continue
    const meant = didYouMean(name, told)
    throw new TypeError(`${method}: unknown option "${name}". ${meant} ${names}`.replace('  ', ' '))
  }
}
