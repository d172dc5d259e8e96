/**
 * Checks what authenticators say, by @simplewebauthn/server, which an application installs; only this file imports it. The
 * relying party and its origin are those of the public address.
 */
import { generateKeyPairSync } from 'node:crypto'
import { isIP } from 'node:net'
import type * as Library from '@simplewebauthn/server'
import {
  DeclarationError,
  missingPackage,
  PublicUrl,
  type Lifecycle,
  type MissingPackage,
} from '../../index.js'

/** ES256, EdDSA, RS256. */
export const algorithms = [-7, -8, -257] as const

/** A passkey that was registered. */
export interface NewCredential {
  readonly credential: string
  readonly publicKey: string
  readonly counter: number
  readonly transports: readonly string[]
}

/** What is known of a passkey that signs in. */
export interface KnownCredential {
  readonly credential: string
  readonly publicKey: string
  readonly counter: number
}

const knownTransports = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb']

export class Ceremony implements Lifecycle {
  static readonly inject = [PublicUrl]
  readonly #publicUrl: PublicUrl
  #library: typeof Library | undefined
  #nobody: KnownCredential | undefined

  constructor(publicUrl: PublicUrl) {
    this.#publicUrl = publicUrl
  }

  /** @throws {DeclarationError} the package is missing, or browsers take no such address */
  async onStart(): Promise<void> {
    this.#library = await load()
    const { hostname } = new URL(this.#publicUrl.href)
    if (isIP(hostname.replace(/^\[|\]$/g, '')) === 0) return
    throw new DeclarationError([
      {
        code: 'INVALID_OPTION',
        message: `passkeys: the public address has the host ${hostname}, and passkeys belong to a name.`,
        remedy: "Set publicUrl, or PUBLIC_URL, to one with a name: 'https://desk.example'.",
      },
    ])
  }

  get rpId(): string {
    return new URL(this.#publicUrl.href).hostname
  }

  get origin(): string {
    return this.#publicUrl.origin
  }

  /** A passkey whose key nobody has: an answer for none is checked as long as one for somebody's. */
  get nobody(): KnownCredential {
    return (this.#nobody ??= { credential: '', publicKey: makeKey(), counter: 0 })
  }

  /** @throws what is wrong with the answer */
  async readNew(response: object, challenge: string): Promise<NewCredential> {
    const { verified, registrationInfo } = await this.#loaded.verifyRegistrationResponse({
      response: response as Library.RegistrationResponseJSON,
      ...this.#expected(challenge),
      supportedAlgorithmIDs: [...algorithms],
    })
    if (!verified) throw new Error('the attestation is not valid')
    const { id, publicKey, counter, transports } = registrationInfo.credential
    const given: readonly unknown[] = Array.isArray(transports) ? transports : []
    return {
      credential: id,
      publicKey: Buffer.from(publicKey).toString('base64url'),
      counter,
      transports: knownTransports.filter((name) => given.includes(name)),
    }
  }

  /**
   * @returns the authenticator's counter
   * @throws what is wrong with the answer; also where the counter goes back
   */
  async readUse(response: object, challenge: string, known: KnownCredential): Promise<number> {
    const { verified, authenticationInfo } = await this.#loaded.verifyAuthenticationResponse({
      response: response as Library.AuthenticationResponseJSON,
      ...this.#expected(challenge),
      credential: {
        id: known.credential,
        publicKey: new Uint8Array(Buffer.from(known.publicKey, 'base64url')),
        counter: known.counter,
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

  get #loaded(): typeof Library {
    if (this.#library === undefined) throw new Error('The application has not started yet.')
    return this.#library
  }
}

/** A public key as authenticators write it: COSE of ES256 (RFC 9053 §7.1). */
function makeKey(): string {
  const { x = '', y = '' } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({
    format: 'jwk',
  })
  const hex = (text: string): string => Buffer.from(text, 'base64url').toString('hex')
  const cose = `a5010203262001215820${hex(x)}225820${hex(y)}`
  return Buffer.from(cose, 'hex').toString('base64url')
}

async function load(): Promise<typeof Library> {
  try {
    // By a variable, so that a bundler leaves it alone where it is not installed.
    return (await import(webauthnServer.name)) as typeof Library
  } catch (cause) {
    throw missingPackage(webauthnServer, cause)
  }
}

/** What is reported where it is not installed. */
export const webauthnServer: MissingPackage = {
  name: '@simplewebauthn/server',
  code: 'PASSKEYS_PACKAGE_MISSING',
  message: 'passkeys: the package @simplewebauthn/server is missing, which checks passkeys.',
  remedy: 'Run: npm install @simplewebauthn/server',
}
