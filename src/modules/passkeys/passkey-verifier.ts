/**
 * Verifies the responses of authenticators with @simplewebauthn/server. Only this file imports the package, which the
 * application installs. The public URL determines the relying party and its origin.
 */
import { generateKeyPairSync } from 'node:crypto'
import { isIP } from 'node:net'
import type * as Library from '@simplewebauthn/server'
import {
  missingPackage,
  type Problem,
  PublicUrl,
  type Lifecycle,
  type MissingPackage,
} from '../../index.js'

/** The package, and the problem that is reported if it is not installed. */
export const webauthnServer: MissingPackage = {
  name: '@simplewebauthn/server',
  code: 'PASSKEYS_PACKAGE_MISSING',
  message: 'passkeys: the package @simplewebauthn/server is missing.',
  remedy: 'Run: npm install @simplewebauthn/server',
}

/** ES256, EdDSA, RS256. */
export const algorithms = [-7, -8, -257] as const

/** The data of a passkey that verify a sign-in. */
export interface PasskeyData {
  /** The credential id, base64url. */
  readonly credential: string
  /** A COSE key, base64url. */
  readonly publicKey: string
  /** The number of uses that the authenticator has reported. */
  readonly counter: number
}

/** A newly registered passkey. */
export interface NewPasskeyData extends PasskeyData {
  readonly transports: readonly string[]
}

const supportedTransports = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb']

/** @param publicUrl of the settings. Without it, the host is `localhost` */
export function findHostProblems(publicUrl: string | undefined): readonly Problem[] {
  // A malformed address is reported elsewhere.
  if (publicUrl === undefined || !URL.canParse(publicUrl)) return []
  const { hostname } = new URL(publicUrl)
  if (isIP(hostname.replace(/^\[|\]$/g, '')) === 0) return []
  return [
    {
      code: 'INVALID_OPTION',
      message: `passkeys: the public address has the host ${hostname}, but passkeys require a host name.`,
      remedy: "Set publicUrl, or PUBLIC_URL, to one with a name: 'https://desk.example'.",
    },
  ]
}

export class PasskeyVerifier implements Lifecycle {
  static readonly inject = [PublicUrl]
  readonly #publicUrl: PublicUrl
  #loadedLibrary: typeof Library | undefined
  #decoy: PasskeyData | undefined

  constructor(publicUrl: PublicUrl) {
    this.#publicUrl = publicUrl
  }

  /** @throws {DeclarationError} if the package is missing */
  async onStart(): Promise<void> {
    this.#loadedLibrary = await loadLibrary()
  }

  get rpId(): string {
    return new URL(this.#publicUrl.href).hostname
  }

  get origin(): string {
    return this.#publicUrl.origin
  }

  /** A passkey that nobody has. It replaces a missing passkey, so that a rejected sign-in takes the same time in both cases. */
  get decoy(): PasskeyData {
    return (this.#decoy ??= { credential: '', publicKey: generatePublicKey(), counter: 0 })
  }

  /** @throws if the response is not valid */
  async verifyRegistration(response: object, challenge: string): Promise<NewPasskeyData> {
    const { verified, registrationInfo } = await this.#library.verifyRegistrationResponse({
      response: response as Library.RegistrationResponseJSON,
      ...this.#expected(challenge),
      supportedAlgorithmIDs: [...algorithms],
    })
    if (!verified) throw new Error('the attestation is not valid')
    const { id, publicKey, counter, transports } = registrationInfo.credential
    const reportedTransports: readonly unknown[] = Array.isArray(transports) ? transports : []
    return {
      credential: id,
      publicKey: Buffer.from(publicKey).toString('base64url'),
      counter,
      transports: supportedTransports.filter((name) => reportedTransports.includes(name)),
    }
  }

  /**
   * @returns the authenticator's counter
   * @throws if the response is not valid, or the counter has decreased
   */
  async verifySignIn(response: object, challenge: string, stored: PasskeyData): Promise<number> {
    const { verified, authenticationInfo } = await this.#library.verifyAuthenticationResponse({
      response: response as Library.AuthenticationResponseJSON,
      ...this.#expected(challenge),
      credential: {
        id: stored.credential,
        publicKey: new Uint8Array(Buffer.from(stored.publicKey, 'base64url')),
        counter: stored.counter,
      },
    })
    if (!verified) throw new Error('the signature is not valid')
    return authenticationInfo.newCounter
  }

  #expected(challenge: string) {
    return {
      expectedChallenge: challenge,
      expectedOrigin: this.origin,
      expectedRPID: this.rpId,
      requireUserVerification: true,
    }
  }

  get #library(): typeof Library {
    if (this.#loadedLibrary === undefined) throw new Error('The application has not started yet.')
    return this.#loadedLibrary
  }
}

/** Generates a public key in COSE format for ES256 (RFC 9053 §7.1). */
function generatePublicKey(): string {
  const { x = '', y = '' } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({
    format: 'jwk',
  })
  const hex = (text: string): string => Buffer.from(text, 'base64url').toString('hex')
  // A map of five members: 1 (type): EC2, 3 (algorithm): ES256, -1 (curve): P-256, -2: x, -3: y.
  const cose = `a5010203262001215820${hex(x)}225820${hex(y)}`
  return Buffer.from(cose, 'hex').toString('base64url')
}

async function loadLibrary(): Promise<typeof Library> {
  try {
    // A variable prevents bundlers from resolving the package when it is not installed.
    return (await import(webauthnServer.name)) as typeof Library
  } catch (cause) {
    throw missingPackage(webauthnServer, cause)
  }
}
