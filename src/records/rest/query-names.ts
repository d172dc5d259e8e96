/** Reads a list of names from a query: `fields=id,name`, or the parameter more than once. */
import { invalid } from '../filters/invalid.js'

/**
 * `color,size`
 *
 * @returns `undefined` where the parameter was not sent
 * @throws {HttpError} 400 for a list without names, and for empty names
 */
export function readNames(
  name: string,
  text: string | string[] | undefined,
): readonly string[] | undefined {
  if (text === undefined) return undefined
  const names = (Array.isArray(text) ? text : [text]).flatMap((one) => one.split(','))
  if (names.some((one) => one === '' || one === '-'))
    throw invalid(name, 'required', 'must be names, separated by commas')
  return names
}
