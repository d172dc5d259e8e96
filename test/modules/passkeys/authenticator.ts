/** An authenticator: ES256 keys, CBOR by hand, and wrong values where a test requires them. Source: WebAuthn Level 3 §6. */
import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto'

const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url')
const sha256 = (data: string | Uint8Array): Buffer => createHash('sha256').update(data).digest()

/** Values to send instead of the correct ones. */
export interface Lies {
  readonly origin?: string
  readonly rpId?: string
  readonly challenge?: string
  readonly type?: string
  readonly counter?: number
  /** Flags to clear: 0x01 present, 0x04 verified. */
  readonly flags?: number
  readonly userHandle?: string
  readonly crossOrigin?: boolean
}

export interface CreationOptions {
  readonly challenge: string
  readonly rp: { readonly id: string; readonly name: string }
  readonly user: { readonly id: string; readonly name: string }
  readonly excludeCredentials: readonly { readonly id: string }[]
}

export interface RequestOptions {
  readonly challenge: string
  readonly rpId: string
  readonly allowCredentials: readonly { readonly id: string; readonly transports: string[] }[]
}

interface StoredPasskey {
  readonly key: KeyObject
  readonly rpId: string
  readonly handle: string
}

export class Authenticator {
  counter: number
  readonly #counts: boolean
  readonly passkeys = new Map<string, StoredPasskey>()
  readonly #origin: string

  /** @param counts false: the counter is always 0, as for synchronized passkeys */
  constructor(origin: string, counts = true) {
    this.#origin = origin
    this.#counts = counts
    this.counter = 0
  }

  create(options: CreationOptions, lies: Lies = {}): Record<string, unknown> {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const id = randomBytes(20)
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
    const rpId = lies.rpId ?? options.rp.id
    this.passkeys.set(base64url(id), { key: privateKey, rpId, handle: options.user.id })
    const cose = Buffer.concat([
      Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20]),
      Buffer.from(x, 'base64url'),
      Buffer.from([0x22, 0x58, 0x20]),
      Buffer.from(y, 'base64url'),
    ])
    const length = Buffer.from([0, id.length])
    const data = Buffer.concat([
      this.#data(rpId, (lies.flags ?? 0x05) | 0x40, lies.counter),
      ...[Buffer.alloc(16), length, id, cose],
    ])
    const attestation = Buffer.concat([
      Buffer.from([0xa3]),
      ...[text('fmt'), text('none'), text('attStmt'), Buffer.from([0xa0]), text('authData')],
      ...[Buffer.from([0x59, data.length >> 8, data.length & 0xff]), data],
    ])
    return {
      id: base64url(id),
      rawId: base64url(id),
      type: 'public-key',
      response: {
        clientDataJSON: this.#client('webauthn.create', options.challenge, lies),
        attestationObject: base64url(attestation),
        transports: ['internal', 'hybrid'],
      },
      clientExtensionResults: {},
      authenticatorAttachment: 'platform',
    }
  }

  /** @param credential the id to use. Default: an allowed one, else the first */
  get(options: RequestOptions, lies: Lies = {}, credential?: string): Record<string, unknown> {
    const allowed = options.allowCredentials.map(({ id }) => id)
    const id =
      credential ??
      allowed.find((one) => this.passkeys.has(one)) ??
      [...this.passkeys.keys()][0] ??
      ''
    const passkey = this.passkeys.get(id)
    if (passkey === undefined) throw new Error('It holds no such passkey.')
    const data = this.#data(lies.rpId ?? passkey.rpId, lies.flags ?? 0x05, lies.counter)
    const client = this.#client('webauthn.get', options.challenge, lies)
    const signed = Buffer.concat([data, sha256(Buffer.from(client, 'base64url'))])
    return {
      id,
      rawId: id,
      type: 'public-key',
      response: {
        clientDataJSON: client,
        authenticatorData: base64url(data),
        signature: base64url(sign('sha256', signed, passkey.key)),
        userHandle: lies.userHandle ?? passkey.handle,
      },
      clientExtensionResults: {},
      authenticatorAttachment: 'platform',
    }
  }

  #data(rpId: string, flags: number, counter?: number): Buffer {
    const count = Buffer.alloc(4)
    count.writeUInt32BE(counter ?? (this.#counts ? ++this.counter : 0))
    return Buffer.concat([sha256(rpId), Buffer.from([flags]), count])
  }

  #client(type: string, challenge: string, lies: Lies): string {
    const data = {
      type: lies.type ?? type,
      challenge: lies.challenge ?? challenge,
      origin: lies.origin ?? this.#origin,
      crossOrigin: lies.crossOrigin ?? false,
    }
    return base64url(Buffer.from(JSON.stringify(data)))
  }
}

/** CBOR of a text of at most 23 bytes. */
function text(value: string): Buffer {
  return Buffer.concat([Buffer.from([0x60 | value.length]), Buffer.from(value)])
}
