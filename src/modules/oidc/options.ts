/** What `oidc` takes, checked at the start, and what the application's method gets. */
import { readSeconds, rejectUnknownOptions, type ModuleOptions, type Problem } from '../../index.js'

/** A class of a provider, or a thunk of one. */
type ClassReference = NonNullable<ModuleOptions['records']>[number]

export interface OidcOptions {
  /** In addresses, `/signin/<name>`, and in the token's claim `idp`: small letters, digits and dashes. */
  name: string
  /** As the provider writes it: `https://accounts.google.com`. https, or http on loopback. */
  issuer: string
  clientId: string
  /** Default none: a public client, which PKCE alone protects. */
  clientSecret?: string
  /** How the secret is sent. Default `'basic'`, unless the provider says that it takes `'post'` only. */
  clientAuth?: 'basic' | 'post'
  /** With `openid` in it. Default `'openid'`. */
  scope?: string
  /** A provider of the application and the name of its method, which says who signs in: `[Users, 'fromGoogle']`. */
  signIn: readonly [users: ClassReference, method: string]
  /** `'verified-email'`: `link` is the e-mail that the provider has verified. Default: `link` is null. */
  link?: 'verified-email'
  /** Whether to ask for more claims at the provider's UserInfo endpoint. Default false: those of the ID token. */
  userInfo?: boolean
  /**
   * How long ago the provider may have asked the user, `'5m'` or seconds: it asks again after that, and what it says of it is
   * checked. Default: as long ago as it likes.
   */
  maxAge?: number | string
  /** More for the provider's page: `{ prompt: 'select_account' }`. */
  parameters?: Readonly<Record<string, string>>
  /** Where the browser's client stores its token. Default `'app_token'`, as in `filigree/client`. */
  tokenKey?: string
}

/** Somebody who has signed in at a provider. */
export interface SignIn {
  /** The option `name`. */
  readonly provider: string
  /** With `subject` the identity: what else is in `claims` may change and may come back for somebody else. */
  readonly issuer: string
  readonly subject: string
  /** What the provider says; signature, times and addressee are checked. */
  readonly claims: Readonly<Record<string, unknown>>
  /**
   * In lower case, an e-mail by which an account that is already here may be taken over. Null unless the option `link` says
   * so and the provider has verified it.
   */
  readonly link: string | null
}

const names: Readonly<Record<keyof OidcOptions, true>> = {
  clientAuth: true,
  clientId: true,
  clientSecret: true,
  issuer: true,
  link: true,
  maxAge: true,
  name: true,
  parameters: true,
  scope: true,
  signIn: true,
  tokenKey: true,
  userInfo: true,
}

/** Ours to say: the checks of the answer depend on them. */
const protocol = [
  ...['client_id', 'redirect_uri', 'response_type', 'response_mode', 'scope', 'state', 'nonce'],
  ...['code_challenge', 'code_challenge_method', 'max_age', 'request', 'request_uri'],
]

export function findProblems(given: OidcOptions): Problem[] {
  const options = given as Readonly<globalThis.Record<keyof OidcOptions, unknown>>
  const { name, scope, link, clientAuth, userInfo, parameters, signIn } = options
  const where = typeof name === 'string' ? `oidc ${name}` : 'oidc'
  const problems = rejectUnknownOptions(given, Object.keys(names), where)
  const refuse = (option: string, remedy: string): void => {
    problems.push({
      code: 'INVALID_OPTION',
      message: `${where}: ${option} cannot be used.`,
      remedy,
    })
  }
  if (typeof name !== 'string' || !/^[a-z][a-z0-9-]{0,31}$/.test(name))
    refuse('name', "Write small letters, digits and dashes: 'google'. It stands in /signin/google.")
  if (!isIssuer(options.issuer))
    refuse('issuer', "Write the provider's https address as it names itself, without a query.")
  for (const option of ['clientId', 'clientSecret', 'tokenKey'] as const) {
    if (isText(options[option]) || (options[option] === undefined && option !== 'clientId'))
      continue
    refuse(option, 'Write a text that is not empty.')
  }
  if (scope !== undefined && !(isText(scope) && scope.split(' ').includes('openid')))
    refuse('scope', "Write the scopes with openid among them: 'openid email'.")
  if (link !== undefined && link !== 'verified-email') refuse('link', "Write 'verified-email'.")
  if (![undefined, 'basic', 'post'].includes(clientAuth as never))
    refuse('clientAuth', "Write 'basic' or 'post'.")
  if (userInfo !== undefined && typeof userInfo !== 'boolean') refuse('userInfo', 'Write true.')
  if (options.maxAge !== undefined && readSeconds(options.maxAge) === undefined)
    refuse('maxAge', "Write a time: '5m', or seconds.")
  if (!isParameters(parameters))
    refuse('parameters', "Write texts, and none that we say ourselves: { prompt: 'login' }.")
  if (!Array.isArray(signIn) || signIn.length !== 2 || typeof signIn[1] !== 'string')
    refuse('signIn', "Write a provider and the name of its method: [Users, 'fromGoogle'].")
  return problems
}

/** @returns what is wrong with the method, once all classes are there */
export function findMethodProblems({ name, signIn }: OidcOptions): Problem[] {
  const [users, method] = signIn
  const type = isClass(users) ? users : (users as () => unknown)()
  const prototype: unknown = isClass(type) ? type.prototype : undefined
  const has =
    typeof prototype === 'object' &&
    typeof (prototype as globalThis.Record<string, unknown>)[method] === 'function' &&
    !(method in Object.prototype)
  if (has) return []
  const message = `oidc ${name}: signIn names ${isClass(type) ? type.name : 'no class'}.${method}, which is no method.`
  const remedy = "Write a provider and the name of its method: [Users, 'fromGoogle']."
  return [{ code: 'INVALID_OPTION', message, remedy }]
}

function isClass(value: unknown): value is abstract new (...args: never[]) => object {
  return typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value))
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function isIssuer(value: unknown): boolean {
  if (!isText(value) || !URL.canParse(value) || /[?#]/.test(value)) return false
  const { protocol, hostname, username, password } = new URL(value)
  if (username !== '' || password !== '') return false
  const isLoopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(hostname)
  return protocol === 'https:' || (protocol === 'http:' && isLoopback)
}

function isParameters(value: unknown): boolean {
  if (value === undefined) return true
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).every(
    ([name, text]) => typeof text === 'string' && !protocol.includes(name),
  )
}
