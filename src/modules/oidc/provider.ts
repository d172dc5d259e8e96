/**
 * One provider: what it says of itself, where its page is, and what its answer is worth. The only file that knows
 * openid-client, which an application installs. Source: OpenID Connect Core 1.0 §3.1.3.7, Discovery 1.0 §4, RP-Initiated Logout
 * 1.0 §2; RFC 9207 §2.4.
 */
import type * as Library from 'openid-client'
import {
  DeclarationError,
  HttpError,
  missingPackage,
  type MissingPackage,
  readSeconds,
  type ApplicationState,
  type Auth,
  type Clock,
  type Lifecycle,
  type PublicUrl,
  resetState,
} from '../../index.js'
import { Conversation, KeptAnswers } from './asking.js'
import type { OidcOptions, SignIn } from './options.js'
import type { Transaction } from './transactions.js'

/** What a provider stands on. */
export interface Surroundings {
  readonly state: ApplicationState
  readonly clock: Clock
  readonly publicUrl: PublicUrl
  readonly auth: Auth
}

/** Milliseconds for all that is asked of a provider while a browser waits. */
const patience = 10_000

/** Seconds by which its clock may differ. */
const tolerance = 30

/** Seconds: older keys than these are not given to openid-client, which would fetch them. */
const mostKeyAge = 299

export class Provider implements Lifecycle {
  readonly name: string
  readonly publicUrl: PublicUrl
  readonly #options: OidcOptions
  readonly #around: Surroundings
  readonly #kept: KeptAnswers
  /** Seconds. */
  readonly #maxAge: number | undefined
  #nextWarning = 0

  constructor(options: OidcOptions, around: Surroundings) {
    this.name = options.name
    this.publicUrl = around.publicUrl
    this.#options = options
    this.#around = around
    this.#maxAge = readSeconds(options.maxAge)
    this.#kept = new KeptAnswers(() => around.clock.now())
  }

  /** The provider itself is not asked: it may be away. */
  async onStart(): Promise<void> {
    await load()
    if (this.#around.auth.canSign) return
    const message = `oidc ${this.name}: there is no private key, so that nobody can be given a token.`
    const remedy = 'Set APP_PRIVATE_KEY; auth.jwks and auth: { keys: false } make no tokens.'
    throw new DeclarationError([{ code: 'AUTH_KEYS', message, remedy }])
  }

  [resetState](): void {
    this.#kept.forget()
  }

  /** Where the provider sends the browser back to; registered there. */
  get callback(): string {
    return this.publicUrl.to(`/signin/${this.name}/callback`)
  }

  /**
   * The address of the provider's page.
   *
   * @throws {HttpError} 503 where it cannot be asked
   */
  async pageFor(state: string, { verifier, nonce }: Transaction): Promise<string> {
    const library = await load()
    const { configuration } = await this.#meet(library)
    const page = configuration.serverMetadata().authorization_endpoint
    if (page === undefined || !URL.canParse(page) || !this.#isPage(new URL(page)))
      throw this.#unavailable('it names no page')
    const { scope = 'openid', parameters = {} } = this.#options
    const url = library.buildAuthorizationUrl(configuration, {
      ...parameters,
      scope,
      state,
      nonce,
      redirect_uri: this.callback,
      code_challenge: await library.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      ...(this.#maxAge === undefined ? {} : { max_age: String(this.#maxAge) }),
    })
    return url.href
  }

  /** A provider that lies leads nowhere but to pages: a script would go to `javascript:` as well. */
  #isPage({ protocol }: URL): boolean {
    return (
      protocol === 'https:' || (protocol === 'http:' && this.#options.issuer.startsWith('http:'))
    )
  }

  /**
   * Who has signed in.
   *
   * @param query of the address that the provider has sent the browser to
   * @returns `'denied'` where the user has said no
   * @throws {HttpError} 401 where the answer is not to be believed, 503 where the provider cannot be asked
   */
  async identify(
    query: string,
    state: string,
    { verifier, nonce }: Transaction,
  ): Promise<SignIn | 'denied'> {
    const library = await load()
    const { configuration, talk } = await this.#meet(library)
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
      // openid-client asks it of tokens with several addressees only (OpenID Connect Core 1.0 §3.1.3.7, 5).
      if (claims.azp !== undefined && claims.azp !== this.#options.clientId)
        throw new TypeError('azp names another party')
      if (claims.sub === '') throw new TypeError('sub is empty')
      // openid-client checks the type of iat alone.
      if (claims.iat > this.#around.clock.now() / 1000 + tolerance)
        throw new TypeError('iat is ahead')
      if (this.#options.userInfo !== true) return this.#toSignIn(claims, claims)
      const more = await library.fetchUserInfo(configuration, tokens.access_token, claims.sub)
      // What verifies an e-mail stands beside it.
      return this.#toSignIn({ ...more, ...claims }, claims.email === undefined ? more : claims)
    } catch (error) {
      if (talk.failure !== undefined) throw this.#unavailable(talk.failure)
      if (error instanceof library.AuthorizationResponseError) return this.#refusedThere(error)
      throw this.#notBelieved(error, error instanceof library.ResponseBodyError)
    }
  }

  /** The address of the provider's sign-out; undefined where it has none or cannot be asked. */
  async farewell(): Promise<string | undefined> {
    const library = await load()
    try {
      const { configuration } = await this.#meet(library)
      if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined
      const back = { post_logout_redirect_uri: this.publicUrl.to('/') }
      const url = library.buildEndSessionUrl(configuration, back)
      return this.#isPage(url) ? url.href : undefined
    } catch {
      return undefined
    }
  }

  /** A configuration belongs to one request: it has its time, and the keys that are there at the moment. */
  async #meet(
    library: typeof Library,
  ): Promise<{ configuration: Library.Configuration; talk: Conversation }> {
    const { issuer, clientId, clientSecret } = this.#options
    const now = (): number => this.#around.clock.now()
    const talk = new Conversation(this.#kept, patience, now)
    const { customFetch, clockSkew, clockTolerance } = library
    const checks = {
      [clockTolerance]: tolerance,
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
          [customFetch]: talk.discover as Library.CustomFetch,
          timeout: patience / 1000,
          execute: [
            library.enableNonRepudiationChecks,
            // Such issuers are on loopback: development.
            // eslint-disable-next-line @typescript-eslint/no-deprecated
            ...(issuer.startsWith('http:') ? [library.allowInsecureRequests] : []),
          ],
        },
      )
      configuration[library.customFetch] = talk.ask as Library.CustomFetch
      this.#giveKeys(library, configuration)
      return { configuration, talk }
    } catch (error) {
      throw this.#unavailable(talk.failure ?? toReason(error))
    }
  }

  /** Whoever the server says it takes; a server that does not say it takes `basic` (Discovery 1.0 §3). */
  #authentication(library: typeof Library): Library.ClientAuth {
    const { clientSecret, clientAuth } = this.#options
    if (clientSecret === undefined) return library.None()
    const basic = library.ClientSecretBasic(clientSecret)
    const post = library.ClientSecretPost(clientSecret)
    return (server, client, body, headers) => {
      const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
      const takesBasic = methods.includes('client_secret_basic')
      const way = clientAuth ?? (takesBasic ? 'basic' : 'post')
      ;(way === 'basic' ? basic : post)(server, client, body, headers)
    }
  }

  /**
   * openid-client fetches keys again for an unknown `kid` once those it has are a minute old, and after five minutes in any
   * case; what the headers say is ours.
   */
  #giveKeys(library: typeof Library, configuration: Library.Configuration): void {
    const { jwks_uri: address } = configuration.serverMetadata()
    const kept = address === undefined ? undefined : this.#kept.find(address)
    const jwks = kept === undefined ? undefined : parseKeys(kept.text)
    if (kept === undefined || jwks === undefined) return
    const age = Math.max(0, Math.floor((this.#around.clock.now() - kept.at) / 1000))
    const uat = Math.floor(Date.now() / 1000) - Math.min(age, mostKeyAge)
    library.setJwksCache(configuration, { jwks, uat })
  }

  #toSignIn(claims: SignIn['claims'], about: SignIn['claims']): SignIn {
    const { iss, sub } = claims
    const { email, email_verified: verified } = about
    const links = this.#options.link === 'verified-email' && verified === true
    return {
      provider: this.name,
      issuer: String(iss),
      subject: String(sub),
      claims,
      link: links && typeof email === 'string' && email !== '' ? email.toLowerCase() : null,
    }
  }

  /** What the provider said in place of a code. */
  #refusedThere({ error }: Library.AuthorizationResponseError): 'denied' {
    if (error === 'access_denied') return 'denied'
    if (error === 'temporarily_unavailable' || error === 'server_error')
      throw this.#unavailable(`it says ${error}`)
    throw refused(`the provider says ${toWord(error)}`)
  }

  #notBelieved(error: unknown, isAnswer: boolean): HttpError | Error {
    const said = isAnswer ? toWord((error as Library.ResponseBodyError).error) : ''
    if (!isAnswer || said === 'invalid_grant')
      return refused(`the provider's answer was refused: ${said === '' ? toReason(error) : said}`)
    // The client's own settings: nobody can sign in until they are corrected.
    return new Error(`oidc ${this.name}: the provider refuses this client: ${said}`)
  }

  /** Logged at most once in ten seconds: while a provider is away everybody asks. */
  #unavailable(reason: string): HttpError {
    const now = this.#around.clock.now()
    if (now >= this.#nextWarning) {
      this.#nextWarning = now + 10_000
      const { log } = this.#around.state
      log.warn({ provider: this.name, reason }, 'a provider of sign-ins cannot be asked')
    }
    return new HttpError(503, 'Signing in is not possible at the moment.', {
      code: 'PROVIDER_UNAVAILABLE',
      headers: { 'retry-after': '10' },
      reason: `the provider ${this.name} cannot be asked: ${reason}`,
    })
  }
}

function refused(reason: string): HttpError {
  const headers = { 'www-authenticate': 'Bearer' }
  return new HttpError(401, 'Signing in did not succeed.', {
    code: 'SIGN_IN_REFUSED',
    headers,
    reason,
  })
}

/** Never what the provider sent: causes hold codes and tokens. */
function toReason(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown }
  return `${String(message)}${typeof code === 'string' ? ` (${code})` : ''}`
}

/** An error's name in a log: whoever sent it may have written anything. */
function toWord(error: string): string {
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

/** @throws {DeclarationError} the package is missing, or cannot be loaded */
async function load(): Promise<typeof Library> {
  try {
    // By a variable, so that a bundler leaves it alone where it is not installed.
    return (await import(openidClient.name)) as typeof Library
  } catch (cause) {
    throw missingPackage(openidClient, cause)
  }
}

/** What is reported where it is not installed. */
export const openidClient: MissingPackage = {
  name: 'openid-client',
  code: 'OIDC_CLIENT_MISSING',
  message: 'oidc: the package openid-client is missing, which speaks to providers.',
  remedy: 'Run: npm install openid-client',
}
