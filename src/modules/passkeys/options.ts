/** What `passkeys` takes, checked at the start, and what the application's method gets. */
import {
  rejectUnknownOptions,
  type ModuleOptions,
  type Problem,
  type SecuredOptions,
} from '../../index.js'
import { Passkey } from './passkey.js'

/** A class of a provider, or a thunk of one. */
type ClassReference = NonNullable<ModuleOptions['records']>[number]

type Method = readonly [users: ClassReference, method: string]

export interface PasskeysOptions {
  /** What browsers show as the name of the application. */
  name: string
  /** The record of passkeys. Default `Passkey`; a class of one's own extends it. */
  credentials?: typeof Passkey
  /**
   * A provider of the application and the name of its method, which says who signs in: `[Users, 'fromPasskey']`. It gets a
   * `PasskeySignIn` and gives the token's claims, or null, which refuses.
   */
  signIn: Method
  /**
   * The method that gives the `sub` of a name, or null: `[Users, 'byName']`. It must know one spelling of a name only. Default:
   * the name is the `sub`.
   */
  find?: Method
  /**
   * What adding and removing passkeys asks of a token, as `@Secured` takes it: `{ fresh: '10m' }`, so that a token which somebody
   * else holds for a while gives them no passkey of their own. Default: any token.
   */
  manage?: SecuredOptions
}

/** Somebody whose passkey was verified. */
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

export function findProblems(given: PasskeysOptions): Problem[] {
  const options = given as Readonly<Record<keyof PasskeysOptions, unknown>>
  const problems = rejectUnknownOptions(given, Object.keys(names), 'passkeys')
  const refuse = (option: string, remedy: string): void => {
    const message = `passkeys: ${option} cannot be used.`
    problems.push({ code: 'INVALID_OPTION', message, remedy })
  }
  const { name, credentials, signIn, find, manage } = options
  if (typeof name !== 'string' || name === '')
    refuse('name', "Write what people know the application by: 'Help desk'.")
  const isRecord =
    typeof credentials === 'function' &&
    (credentials === Passkey || credentials.prototype instanceof Passkey)
  if (credentials !== undefined && !isRecord)
    refuse('credentials', 'Write Passkey, or a record that extends it.')
  if (!isMethod(signIn))
    refuse('signIn', "Write a provider and the name of its method: [Users, 'fromPasskey'].")
  if (manage !== undefined && (typeof manage !== 'object' || manage === null))
    refuse('manage', "Write what @Secured takes: { fresh: '10m' }.")
  if (find !== undefined && !isMethod(find))
    refuse('find', "Write a provider and the name of its method: [Users, 'byName'].")
  return problems
}

/** @returns what is wrong with the methods, once all classes are there */
export function findMethodProblems({ signIn, find }: PasskeysOptions): Problem[] {
  return [
    ...findMethodProblem('signIn', signIn, 'fromPasskey'),
    ...(find === undefined ? [] : findMethodProblem('find', find, 'byName')),
  ]
}

function findMethodProblem(option: string, [users, method]: Method, example: string): Problem[] {
  const type = isClass(users) ? users : (users as () => unknown)()
  const prototype: unknown = isClass(type) ? type.prototype : undefined
  const has =
    typeof prototype === 'object' &&
    typeof (prototype as Record<string, unknown>)[method] === 'function' &&
    !(method in Object.prototype)
  if (has) return []
  const message = `passkeys: ${option} names ${isClass(type) ? type.name : 'no class'}.${method}, which is no method.`
  const remedy = `Write a provider and the name of its method: [Users, '${example}'].`
  return [{ code: 'INVALID_OPTION', message, remedy }]
}

function isMethod(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 && typeof value[1] === 'string'
}

function isClass(value: unknown): value is abstract new (...args: never[]) => object {
  return typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value))
}
