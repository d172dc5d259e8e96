/** `POST /signout`: the token ends, and so does the provider's own session. Source: decisions, Sign-in. */
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
import { goOn } from './pages.js'
import { Provider } from './provider.js'

/**
 * Who is signed in no more, because the token has run out or was ended elsewhere, wants what a sign-out gives, and no fault.
 * The gate has cleared the cookie of such a token. Pages of others, for which browsers leave the cookie out, lead nowhere.
 */
class SignedOutBefore implements Interceptor {
  static readonly before = 'gate'

  async intercept({ headers }: HttpRequest, next: Next): Promise<RouteResponse | Reply> {
    const answer = await next()
    const isForeign = /^(?:cross|same)-site$/.test(headers['sec-fetch-site'] ?? '')
    return answer.status === 401 && !isForeign ? leadTo('/', headers) : answer
  }
}

@Controller('/signout')
@Use(SignedOutBefore)
export class SignOutController {
  static readonly inject = [ApplicationState, Auth]
  readonly #state: ApplicationState
  readonly #auth: Auth

  constructor(state: ApplicationState, auth: Auth) {
    this.#state = state
    this.#auth = auth
  }

  /** By cookie the gate takes it from our own pages only, and clears the cookie. */
  @Post('/', { args: ['user', 'headers'] })
  @Secured
  @Doc({
    tags: ['signing in'],
    description:
      "Ends the caller's sign-in, and leads to the sign-out of the provider: a form is redirected there, a script gets the address. Who is not signed in gets `/`.",
    responses: { 303: { description: 'Goes on to the provider, or to `/`.' } },
  })
  async end(user: Claims | null, headers: Record<string, string>): Promise<Reply> {
    if (typeof user?.jti === 'string') await this.#auth.revoke(user.jti, user.exp)
    const provider = this.#state.providers.find(
      (one): one is Provider => one instanceof Provider && one.name === user?.idp,
    )
    return leadTo((await provider?.farewell()) ?? '/', headers)
  }
}

function leadTo(to: string, headers: HttpRequest['headers']): Reply {
  // A script could not follow: other origins do not let it read their pages.
  const { accept, 'sec-fetch-dest': place } = headers
  if (place === 'empty' || accept?.includes('application/json') === true) return reply({ to })
  if (place === 'document' && to !== '/') return goOn(to).header('Referrer-Policy', 'no-referrer')
  return redirect(to, 303)
}
