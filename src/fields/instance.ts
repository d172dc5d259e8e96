/** How an instance of a class comes to be, without its constructor where that has nothing to do. */
import { lineage, type Class } from '../metadata/note.js'

/** Makes an empty instance: no property of its own but those that the class initialises with a value. */
export type Make = new () => Record<string, unknown>

/**
 * The values with which a class initialises its properties (`limit = 10`), from one trial instance.
 *
 * @returns `undefined` where there are none, or where the constructor wants arguments or throws
 */
export function initialValues(type: Class): Readonly<Record<string, unknown>> | undefined {
  if (lineage(type).every((ancestor) => !runsCode(ancestor))) return undefined
  const Constructor = type as unknown as Make
  try {
    const values = Object.entries(new Constructor()).filter(([, value]) => value !== undefined)
    return values.length === 0 ? undefined : Object.fromEntries(values)
  } catch {
    return undefined
  }
}

/**
 * The constructor to use for checked input. A class that only declares its properties is not constructed but given its
 * prototype: compilers that define every declared property would make absent keys look sent (`{ name: undefined }`),
 * and an update changes only what it names.
 */
export function makerOf(type: Class): { readonly Make: Make; readonly constructs: boolean } {
  const initial = initialValues(type)
  if (initial !== undefined || lineage(type).some(keepsState)) {
    if (type.length === 0 && constructible(type))
      return { Make: type as unknown as Make, constructs: true }
  }
  const Bare = function () {} as unknown as Make
  Object.defineProperty(Bare, 'prototype', { value: type.prototype as object })
  return { Make: Bare, constructs: false }
}

function constructible(type: Class): boolean {
  try {
    return typeof new (type as unknown as Make)() === 'object'
  } catch {
    return false
  }
}

/** Anything that could give a property a value: an assignment or a constructor in the class's text. */
function runsCode(type: Class): boolean {
  const text = Function.prototype.toString.call(type)
  return text.includes('=') || /\bconstructor\b/.test(text)
}

/**
 * Private fields exist only on constructed instances, and methods that use them throw on others; compilers for older
 * targets make them in the constructor.
 */
function keepsState(type: Class): boolean {
  return /#[\w$]|\bconstructor\s*\(|private/i.test(Function.prototype.toString.call(type))
}
