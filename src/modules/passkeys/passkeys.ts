/**
 * `filigree/passkeys`: users sign in with a passkey (WebAuthn Level 3). `POST /passkeys/register/options` and `/verify` add a
 * passkey to the signed-in user, `POST /passkeys/signin/options` and `/verify` sign in with or without a name, `GET /passkeys`
 * lists the caller's passkeys and `DELETE /passkeys/<id>` removes one. Bodies are the JSON of the browser API.
 *
 * A challenge is a token of `oneTime`, bound to the browser by a cookie (`challenges.ts`), and is taken before the verification
 * (`passkey-verifier.ts`). Users without passkeys get fake ones. The public URL determines origin and relying party.
 */
import { createModule, type ModuleOptions } from '../../index.js'
import { findHostProblems, PasskeyVerifier, webauthnServer } from './passkey-verifier.js'
import { Challenges, challengeTokens, Decoys } from './challenges.js'
import { findSignInProblems, passkeysOptions, type PasskeysOptions } from './options.js'
import { passkeysController } from './routes.js'

export { Passkey } from './passkey.js'
export type { PasskeySignIn, PasskeysOptions } from './options.js'

/**
 * Passkeys: `@Module({ imports: [passkeys({ name: 'Help desk', credentials: Passkey, signIn: [Users, 'fromPasskey'] })] })`.
 */
export const passkeys = createModule(function passkeys(options: PasskeysOptions): ModuleOptions {
  const problems = passkeysOptions.findProblems(options, 'passkeys')
  if (problems.length > 0) return { problems }
  const settings = passkeysOptions.read(options)
  return {
    check: (_classes, { publicUrl }) => [
      ...findSignInProblems(settings),
      ...findHostProblems(publicUrl),
    ],
    packages: [webauthnServer],
    records: [settings.credentials],
    providers: [challengeTokens, Challenges, Decoys, PasskeyVerifier],
    controllers: [passkeysController(settings)],
  }
})
