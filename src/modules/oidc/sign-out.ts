/** `POST /signout`: revokes the token and ends the session at the provider. */
import {
  ApplicationState,
  Auth,
  Controller,
  Doc,
  Post,
  redirect,
  reply,
  Secured,
  Use,
  type RouteResponse,
  type Claims,
  type HttpRequest,
  type Interceptor,
  type Next,
  type Reply,
} from '../../index.js'
import { redirectPage } from './pages.js'
import { Provider } from './provider.js'

/**
 * A caller whose token has expired or was revoked gets the response of a sign-out instead of a 401. The gate has already cleared
 * the cookie. Requests from other sites, which browsers send without the cookie, still get 401.
 */
class AllowSignedOut implements Interceptor {
  static readonly before = 'gate'

  async intercept({ headers }: HttpRequest, next: Next): Promise<RouteResponse | Reply> {
    const response = await next()
    const isCrossSite = /^(?:cross|same)-site$/.test(headers['sec-fetch-site'] ?? '')
    return response.status === 401 && !isCrossSite ? sendTo('/', headers) : response
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
