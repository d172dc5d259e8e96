/**
 * `filigree/passkeys`: people sign in with a passkey (WebAuthn Level 3). `POST /passkeys/register/options` and `/verify` add one
 * to whoever is signed in, `POST /passkeys/signin/options` and `/verify` sign in with a name or without, `GET /passkeys` lists
 * one's own and `DELETE /passkeys/<id>` removes one. Options are the browser's own JSON, answers are `credential.toJSON()`.
 *
 * A challenge is a token of `oneTime`, bound to the browser by a cookie (`challenges.ts`); it is taken before anything is
 * verified. Signatures are checked by @simplewebauthn/server (`ceremony.ts`). Who has no passkeys is answered like who has
 * (`decoys.ts`). Origin and relying party come from the public address alone. Source: decisions, Sign-in.
 */
import { createModule, type ModuleOptions } from '../../index.js'
import { Ceremony, webauthnServer } from './ceremony.js'
import { Challenges, challengeTokens } from './challenges.js'
import { Decoys } from './decoys.js'
import { findMethodProblems, findProblems, type PasskeysOptions } from './options.js'
import { Passkey } from './passkey.js'
import { passkeysController } from './routes.js'

export { Passkey } from './passkey.js'
export type { PasskeySignIn, PasskeysOptions } from './options.js'

/**
 * Passkeys: `@Module({ imports: [passkeys({ name: 'Help desk', credentials: Passkey, signIn: [Users, 'fromPasskey'] })] })`.
 */
export const passkeys = createModule(function passkeys(options: PasskeysOptions): ModuleOptions {
  const problems = findProblems(options)
  if (problems.length > 0) return { problems }
  return {
    check: () => findMethodProblems(options),
    packages: [webauthnServer],
    records: [options.credentials ?? Passkey],
    providers: [challengeTokens, Challenges, Decoys, Ceremony],
    controllers: [passkeysController(options)],
  }
})
