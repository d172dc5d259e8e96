/** The options of `passkeys()` and their check at startup, and the argument of the application's method. */
import {
  rejectUnknownOptions,
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

const names: Readonly<Record<keyof PasskeysOptions, true>> = {
  credentials: true,
  find: true,
  manage: true,
  name: true,
  signIn: true,
}

export function findProblems(input: PasskeysOptions): Problem[] {
  const options = input as Readonly<Record<keyof PasskeysOptions, unknown>>
  const problems = rejectUnknownOptions(input, Object.keys(names), 'passkeys')
  const refuse = (option: string, fix: string): void => {
    const message = `passkeys: ${option} cannot be used.`
    problems.push({ code: 'INVALID_OPTION', message, remedy: fix })
  }
  const { name, credentials, signIn, find, manage } = options
  if (typeof name !== 'string' || name === '')
    refuse('name', "Write the name of the application: 'Help desk'.")
  const isRecord =
    typeof credentials === 'function' &&
    (credentials === Passkey || credentials.prototype instanceof Passkey)
  if (credentials !== undefined && !isRecord)
    refuse('credentials', 'Write Passkey, or a record that extends it.')
  if (!isMethod(signIn))
    refuse('signIn', "Write a provider and the name of its method: [Users, 'fromPasskey'].")
  if (manage !== undefined && (typeof manage !== 'object' || manage === null))
    refuse('manage', "Write options of @Secured: { fresh: '10m' }.")
  if (find !== undefined && !isMethod(find))
    refuse('find', "Write a provider and the name of its method: [Users, 'byName'].")
  return problems
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
