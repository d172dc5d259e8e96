/** The options of `passkeys()` and their check at startup, and the argument of the application's method. */
import {
  findOptionProblems,
  type ModuleOptions,
  type Problem,
  type SecuredOptions,
} from '../../index.js'
import { Passkey } from './passkey.js'

/** A class of a provider, or a function that returns one. */
type ClassReference = NonNullable<ModuleOptions['records']>[number]

type Method = readonly [users: ClassReference, method: string]

export interface PasskeysOptions {
  /** The name of the application that browsers show. */
  name: string
  /** The record of passkeys: `Passkey` or a class that extends it. Default `Passkey`. */
  credentials?: typeof Passkey
  /**
   * A provider of the application and the name of its method: `[Users, 'fromPasskey']`. The method receives a `PasskeySignIn` and
   * returns the claims of the token, or null to reject the sign-in.
   */
  signIn: Method
  /**
   * The method that returns the `sub` of a name, or null: `[Users, 'byName']`. It must accept one spelling of a name only. Default:
   * the name is the `sub`.
   */
  find?: Method
  /**
   * The requirements of `@Secured` for adding and removing passkeys: `{ fresh: '10m' }`. This prevents a stolen token from adding a
   * passkey. Default: any valid token.
   */
  manage?: SecuredOptions
}

/** A user whose passkey was verified. */
export interface PasskeySignIn {
  readonly sub: string
  /** The passkey's `credential`. */
  readonly credential: string
}

export function findProblems(options: PasskeysOptions): Problem[] {
  return findOptionProblems('passkeys', options, {
    name: [
      (value) => typeof value === 'string' && value !== '',
      "Write the name of the application: 'Help desk'.",
      'required',
    ],
    credentials: [
      (value) =>
        typeof value === 'function' && (value === Passkey || value.prototype instanceof Passkey),
      'Write Passkey, or a record that extends it.',
    ],
    signIn: [
      isMethod,
      "Write a provider and the name of its method: [Users, 'fromPasskey'].",
      'required',
    ],
    manage: [
      (value) => typeof value === 'object' && value !== null,
      "Write options of @Secured: { fresh: '10m' }.",
    ],
    find: [isMethod, "Write a provider and the name of its method: [Users, 'byName']."],
  })
}

/** Checks the methods. Call this after all classes are defined. */
export function findMethodProblems({ signIn, find }: PasskeysOptions): Problem[] {
  return [
    ...findMethodProblem('signIn', signIn, 'fromPasskey'),
    ...(find === undefined ? [] : findMethodProblem('find', find, 'byName')),
  ]
}

function findMethodProblem(option: string, [users, method]: Method, example: string): Problem[] {
  const type = isClass(users) ? users : (users as () => unknown)()
  const prototype: unknown = isClass(type) ? type.prototype : undefined
  const hasMethod =
    typeof prototype === 'object' &&
    typeof (prototype as Record<string, unknown>)[method] === 'function' &&
    !(method in Object.prototype)
  if (hasMethod) return []
  const message = `passkeys: ${option} names ${isClass(type) ? type.name : 'no class'}.${method}, which is not a method.`
  const fix = `Write a provider and the name of its method: [Users, '${example}'].`
  return [{ code: 'INVALID_OPTION', message, remedy: fix }]
}

function isMethod(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 && typeof value[1] === 'string'
}

function isClass(value: unknown): value is abstract new (...args: never[]) => object {
  return typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value))
}
