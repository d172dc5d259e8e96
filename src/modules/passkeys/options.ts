/** The options of `passkeys()`, and the argument of the application's method. */
import {
  declareOptions,
  describeRecord,
  findMethodProblems,
  option,
  providerMethod,
  type OptionsOf,
  type Problem,
  type SecuredOptions,
  type ValuesOf,
} from '../../index.js'
import { Passkey } from './passkey.js'

export const passkeysOptions = declareOptions({
  /** The name of the application that browsers show. */
  name: option.text("Write the name of the application: 'Help desk'.").required(),
  /** The record of passkeys: `Passkey` or a class that extends it. Default `Passkey`. */
  credentials: option
    .of<typeof Passkey>(isPasskey, 'Write Passkey, or a record that extends it.')
    .default(Passkey),
  /**
   * A provider of the application and the name of its method: `[Users, 'fromPasskey']`. The method receives a `PasskeySignIn` and
   * returns the claims of the token, or null to reject the sign-in.
   */
  signIn: providerMethod('fromPasskey').required(),
  /**
   * The method that returns the `sub` of a name, or null: `[Users, 'byName']`. It must accept one spelling of a name only. Default:
   * the name is the `sub`.
   */
  find: providerMethod('byName'),
  /**
   * The requirements of `@Secured` for adding and removing passkeys: `{ fresh: '10m' }`. This prevents a stolen token from adding a
   * passkey. Default: any valid token.
   */
  manage: option.of<SecuredOptions>(
    (value) => typeof value === 'object' && value !== null,
    "Write options of @Secured: { fresh: '10m' }.",
  ),
})

export interface PasskeysOptions extends OptionsOf<typeof passkeysOptions> {}

/** The options with defaults. */
export type PasskeysSettings = ValuesOf<typeof passkeysOptions>

function isPasskey(value: unknown): boolean {
  return typeof value === 'function' && (value === Passkey || value.prototype instanceof Passkey)
}

/** Checks the methods and the record. Call this after all classes are defined. */
export function findSignInProblems({ signIn, find, credentials }: PasskeysSettings): Problem[] {
  return [
    ...findShardProblems(credentials),
    ...findMethodProblems('signIn', signIn, 'passkeys', 'fromPasskey'),
    ...(find === undefined ? [] : findMethodProblems('find', find, 'passkeys', 'byName')),
  ]
}

/** A sign-in without a name begins with the credential, which names no shard. */
function findShardProblems(credentials: typeof Passkey): Problem[] {
  const shardBy = describeRecord(credentials)?.shardBy
  if (shardBy === undefined) return []
  const { name } = credentials
  return [
    {
      code: 'INVALID_OPTION',
      message: `passkeys: credentials names ${name}, which is sharded by ${shardBy}, but a passkey must be found without its user.`,
      remedy: `Remove shardBy from ${name}, and put ${shardBy} into the claim sub, so that signIn finds the user by it.`,
    },
  ]
}

/** A user whose passkey was verified. */
export interface PasskeySignIn {
  readonly sub: string
  /** The passkey's `credential`. */
  readonly credential: string
}
