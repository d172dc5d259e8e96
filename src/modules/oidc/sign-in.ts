/**
 * The two routes of a provider: the way there and the way back. Source: decisions, Sign-in.
 */
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
  type ModuleOptions,
  type Reply,
} from '../../index.js'
import type { OidcOptions, SignIn } from './options.js'
import { toOwnPath, withQuery } from './own-path.js'
import { handOver, refusal, showsPages } from './pages.js'
import type { Provider } from './provider.js'
import { cookieName, Transactions } from './transactions.js'

type ControllerClass = NonNullable<ModuleOptions['controllers']>[number]

/** A method of the application that says who signs in. */
type Users = Readonly<Record<string, (signIn: SignIn) => unknown>>

const documented = {
  tags: ['signing in'],
  responses: {
    302: { description: 'Goes on: to the provider, or to the page that was asked for.' },
    503: { description: 'The provider cannot be asked at the moment.' },
  },
}

export function signInController(
  options: OidcOptions,
  providerClass: abstract new (...args: never[]) => Provider,
): ControllerClass {
  const { name, tokenKey = 'app_token' } = options
  const [users, method] = options.signIn

  @Controller(`/signin/${name}`)
  class SignInController {
    static readonly inject = [providerClass, Transactions, ApplicationState, Auth, users]

    constructor(
      private readonly provider: Provider,
      private readonly transactions: Transactions,
      private readonly state: ApplicationState,
      private readonly auth: Auth,
      private readonly users: Users,
    ) {}

    @Get('/')
    @NoAuth
    @Doc({
      ...documented,
      description: 'Leads to the provider. `to` is where to go afterwards: a path of ours.',
    })
    begin(request: HttpRequest): Promise<Reply> {
      return this.answer(request, async () => {
        const { secure } = this.provider.publicUrl
        const { to } = request.query as { to?: unknown }
        const { state, transaction, sealed } = await this.transactions.begin(name, toOwnPath(to))
        const page = await this.provider.pageFor(state, transaction)
        for (const old of this.transactions.surplus(request.cookies, secure))
          request.addHeader('Set-Cookie', toClearing(old, secure))
        return redirect(page).cookie(cookieName(state, secure), sealed, { secure, maxAge: 600 })
      })
    }

    @Get('/callback')
    @NoAuth
    @Doc({ ...documented, description: 'Takes what the provider sends, and signs in.' })
    finish(request: HttpRequest): Promise<Reply> {
      return this.answer(request, async () => {
        const mark = request.url.indexOf('?')
        const query = mark === -1 ? '' : request.url.slice(mark)
        const transaction = await this.take(request, query)
        const signIn = await this.provider.identify(query, transaction.state, transaction)
        if (signIn === 'denied')
          return redirect(this.placeOf(withQuery(transaction.to, 'error', 'access_denied')))
        const claims = await this.claimsFor(signIn)
        const token = await this.auth.getToken({ ...claims, idp: name })
        if (this.state.takesCookie)
          return redirect(this.placeOf(transaction.to)).freshToken(token, { crossSite: true })
        return handOver({ token, key: tokenKey, to: this.provider.publicUrl.to(transaction.to) })
      })
    }

    /** Whole where a proxy takes a part of the path away, which `Location` would lack. */
    private placeOf(to: string): string {
      const { publicUrl } = this.provider
      return publicUrl.href === publicUrl.origin ? to : publicUrl.to(to)
    }

    /** The transaction that this browser has begun, which is over with this. */
    private async take(request: HttpRequest, query: string) {
      const { secure } = this.provider.publicUrl
      const [state = '', ...more] = new URLSearchParams(query).getAll('state')
      const { cookies } = request
      const found = await this.transactions.open(state, { provider: name, cookies, secure })
      if (found === undefined || more.length > 0)
        throw expired('no cookie of this browser belongs to this state, or it has run out')
      request.addHeader('Set-Cookie', toClearing(cookieName(state, secure), secure))
      if (!(await this.transactions.use(state, found))) throw expired('it was used before')
      return { ...found, state }
    }

    /** What the application says, in a transaction where it has a database. */
    private async claimsFor(signIn: SignIn): Promise<Claims> {
      const ask = async (): Promise<unknown> => await this.users[method]?.(signIn)
      const { database } = this.state
      const claims = await (database === undefined ? ask() : database.transaction(ask))
      if (claims === null)
        throw new HttpError(403, 'This account may not sign in here.', {
          code: 'SIGN_IN_REFUSED',
          reason: `${method} gave null`,
        })
      const { sub } = (claims ?? {}) as { sub?: unknown }
      if (typeof sub === 'string' && sub !== '') return claims as Claims
      throw new TypeError(
        `oidc ${name}: ${method} gave no claims. Return { sub: String(user.id) }, or null to refuse.`,
      )
    }

    /** With what holds for every answer here; refusals are pages for browsers. */
    private async answer(request: HttpRequest, work: () => Promise<Reply>): Promise<Reply> {
      request.setHeader('Cache-Control', 'no-store')
      request.setHeader('Referrer-Policy', 'no-referrer')
      // A GET route answers HEAD as well, which must change nothing (RFC 9110 §9.2.1).
      if (request.method === 'HEAD')
        throw new HttpError(405, undefined, { headers: { Allow: 'GET' } })
      try {
        return await work()
      } catch (error) {
        if (!(error instanceof HttpError) || !showsPages(request)) throw error
        const { status, reason } = error
        request.log.debug({ status, reason }, 'a sign-in was refused')
        return refusal(error, this.provider.publicUrl.to(`/signin/${name}`))
      }
    }
  }

  Object.defineProperty(SignInController, 'name', { value: `SignInBy${toWord(name)}` })
  return SignInController
}

function expired(reason: string): HttpError {
  const message = 'This sign-in was used, has run out, or began in another browser.'
  return new HttpError(400, message, { code: 'SIGN_IN_EXPIRED', reason })
}

/** What ends a cookie: a browser heeds it under this name only with the same marks. */
function toClearing(name: string, secure: boolean): string {
  return `${name}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
}

/** `my-idp` is `MyIdp`. */
function toWord(name: string): string {
  return name.replace(/(?:^|-)([a-z0-9]?)/g, (_, letter: string) => letter.toUpperCase())
}
