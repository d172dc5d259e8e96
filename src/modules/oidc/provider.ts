/**
 * An OpenID Connect provider: discovery, the URL of its sign-in page, and the validation of its responses. Only this file imports
 * openid-client, which the application installs. Standards: OpenID Connect Core 1.0 §3.1.3.7, Discovery 1.0 §4, RP-Initiated
 * Logout 1.0 §2, RFC 9207 §2.4.
 */
import type * as Library from 'openid-client'
import {
  HttpError,
  missingPackage,
  type MissingPackage,
  type ApplicationState,
  type Auth,
  type Clock,
  type Lifecycle,
  type PublicUrl,
  resetState,
} from '../../index.js'
import { ProviderClient, ResponseCache } from './provider-client.js'
import type { OidcSettings, SignIn } from './options.js'
import type { SignInTransaction } from './transactions.js'

/** The services that a provider uses. */
export interface ProviderServices {
  readonly state: ApplicationState
  readonly clock: Clock
  readonly publicUrl: PublicUrl
  readonly auth: Auth
}

/** Time limit in milliseconds for the requests to the provider while a browser waits. */
const requestTimeout = 10_000

/** How many seconds the provider's clock may differ. */
const maxClockDifference = 30

/**
 * Seconds. openid-client fetches keys again that are older than 300 s, so their age is capped. The rest is left for the
 * sign-in itself, which may wait for a slow provider.
 */
const maxKeyAge = 240

export class Provider implements Lifecycle {
  readonly name: string
  readonly publicUrl: PublicUrl
  readonly #settings: OidcSettings
  readonly #services: ProviderServices
  readonly #responses: ResponseCache
  /** Seconds. */
  readonly #maxAge: number | undefined
  #nextWarning = 0

  constructor(settings: OidcSettings, services: ProviderServices) {
    this.name = settings.name
    this.publicUrl = services.publicUrl
    this.#settings = settings
    this.#services = services
    this.#maxAge = settings.maxAge
    this.#responses = new ResponseCache(() => services.clock.now())
  }

  /** Does not send a request to the provider, because it may be unavailable. */
  async onStart(): Promise<void> {
    await load()
  }

  [resetState](): void {
    this.#responses.clear()
  }

  /** The redirect URL. It must be registered at the provider. */
  get callback(): string {
    return this.publicUrl.to(`/signin/${this.name}/callback`)
  }

  /**
   * The URL of the provider's sign-in page.
   *
   * @throws {HttpError} 503 if the provider is unavailable
   */
  async authorizationUrl(state: string, { verifier, nonce }: SignInTransaction): Promise<string> {
    const library = await load()
    const { configuration } = await this.#configure(library)
    const page = configuration.serverMetadata().authorization_endpoint
    if (page === undefined || !URL.canParse(page) || !this.#isWebPage(new URL(page)))
      throw this.#unavailable('it has no authorization endpoint')
    const { scope, parameters, responseMode } = this.#settings
    const url = library.buildAuthorizationUrl(configuration, {
      ...parameters,
      scope,
      state,
      nonce,
      redirect_uri: this.callback,
      code_challenge: await library.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      ...(responseMode === undefined ? {} : { response_mode: responseMode }),
      ...(this.#maxAge === undefined ? {} : { max_age: String(this.#maxAge) }),
    })
    return url.href
  }

  /** Whether a URL is a web page. A malicious provider could otherwise send the browser to `javascript:`. */
  #isWebPage({ protocol }: URL): boolean {
    return (
      protocol === 'https:' || (protocol === 'http:' && this.#settings.issuer.startsWith('http:'))
    )
  }

  /**
   * Exchanges the code for tokens and validates them.
   *
   * @param query the provider's response as the query of the callback URL
   * @returns `'denied'` if the user has declined
   * @throws {HttpError} 401 if the response is not valid, 503 if the provider is unavailable
   */
  async identify(
    query: string,
    state: string,
    { verifier, nonce }: SignInTransaction,
  ): Promise<SignIn | 'denied'> {
    const library = await load()
    const { configuration, client } = await this.#configure(library)
    try {
      const tokens = await library.authorizationCodeGrant(
        configuration,
        new URL(`${this.callback}${query}`),
        {
          pkceCodeVerifier: verifier,
          expectedState: state,
          expectedNonce: nonce,
          idTokenExpected: true,
          ...(this.#maxAge === undefined ? {} : { maxAge: this.#maxAge }),
        },
      )
      const claims = tokens.claims()
      if (claims === undefined) throw new TypeError('there is no ID token')
      readFlags(claims)
      // openid-client checks azp only for tokens with several audiences (OpenID Connect Core 1.0 §3.1.3.7, 5).
      if (claims.azp !== undefined && claims.azp !== this.#settings.clientId)
        throw new TypeError('azp names another party')
      if (claims.sub === '') throw new TypeError('sub is empty')
      // openid-client checks the type of iat alone.
      if (claims.iat > this.#services.clock.now() / 1000 + maxClockDifference)
        throw new TypeError('iat is ahead')
      if (!this.#settings.userInfo) return this.#toSignIn(claims, claims)
      const userInfo = await library.fetchUserInfo(configuration, tokens.access_token, claims.sub)
      readFlags(userInfo)
      // Use `email` and `email_verified` from the same source.
      return this.#toSignIn(
        { ...userInfo, ...claims },
        claims.email === undefined ? userInfo : claims,
      )
    } catch (error) {
      if (client.failure !== undefined) throw this.#unavailable(client.failure)
      if (error instanceof library.AuthorizationResponseError)
        return this.#handleErrorResponse(error)
      throw this.#rejectedResponse(error, error instanceof library.ResponseBodyError)
    }
  }

  /** The URL of the provider's sign-out, or undefined if it has none or is unavailable. */
  async endSessionUrl(): Promise<string | undefined> {
    const library = await load()
    try {
      const { configuration } = await this.#configure(library)
      if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined
      const back = { post_logout_redirect_uri: this.publicUrl.to('/') }
      const url = library.buildEndSessionUrl(configuration, back)
      return this.#isWebPage(url) ? url.href : undefined
    } catch {
      return undefined
    }
  }

  /** Creates the configuration for one request, with its time limit and the cached keys. */
  async #configure(
    library: typeof Library,
  ): Promise<{ configuration: Library.Configuration; client: ProviderClient }> {
    const { issuer, clientId, clientSecret } = this.#settings
    const now = (): number => this.#services.clock.now()
    const client = new ProviderClient(this.#responses, requestTimeout, now)
    const { customFetch, clockSkew, clockTolerance } = library
    const checks = {
      [clockTolerance]: maxClockDifference,
      [clockSkew]: Math.round((now() - Date.now()) / 1000),
      ...(clientSecret === undefined ? {} : { client_secret: clientSecret }),
    }
    try {
      const configuration = await library.discovery(
        new URL(issuer),
        clientId,
        checks,
        this.#authentication(library),
        {
          [customFetch]: client.discover as Library.CustomFetch,
          timeout: requestTimeout / 1000,
          execute: [
            library.enableNonRepudiationChecks,
            // The options allow http only on loopback, for development.
            // eslint-disable-next-line @typescript-eslint/no-deprecated
            ...(issuer.startsWith('http:') ? [library.allowInsecureRequests] : []),
          ],
        },
      )
      configuration[library.customFetch] = client.fetch as Library.CustomFetch
      this.#shareCachedKeys(library, configuration)
      return { configuration, client }
    } catch (error) {
      throw this.#unavailable(client.failure ?? toReason(error))
    }
  }

  /** Uses a method that the provider supports. The default is `basic` (Discovery 1.0 §3). */
  #authentication(library: typeof Library): Library.ClientAuth {
    const { clientSecret, clientAuth } = this.#settings
    if (clientSecret === undefined) return library.None()
    const basic = library.ClientSecretBasic(clientSecret)
    const post = library.ClientSecretPost(clientSecret)
    return (server, client, body, headers) => {
      const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
      const supportsBasic = methods.includes('client_secret_basic')
      const method = clientAuth ?? (supportsBasic ? 'basic' : 'post')
      ;(method === 'basic' ? basic : post)(server, client, body, headers)
    }
  }

  /**
   * Passes the cached keys to openid-client. It would fetch keys again after five minutes, or after a minute for an unknown
   * `kid`. Here the caching headers decide.
   */
  #shareCachedKeys(library: typeof Library, configuration: Library.Configuration): void {
    const { jwks_uri: address } = configuration.serverMetadata()
    const cached = address === undefined ? undefined : this.#responses.find(address)
    const jwks = cached === undefined ? undefined : parseKeys(cached.text)
    if (cached === undefined || jwks === undefined) return
    const age = Math.max(0, Math.floor((this.#services.clock.now() - cached.receivedAt) / 1000))
    const uat = Math.floor(Date.now() / 1000) - Math.min(age, maxKeyAge)
    library.setJwksCache(configuration, { jwks, uat })
  }

  #toSignIn(claims: SignIn['claims'], emailClaims: SignIn['claims']): SignIn {
    const { iss, sub } = claims
    const { email, email_verified: isVerified } = emailClaims
    const allowsLink = this.#settings.link === 'verified-email' && isVerified === true
    return {
      provider: this.name,
      issuer: String(iss),
      subject: String(sub),
      claims,
      link: allowsLink && typeof email === 'string' && email !== '' ? email.toLowerCase() : null,
    }
  }

  /** Handles an error that the provider sent in place of a code. */
  #handleErrorResponse({ error }: Library.AuthorizationResponseError): 'denied' {
    if (error === 'access_denied') return 'denied'
    if (error === 'temporarily_unavailable' || error === 'server_error')
      throw this.#unavailable(`it responded with ${error}`)
    throw signInRefused(`the provider says ${safeErrorName(error)}`)
  }

  #rejectedResponse(error: unknown, isErrorBody: boolean): HttpError | Error {
    const errorName = isErrorBody ? safeErrorName((error as Library.ResponseBodyError).error) : ''
    if (!isErrorBody || errorName === 'invalid_grant')
      return signInRefused(
        `the provider's response was rejected: ${errorName === '' ? toReason(error) : errorName}`,
      )
    // The client's settings are wrong, so all sign-ins fail.
    return new Error(`oidc ${this.name}: the provider refuses this client: ${errorName}`)
  }

  /** Creates the 503 error. Logs a warning at most every ten seconds. */
  #unavailable(reason: string): HttpError {
    const now = this.#services.clock.now()
    if (now >= this.#nextWarning) {
      this.#nextWarning = now + 10_000
      const { log } = this.#services.state
      log.warn({ provider: this.name, reason }, 'a sign-in provider is unavailable')
    }
    return new HttpError(503, 'Signing in is not possible right now.', {
      code: 'PROVIDER_UNAVAILABLE',
      headers: { 'retry-after': '10' },
      reason: `the provider ${this.name} is unavailable: ${reason}`,
    })
  }
}

/**
 * Converts claims that are booleans in the standard (OpenID Connect Core 1.0 §5.1). Some providers, such as Apple, send
 * text, and the text `'false'` would count as true in an application.
 */
function readFlags(claims: Record<string, unknown>): void {
  for (const name of ['email_verified', 'phone_number_verified']) {
    if (claims[name] === 'true') claims[name] = true
    if (claims[name] === 'false') claims[name] = false
  }
}

function signInRefused(reason: string): HttpError {
  const headers = { 'www-authenticate': 'Bearer' }
  return new HttpError(401, 'Signing in did not succeed.', {
    code: 'SIGN_IN_REFUSED',
    headers,
    reason,
  })
}

/** The reason without the error's cause, which may contain codes and tokens. */
function toReason(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown }
  return `${String(message)}${typeof code === 'string' ? ` (${code})` : ''}`
}

/** An error name that is safe to log, because the sender can write anything. */
function safeErrorName(error: string): string {
  return /^[a-z_]{1,40}$/.test(error) ? error : 'an error without a name'
}

function parseKeys(text: string): Library.ExportedJWKSCache['jwks'] | undefined {
  try {
    const keys = JSON.parse(text) as Library.ExportedJWKSCache['jwks'] | null
    return Array.isArray(keys?.keys) ? keys : undefined
  } catch {
    return undefined
  }
}

/** @throws {DeclarationError} if the package is missing or cannot be loaded */
async function load(): Promise<typeof Library> {
  try {
    // A variable prevents bundlers from resolving the package when it is not installed.
    return (await import(openidClient.name)) as typeof Library
  } catch (cause) {
    throw missingPackage(openidClient, cause)
  }
}

/** The problem that is reported if the package is not installed. */
export const openidClient: MissingPackage = {
  name: 'openid-client',
  code: 'OIDC_CLIENT_MISSING',
  message: 'oidc: the package openid-client is missing.',
  remedy: 'Run: npm install openid-client',
}
