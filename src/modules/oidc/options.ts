/** The options of `oidc()` and their check at startup, and the argument of the application's method. */
import { readSeconds, findOptionProblems, type ModuleOptions, type Problem } from '../../index.js'

/** A class of a provider, or a function that returns one. */
type ClassReference = NonNullable<ModuleOptions['records']>[number]

export interface OidcOptions {
  /** The name in the path `/signin/<name>` and in the claim `idp`: lowercase letters, digits and dashes. */
  name: string
  /** The issuer exactly as the provider names it: `https://accounts.google.com`. https, or http on loopback. */
  issuer: string
  clientId: string
  /** Default: none, for a public client that only PKCE protects. */
  clientSecret?: string
  /** How the secret is sent. Default `'basic'`, or `'post'` if the provider supports only that. */
  clientAuth?: 'basic' | 'post'
  /** The scopes, including `openid`. Default `'openid'`. */
  scope?: string
  /** A provider of the application and its method that returns the claims of the user: `[Users, 'fromGoogle']`. */
  signIn: readonly [users: ClassReference, method: string]
  /** `'verified-email'` sets `SignIn.link` to the verified e-mail address. Default: `link` is null. */
  link?: 'verified-email'
  /** Whether to request more claims from the UserInfo endpoint. Default false: only the claims of the ID token. */
  userInfo?: boolean
  /**
   * How long ago the user may have authenticated at the provider, `'5m'` or seconds. After that, the user must authenticate again.
   * Default: no limit.
   */
  maxAge?: number | string
  /**
   * How the provider sends its response: `'query'` as a redirect, `'form_post'` as a form. Apple requires a form for the
   * scopes `name` and `email`. Default: the provider's own, which is a redirect.
   */
  responseMode?: 'query' | 'form_post'
  /** Additional parameters for the provider's page: `{ prompt: 'select_account' }`. */
  parameters?: Readonly<Record<string, string>>
  /** The key in the browser's local storage for the token. Default `'app_token'`, as in `filigree/client`. */
  tokenKey?: string
}

/** A user who has signed in at a provider. */
export interface SignIn {
  /** The option `name`. */
  readonly provider: string
  /** `issuer` and `subject` together identify the user. Other claims may change, and may later belong to another user. */
  readonly issuer: string
  readonly subject: string
  /** The claims of the provider. Signature, times and audience are verified. */
  readonly claims: Readonly<Record<string, unknown>>
  /**
   * A verified e-mail address in lower case that may link the sign-in to an existing account. Null unless the option `link` is set
   * and the provider has verified the address.
   */
  readonly link: string | null
}

/** Parameters that the module sets itself, because the validation depends on them. */
const reservedParameters = [
  ...['client_id', 'redirect_uri', 'response_type', 'response_mode', 'scope', 'state', 'nonce'],
  ...['code_challenge', 'code_challenge_method', 'max_age', 'request', 'request_uri'],
]

export function findProblems(options: OidcOptions): Problem[] {
  const { name } = options as { readonly name?: unknown }
  const where = typeof name === 'string' ? `oidc ${name}` : 'oidc'
  const textFix = 'Write a text that is not empty.'
  return findOptionProblems(where, options, {
    name: [
      (value) => typeof value === 'string' && /^[a-z][a-z0-9-]{0,31}$/.test(value),
      "Write lowercase letters, digits and dashes: 'google'. It is part of the path /signin/google.",
      'required',
    ],
    issuer: [
      isIssuer,
      "Write the provider's https address as it names itself, without a query.",
      'required',
    ],
    clientId: [isText, textFix, 'required'],
    clientSecret: [isText, textFix],
    tokenKey: [isText, textFix],
    scope: [
      (value) => isText(value) && value.split(' ').includes('openid'),
      "Write the scopes with openid among them: 'openid email'.",
    ],
    link: [(value) => value === 'verified-email', "Write 'verified-email'."],
    clientAuth: [(value) => value === 'basic' || value === 'post', "Write 'basic' or 'post'."],
    userInfo: [(value) => typeof value === 'boolean', 'Write true.'],
    maxAge: [(value) => readSeconds(value) !== undefined, "Write a time: '5m', or seconds."],
    responseMode: [
      (value) => value === 'query' || value === 'form_post',
      "Write 'query' or 'form_post'.",
    ],
    parameters: [
      isParameters,
      "Write strings, without parameters that the module sets itself: { prompt: 'login' }. For response_mode, use the option responseMode.",
    ],
    signIn: [
      (value) => Array.isArray(value) && value.length === 2 && typeof value[1] === 'string',
      "Write a provider and the name of its method: [Users, 'fromGoogle'].",
      'required',
    ],
  })
}

/** Checks the method. Call this after all classes are defined. */
export function findMethodProblems({ name, signIn }: OidcOptions): Problem[] {
  const [users, method] = signIn
  const type = isClass(users) ? users : (users as () => unknown)()
  const prototype: unknown = isClass(type) ? type.prototype : undefined
  const hasMethod =
    typeof prototype === 'object' &&
    typeof (prototype as globalThis.Record<string, unknown>)[method] === 'function' &&
    !(method in Object.prototype)
  if (hasMethod) return []
  const message = `oidc ${name}: signIn names ${isClass(type) ? type.name : 'no class'}.${method}, which is not a method.`
  const fix = "Write a provider and the name of its method: [Users, 'fromGoogle']."
  return [{ code: 'INVALID_OPTION', message, remedy: fix }]
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
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).every(
    ([name, text]) => typeof text === 'string' && !reservedParameters.includes(name),
  )
}
