/** `checkOf`: the check of a class for values that do not come with a request. */
import { refuseUnknownOptions } from '../errors/unknown-options.js'
import type { Class } from '../metadata/class-metadata.js'
import { compileInput, type Check } from './compile-input.js'
import { readCheckedShape } from './checked-shape.js'

export interface CheckOfOptions {
  /** The name of the value in messages. Default `the value`. */
  readonly name?: string
}

/**
 * Compiles the fields of a class into a check of values, like the check of a route's body: it creates an instance, or
 * throws a 400 that names every violation. The program may set read-only and hidden fields.
 *
 * @throws {DeclarationError} the class has invalid fields
 */
export function checkOf<T extends object>(type: Class<T>, options: CheckOfOptions = {}): Check<T> {
  refuseUnknownOptions('checkOf', options, new Set(['name']))
  const { name = 'the value' } = options
  return compileInput(readCheckedShape(type), { from: 'program', inputName: name })
}
