/** Options that name a method of an application's provider, which a package calls: `signIn: [Users, 'fromPasskey']`. */
import type { Problem } from '../errors/declaration-error.js'
import type { Option } from '../options/declare-options.js'
import { option } from '../options/option.js'
import { resolveClass, type ClassReference } from '../metadata/class.js'

/** A class of a provider, or a function that returns one, and the name of its method. */
export type ProviderMethod = readonly [provider: ClassReference, method: string]

/** @param example the name of a method, for messages: `fromPasskey` */
export function providerMethod(example: string): Option<ProviderMethod> {
  return option.of(
    (value) => Array.isArray(value) && value.length === 2 && typeof value[1] === 'string',
    remedyOf(example),
  )
}

/**
 * Finds out whether the class has the method. Call this in the `check` of a module, when all classes are defined.
 *
 * @param name the name of the option
 * @param where what the options belong to: `passkeys`
 * @param example as for `providerMethod`
 */
export function findMethodProblems(
  name: string,
  [provider, method]: ProviderMethod,
  where: string,
  example: string,
): Problem[] {
  const type = resolveClass(provider)
  const prototype = type?.prototype as Readonly<Record<string, unknown>> | undefined
  const hasMethod = typeof prototype?.[method] === 'function' && !(method in Object.prototype)
  if (hasMethod) return []
  const message = `${where}: ${name} names ${type?.name ?? 'no class'}.${method}, which is not a method.`
  return [{ code: 'INVALID_OPTION', message, remedy: remedyOf(example) }]
}

function remedyOf(example: string): string {
  return `Write a provider and the name of its method: [Users, '${example}'].`
}
