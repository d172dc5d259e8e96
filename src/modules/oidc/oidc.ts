/**
 * `filigree/oidc`: people sign in at a provider that speaks OpenID Connect (Google, Entra, Keycloak …), and the application
 * gives them a token of its own. `GET /signin/<name>` leads to the provider, `GET /signin/<name>/callback` takes its answer,
 * `POST /signout` ends the token and leads to the provider's own sign-out. Several providers are several `oidc(…)`.
 *
 * Where a sign-in stands (PKCE's verifier, nonce, where to go) lies sealed in a cookie of the browser that began it, named
 * by `state`: `transaction.ts`. What the provider says is fetched and checked in `provider.ts`. Source: decisions, Sign-in; OpenID Connect Core 1.0 §3.1; RFC 7636; RFC 9207; RFC 9700.
 */
import {
  ApplicationState,
  Auth,
  Clock,
  createModule,
  PublicUrl,
  type ModuleOptions,
} from '../../index.js'
import { findMethodProblems, findProblems, type OidcOptions } from './options.js'
import { openidClient, Provider } from './provider.js'
import { signInController } from './sign-in.js'
import { SignOutController } from './sign-out.js'
import { Transactions } from './transactions.js'

export type { OidcOptions, SignIn } from './options.js'

/**
 * Sign-in at one provider:
 * `@Module({ imports: [oidc({ name: 'google', issuer, clientId, clientSecret, signIn: [Users, 'fromGoogle'] })] })`.
 */
export const oidc = createModule(function oidc(options: OidcOptions): ModuleOptions {
  const problems = findProblems(options)
  if (problems.length > 0) return { problems }
  class OidcProvider extends Provider {
    static readonly inject = [ApplicationState, Clock, PublicUrl, Auth]

    constructor(state: ApplicationState, clock: Clock, publicUrl: PublicUrl, auth: Auth) {
      super(options, { state, clock, publicUrl, auth })
    }
  }
  return {
    check: () => findMethodProblems(options),
    packages: [openidClient],
    providers: [OidcProvider, Transactions],
    controllers: [signInController(options, OidcProvider), SignOutController],
  }
})
