/** What Filigree compiles from the fields of a class: checks of bodies and of texts, and the mapping of responses. */
import { type InputCheck } from '../../src/index.js'
import { Problems } from '../../src/errors/problems.js'
import { compileInput, type InputOptions } from '../../src/fields/compile-input.js'
import { compileOutput } from '../../src/fields/compile-output.js'
import { compileText } from '../../src/fields/compile-text.js'
import { recordClass } from '../../src/fields/field.js'
import { formats, type FormatName } from '../../src/fields/formats.js'
import { kinds } from '../../src/fields/kinds/table.js'
import { readShape, type Shape } from '../../src/fields/shape.js'
import type { Class, KindName } from '../public-types.js'

export { kinds, Problems }
export type { FormatName, InputOptions }

export const formatNames = Object.keys(formats) as FormatName[]
export const kindNames = Object.keys(kinds) as KindName[]

export function matchesFormat(format: FormatName, text: string): boolean {
  return formats[format].test(text)
}

/** @returns the check of a body of the class: an instance, or a 400 that names every violation */
export function bodyCheck<T extends object>(type: Class<T>, options?: InputOptions): InputCheck<T> {
  return compileInput(readShape(type), options)
}

/** @returns the check of a query or a form, whose values are texts */
export function textCheck<T extends object>(type: Class<T>, options?: InputOptions): InputCheck<T> {
  return compileText(readShape(type), options)
}

/** @returns a function that maps a value to the visible fields of the class */
export function responseMapper(type: Class): (value: unknown) => unknown {
  return compileOutput(readShape(type))
}

/** @returns the fields of the class. Problems are thrown if there is no collector for them */
export function shapeOf<T extends object>(...input: Parameters<typeof readShape<T>>): Shape<T> {
  return readShape(...input)
}

/** Gives the class a key that the database makes, as `@Record` does. */
export function generateKey(type: Class): void {
  recordClass.write(type, true)
}
