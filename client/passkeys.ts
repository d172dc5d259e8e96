/**
 * Passkeys in the browser: `import 'filigree/client/passkeys'` adds `api.passkeys`. The server's side is `filigree/passkeys`.
 * Source: decisions, Sign-in; WebAuthn Level 3 §5.1.
 *
 * It must fit into 2,048 bytes, gzip -9, which a test checks.
 */
import { api } from './index.js'
import type { PlainClient } from './routes.js'

/** A passkey of the signed-in user. */
export interface OwnPasskey {
  readonly id: number
  readonly credential: string
  readonly name: string | null
  readonly transports: readonly string[]
  readonly createdAt: string
  readonly lastUsed: string | null
}

export interface PasskeyCall {
  /** Ends the browser's dialogue. */
  readonly signal?: AbortSignal
}

export interface PasskeyRegistration extends PasskeyCall {
  /** A name for the user: `Laptop`. */
  readonly name?: string
}

export interface PasskeySignInCall extends PasskeyCall {
  /** The name of the user. Without it the browser offers all its passkeys of this site. */
  readonly name?: string
  /** True offers them in a field with `autocomplete="username webauthn"`, without a dialogue. Default false. */
  readonly autofill?: boolean
}

export interface Passkeys {
  /** False if the browser does not support passkeys. */
  readonly supported: boolean
  /** Adds a passkey to the signed-in user. Rejects with the browser's `NotAllowedError` if the user cancels. */
  register(options?: PasskeyRegistration): Promise<OwnPasskey>
  /** Signs in. With `auth: true` the client stores the token. */
  signIn(options?: PasskeySignInCall): Promise<{ readonly sub: string }>
  /** The passkeys of the signed-in user. */
  list(): Promise<OwnPasskey[]>
  /** @param id of a passkey or of its credential */
  remove(id: number | string): Promise<void>
}

declare module './routes.js' {
  interface ClientBase {
    /** Needs `import 'filigree/client/passkeys'`. */
    passkeys: Passkeys
  }
}

// Missing in `lib.dom` of older compilers.
interface JsonCredentials {
  parseCreationOptionsFromJSON(json: unknown): unknown
  parseRequestOptionsFromJSON(json: unknown): unknown
}
// Missing in browsers without passkeys.
declare const PublicKeyCredential: JsonCredentials
declare const navigator: {
  readonly credentials: Record<'create' | 'get', (options: object) => Promise<{ toJSON(): object }>>
}

/** The same for a client of `createClient`: `const passkeys = passkeysOf(client)`. */
export const passkeysOf = (client: PlainClient): Passkeys => {
  const ceremony =
    (path: string, call: 'create' | 'get', parse: keyof JsonCredentials) =>
    async ({ signal, autofill, ...body }: PasskeySignInCall = {}) => {
      const json: unknown = await client.post(`/passkeys/${path}/options`, body, {
        ...(signal && { signal }),
      })
      const credential = await navigator.credentials[call]({
        publicKey: PublicKeyCredential[parse](json),
        ...(signal && { signal }),
        ...(autofill && { mediation: 'conditional' }),
      })
      return client.post<never>(`/passkeys/${path}/verify`, credential.toJSON())
    }
  return {
    supported: typeof PublicKeyCredential == 'function',
    register: ceremony('register', 'create', 'parseCreationOptionsFromJSON'),
    signIn: ceremony('signin', 'get', 'parseRequestOptionsFromJSON'),
    list: () => client.get('/passkeys'),
    remove: (id) => client.delete('/passkeys/<id>', { path: { id } }),
  }
}

/** The passkeys of the client that all scripts of a page share. */
export const passkeys: Passkeys = passkeysOf(api)
api.passkeys = passkeys
