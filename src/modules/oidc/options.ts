/** The options of `oidc()`, and the argument of the application's method. */
import {
  declareOptions,
  option,
  providerMethod,
  type OptionsOf,
  type ValuesOf,
} from '../../index.js'

/** Parameters that the module sets itself, because the validation depends on them. */
const reservedParameters = [
  ...['client_id', 'redirect_uri', 'response_type', 'response_mode', 'scope', 'state', 'nonce'],
  ...['code_challenge', 'code_challenge_method', 'max_age', 'request', 'request_uri'],
]

export const oidcOptions = declareOptions({
  /** The name in the path `/signin/<name>` and in the claim `idp`: lowercase letters, digits and dashes. */
  name: option
    .text(
      "Write lowercase letters, digits and dashes: 'google'. It is part of the path /signin/google.",
      /^[a-z][a-z0-9-]{0,31}$/,
    )
    .required(''),
  /** The issuer exactly as the provider names it: `https://accounts.google.com`. https, or http on loopback. */
  issuer: option
    .of<string>(isIssuer, "Write the provider's https address as it names itself, without a query.")
    .required(),
  /** The id that the provider gave to the application. */
  clientId: option.text().required(),
  /** Default: none, for a public client that only PKCE protects. */
  clientSecret: option.text(),
  /** How the secret is sent. Default `'basic'`, or `'post'` if the provider supports only that. */
  clientAuth: option.oneOf('basic', 'post'),
  /** The scopes, including `openid`. Default `'openid'`. */
  scope: option
    .text("Write the scopes with openid among them: 'openid email'.", /(?:^| )openid(?: |$)/)
    .default('openid'),
  /** A provider of the application and its method that returns the claims of the user: `[Users, 'fromGoogle']`. */
  signIn: providerMethod('fromGoogle').required(),
  /** `'verified-email'` sets `SignIn.link` to the verified e-mail address. Default: `link` is null. */
  link: option.oneOf('verified-email'),
  /** Whether to request more claims from the UserInfo endpoint. Default false: only the claims of the ID token. */
  userInfo: option.flag().default(false),
  /**
   * How long ago the user may have authenticated at the provider, `'5m'` or seconds. After that, the user must authenticate again.
   * Default: no limit.
   */
  maxAge: option.seconds("Write a time: '5m', or seconds."),
  /**
   * How the provider sends its response: `'query'` as a redirect, `'form_post'` as a form. Apple requires a form for the
   * scopes `name` and `email`. Default: the provider's own, which is a redirect.
   */
  responseMode: option.oneOf('query', 'form_post'),
  /** Additional parameters for the provider's page: `{ prompt: 'select_account' }`. Default: none. */
  parameters: option
    .of<Readonly<Record<string, string>>>(
      isParameters,
      "Write strings, without parameters that the module sets itself: { prompt: 'login' }. For response_mode, use the option responseMode.",
    )
    .default({}),
  /** The key in the browser's local storage for the token. Default `'app_token'`, as in `filigree/client`. */
  tokenKey: option.text().default('app_token'),
})

export interface OidcOptions extends OptionsOf<typeof oidcOptions> {}

/** The options with defaults. */
export type OidcSettings = ValuesOf<typeof oidcOptions>

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

function isIssuer(value: unknown): boolean {
  if (typeof value !== 'string' || !URL.canParse(value) || /[?#]/.test(value)) return false
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
