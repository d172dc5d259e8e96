/**
 * Passkeys for names that have none, so that nobody learns who has an account: made of the name with a secret of the
 * application, they are the same each time and in every process, and look like those of others. Source: WebAuthn Level 3
 * §14.6.2.
 */
import { createHmac } from 'node:crypto'
import { Auth } from '../../index.js'

/** What `allowCredentials` has of a passkey. */
export interface AllowedCredential {
  readonly type: 'public-key'
  readonly id: string
  readonly transports: readonly string[]
}

/** Transports stand in the order in which those of real ones are kept. What is common: an iCloud or Google passkey, a security key, Windows Hello. Bytes of the id, transports, weight. */
const kinds = [
  { bytes: 20, transports: ['hybrid', 'internal'], weight: 120 },
  { bytes: 16, transports: ['hybrid', 'internal'], weight: 80 },
  { bytes: 32, transports: ['internal'], weight: 56 },
] as const

export class Decoys {
  static readonly inject = [Auth]
  readonly #auth: Auth
  #secret: Promise<Buffer> | undefined

  constructor(auth: Auth) {
    this.#auth = auth
  }

  async forName(name: string): Promise<AllowedCredential[]> {
    this.#secret ??= this.#auth.secretFor('passkey decoys')
    const secret = await this.#secret
    const bytes = (part: string): Buffer =>
      createHmac('sha256', secret).update(`${part}:`).update(name, 'utf16le').digest()
    const [choice = 0, second = 0] = bytes('choice')
    const first = decoy(choice, bytes('first'))
    return second < 40 ? [first, decoy(second * 6, bytes('second'))] : [first]
  }
}

function decoy(choice: number, from: Buffer): AllowedCredential {
  let left = choice
  const kind = kinds.find(({ weight }) => (left -= weight) < 0) ?? kinds[0]
  const id = from.subarray(0, kind.bytes).toString('base64url')
  return { type: 'public-key', id, transports: kind.transports }
}
