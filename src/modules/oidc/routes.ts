/** The routes of signing in: the redirect to a provider and its callback, and `POST /signout`. */
import {
  ApplicationState,
  Auth,
  Controller,
  Doc,
  Get,
  HttpError,
  NoAuth,
  redirect,
  type Claims,
  type HttpRequest,
  type Class,
  type Reply,
  Post,
  reply,
  Secured,
  Use,
  type RouteResponse,
  type Interceptor,
  type Next,
} from '../../index.js'
import type { OidcSettings, SignIn } from './options.js'
import { tokenPage, refusalPage, acceptsHtml, redirectPage, resendPage } from './pages.js'
import { Provider } from './provider.js'
import { SignInTransactions } from './transactions.js'

/** The application's provider whose method returns the claims of the user. */
type SignInMethods = Readonly<Record<string, (signIn: SignIn) => unknown>>

const documented = {
  tags: ['signing in'],
  responses: {
    302: { description: 'Redirects to the provider, or to the requested page.' },
    503: { description: 'The provider is unavailable.' },
  },
}

export function signInController(
  settings: OidcSettings,
  providerClass: abstract new (...args: never[]) => Provider,
): Class {
  const { name, tokenKey } = settings
  const [users, method] = settings.signIn

  @Controller(`/signin/${name}`)
  class SignInController {
    static readonly inject = [providerClass, SignInTransactions, ApplicationState, Auth, users]

    constructor(
      private readonly provider: Provider,
      private readonly transactions: SignInTransactions,
      private readonly state: ApplicationState,
      private readonly auth: Auth,
      private readonly users: SignInMethods,
    ) {}

    @Get('/')
    @NoAuth
    @Doc({
      ...documented,
      description: 'Redirects to the provider. `to` is the path to open afterwards.',
    })
    begin(request: HttpRequest): Promise<Reply> {
      return this.respond(request, async () => {
        const { secure } = this.provider.publicUrl
        const { to } = request.query as { to?: unknown }
        const { state, transaction, sealed } = await this.transactions.begin(name, toLocalPath(to))
        const page = await this.provider.authorizationUrl(state, transaction)
        for (const old of this.transactions.surplusCookies(request.cookies, secure))
          request.addHeader('Set-Cookie', clearCookie(old, secure))
        return redirect(page).cookie(this.transactions.cookieName(state, secure), sealed, {
          secure,
          maxAge: 600,
        })
      })
    }

    @Get('/callback')
    @NoAuth
    @Doc({ ...documented, description: "Handles the provider's response and signs the user in." })
    finish(request: HttpRequest): Promise<Reply> {
      return this.respond(request, () => {
        const mark = request.url.indexOf('?')
        return this.signIn(request, new URLSearchParams(mark === -1 ? '' : request.url.slice(mark)))
      })
    }

    /** The provider's response as a form (OAuth 2.0 Form Post Response Mode 1.0). */
    @Post('/callback', { args: ['request', 'rawBody'] })
    @NoAuth
    @Doc({ ...documented, description: "Handles the provider's response if it is a form." })
    finishForm(request: HttpRequest, rawBody: Buffer): Promise<Reply> {
      return this.respond(request, async () => {
        const fields = readForm(request, rawBody)
        const state = fields.get('state') ?? ''
        const { secure } = this.provider.publicUrl
        const hasCookie = Object.hasOwn(
          request.cookies,
          this.transactions.cookieName(state, secure),
        )
        if (hasCookie || fields.has(resentField)) return this.signIn(request, fields)
        fields.append(resentField, '1')
        return resendPage(this.provider.callback, fields)
      })
    }

    private async signIn(request: HttpRequest, response: URLSearchParams): Promise<Reply> {
      const transaction = await this.takeTransaction(request, response)
      const query = `?${response.toString()}`
      const signIn = await this.provider.identify(query, transaction.state, transaction)
      const status = request.method === 'POST' ? 303 : 302
      if (signIn === 'denied') {
        const target = withQuery(transaction.to, 'error', 'access_denied')
        return redirect(this.targetUrl(target), status)
      }
      const claims = await this.claimsFor(signIn)
      const token = await this.auth.getToken({ ...claims, idp: name })
      if (this.state.takesCookie)
        return redirect(this.targetUrl(transaction.to), status).freshToken(token, {
          crossSite: true,
        })
      return tokenPage({ token, key: tokenKey, to: this.provider.publicUrl.to(transaction.to) })
    }

    /** Returns an absolute URL if a proxy removes a path prefix, because `Location` would lack the prefix. */
    private targetUrl(to: string): string {
      const { publicUrl } = this.provider
      return publicUrl.href === publicUrl.origin ? to : publicUrl.to(to)
    }

    /** Takes the transaction that this browser has started. It cannot be used again. */
    private async takeTransaction(request: HttpRequest, response: URLSearchParams) {
      const { secure } = this.provider.publicUrl
      const [state = '', ...more] = response.getAll('state')
      const { cookies } = request
      const found = await this.transactions.open(state, { provider: name, cookies, secure })
      if (found === undefined || more.length > 0)
        throw expired('no cookie of this browser belongs to this state, or it has run out')
      request.addHeader(
        'Set-Cookie',
        clearCookie(this.transactions.cookieName(state, secure), secure),
      )
      if (!(await this.transactions.use(state, found))) throw expired('it was used before')
      return { ...found, state }
    }

    /** Calls the application's method, in a transaction if there is a database. */
    private async claimsFor(signIn: SignIn): Promise<Claims> {
      const callMethod = async (): Promise<unknown> => await this.users[method]?.(signIn)
      const { database } = this.state
      const claims = await (database === undefined
        ? callMethod()
        : database.transaction(callMethod))
      if (claims === null)
        throw new HttpError(403, 'This account may not sign in here.', {
          code: 'SIGN_IN_REFUSED',
          reason: `${method} returned null`,
        })
      const { sub } = (claims ?? {}) as { sub?: unknown }
      if (typeof sub === 'string' && sub !== '') return claims as Claims
      throw new TypeError(
        `oidc ${name}: ${method} returned no claims. Return { sub: String(user.id) }, or null to refuse.`,
      )
    }

    /** Adds the common headers, and shows errors as pages to browsers. */
    private async respond(request: HttpRequest, work: () => Promise<Reply>): Promise<Reply> {
      request.setHeader('Cache-Control', 'no-store')
      request.setHeader('Referrer-Policy', 'no-referrer')
      // A GET route answers HEAD as well, which must change nothing (RFC 9110 §9.2.1).
      if (request.method === 'HEAD')
        throw new HttpError(405, undefined, { headers: { Allow: 'GET' } })
      try {
        return await work()
      } catch (error) {
        if (!(error instanceof HttpError) || !acceptsHtml(request)) throw error
        const { status, reason } = error
        request.log.debug({ status, reason }, 'a sign-in was refused')
        return refusalPage(error, this.provider.publicUrl.to(`/signin/${name}`))
      }
    }
  }

  Object.defineProperty(SignInController, 'name', { value: `SignInBy${toPascalCase(name)}` })
  return SignInController
}

/** Marks a form that the browser has sent again from a page of this application. */
const resentField = 'resent'

/** The parameters of a response (RFC 6749 §4.1.2, RFC 9207 §2). Others are not repeated in the page. */
const responseFields = ['code', 'state', 'iss', 'error', 'error_description', resentField]

/** Longer forms are not the response of a provider. */
const maxFormBytes = 16_384

/** @throws {HttpError} 413 or 415 */
function readForm({ headers }: HttpRequest, body: Buffer): URLSearchParams {
  if (!/^application\/x-www-form-urlencoded *(?:;|$)/i.test(headers['content-type'] ?? ''))
    throw new HttpError(415)
  if (body.length > maxFormBytes) throw new HttpError(413)
  const sent = new URLSearchParams(body.toString())
  return new URLSearchParams([...sent].filter(([name]) => responseFields.includes(name)))
}

function expired(reason: string): HttpError {
  const message = 'This sign-in was used, has run out, or began in another browser.'
  return new HttpError(400, message, { code: 'SIGN_IN_EXPIRED', reason })
}

/** A `Set-Cookie` header that deletes a cookie. It must have the attributes of the cookie. */
function clearCookie(name: string, secure: boolean): string {
  return `${name}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
}

/** `my-idp` is `MyIdp`. */
function toPascalCase(name: string): string {
  return name.replace(/(?:^|-)([a-z0-9]?)/g, (_, letter: string) => letter.toUpperCase())
}

/** Maximum length of a path, because several are sent as cookies in one request. */
const maxPathLength = 512

/** A base with an invalid host, so that URLs of other hosts are detected. */
const baseUrl = 'http://filigree.invalid'

/**
 * Restricts the target of a sign-in to paths of this application (RFC 9700 §4.11.2; WHATWG URL).
 *
 * @param input the value that a client sent
 * @returns the path with query and fragment as a browser would write it, and `/` for anything that could lead elsewhere
 */
function toLocalPath(input: unknown): string {
  if (typeof input !== 'string' || input.length > maxPathLength || !input.startsWith('/'))
    return '/'
  // Browsers take a backslash for a slash and ignore tabs and line breaks. Proxies may decode both.
  if (/[\\\p{Cc}\p{Cs}\u2028\u2029\ufeff]/u.test(input)) return '/'
  const path = input.split(/[?#]/, 1)[0] ?? ''
  if (/%(?:5c|2f|0[0-9a-f]|1[0-9a-f]|7f|25(?:5c|2f))/i.test(path)) return '/'
  if (!URL.canParse(input, baseUrl)) return '/'
  const { origin, pathname, search, hash } = new URL(input, baseUrl)
  return origin === baseUrl && !pathname.startsWith('//') ? pathname + search + hash : '/'
}

/** Adds a query parameter to a path. @param path a result of `toLocalPath` */
function withQuery(path: string, name: string, value: string): string {
  const url = new URL(path, baseUrl)
  url.searchParams.set(name, value)
  return url.pathname + url.search + url.hash
}

/**
 * A caller whose token has expired or was revoked gets the response of a sign-out instead of a 401, and its cookie is cleared.
 * Requests from other sites, which browsers send without the cookie, still get 401.
 */
class AllowSignedOut implements Interceptor {
  static readonly inject = [ApplicationState]
  static readonly before = 'gate'
  readonly #state: ApplicationState

  constructor(state: ApplicationState) {
    this.#state = state
  }

  async intercept(request: HttpRequest, next: Next): Promise<RouteResponse | Reply> {
    const { headers } = request
    const response = await next()
    const isCrossSite = /^(?:cross|same)-site$/.test(headers['sec-fetch-site'] ?? '')
    if (response.status !== 401 || isCrossSite) return response
    this.#state.clearTokenCookie(request)
    return sendTo('/', headers)
  }
}

@Controller('/signout')
@Use(AllowSignedOut)
export class SignOutController {
  static readonly inject = [ApplicationState, Auth]
  readonly #state: ApplicationState
  readonly #auth: Auth

  constructor(state: ApplicationState, auth: Auth) {
    this.#state = state
    this.#auth = auth
  }

  /** With a cookie, the gate accepts requests from the application's own pages only, and clears the cookie. */
  @Post('/', { args: ['user', 'headers'] })
  @Secured
  @Doc({
    tags: ['signing in'],
    description:
      'Signs the caller out and continues with the sign-out of the provider. A form is redirected there, and a script receives the URL. Callers who are not signed in get `/`.',
    responses: { 303: { description: 'Redirects to the provider, or to `/`.' } },
  })
  async end(user: Claims | null, headers: Record<string, string>): Promise<Reply> {
    if (typeof user?.jti === 'string') await this.#auth.revoke(user.jti, user.exp)
    const provider = this.#state.providers.find(
      (one): one is Provider => one instanceof Provider && one.name === user?.idp,
    )
    return sendTo((await provider?.endSessionUrl()) ?? '/', headers)
  }
}

function sendTo(to: string, headers: HttpRequest['headers']): Reply {
  // A script cannot follow the redirect, because it may not read pages of other origins.
  const { accept, 'sec-fetch-dest': destination } = headers
  if (destination === 'empty' || accept?.includes('application/json') === true) return reply({ to })
  if (destination === 'document' && to !== '/')
    return redirectPage(to).header('Referrer-Policy', 'no-referrer')
  return redirect(to, 303)
}
