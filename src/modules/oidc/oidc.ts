/**
 * `filigree/oidc`: users sign in at an OpenID Connect provider (Google, Entra, Keycloak …) and receive a token of the application.
 * `GET /signin/<name>` redirects to the provider, `GET /signin/<name>/callback` handles its response, `POST /signout` revokes the
 * token and redirects to the provider's sign-out. Call `oidc(…)` once for each provider.
 *
 * The state of a sign-in (PKCE verifier, nonce, target) is stored encrypted in a cookie named by `state` (`transactions.ts`).
 * `provider.ts` validates the provider's responses. Standards: OpenID Connect Core 1.0 §3.1, RFC 7636, RFC 9207, RFC 9700.
 */
import {
  ApplicationState,
  type Problem,
  Auth,
  Clock,
  createModule,
  findMethodProblems,
  PublicUrl,
  type ModuleOptions,
} from '../../index.js'
import { oidcOptions, type OidcOptions } from './options.js'
import { openidClient, Provider } from './provider.js'
import { signInController, SignOutController } from './routes.js'
import { SignInTransactions } from './transactions.js'

export type { OidcOptions, SignIn } from './options.js'

/**
 * Sign-in at one provider:
 * `@Module({ imports: [oidc({ name: 'google', issuer, clientId, clientSecret, signIn: [Users, 'fromGoogle'] })] })`.
 */
export const oidc = createModule(function oidc(options: OidcOptions): ModuleOptions {
  const settings = oidcOptions.read(options)
  const where = `oidc ${settings.name}`.trimEnd()
  const problems = oidcOptions.findProblems(options, where)
  if (problems.length > 0) return { problems }
  class OidcProvider extends Provider {
    static readonly inject = [ApplicationState, Clock, PublicUrl, Auth]

    constructor(state: ApplicationState, clock: Clock, publicUrl: PublicUrl, auth: Auth) {
      super(settings, { state, clock, publicUrl, auth })
    }
  }
  return {
    check: (_classes, { canSign }) => [
      ...findMethodProblems('signIn', settings.signIn, where, 'fromGoogle'),
      ...(canSign ? [] : [withoutKeyOf(where)]),
    ],
    packages: [openidClient],
    providers: [OidcProvider, SignInTransactions],
    controllers: [signInController(settings, OidcProvider), SignOutController],
  }
})

const withoutKeyOf = (where: string): Problem => ({
  code: 'AUTH_KEYS',
  message: `${where}: there is no private key, so the application cannot issue tokens.`,
  remedy: 'Set APP_PRIVATE_KEY. With auth.jwks or auth: { keys: false }, no tokens can be issued.',
})
