/** The keys in use, whatever their origin. They are read, created or fetched when the first token needs them. */

import { createPublicKey, type JsonWebKey } from 'node:crypto'
import type { Log } from '../core/log.js'
import {
  checkStrength,
  thumbprint,
  toPublicKey,
  type PrivateKey,
  openKeyFolder,
  type KeyOrigin,
} from './key-origin.js'
import { signatureAlgorithms, type PublicKey, type SignatureAlgorithm } from './tokens.js'

/** Milliseconds between two requests to the issuer, even if tokens have unknown `kid`s. */
const cooldown = 30_000
/** Milliseconds between two requests while no key has been fetched, because the issuer may be starting. */
const firstCooldown = 5_000
/**
 * Milliseconds after which a set is fetched again although every `kid` was known, because keys are withdrawn by
 * omitting them.
 */
const keySetLife = 600_000
const fetchTimeout = 5_000
const maxKeys = 100

interface KeySet {
  /**
   * The keys that may have signed a token with this `kid`. Fetches the key set for an unknown `kid`. Never throws.
   * Source: RFC 7517; decisions, Tokens. The application configures the address, and addresses in tokens are never
   * used.
   */
  find(kid: string | undefined): Promise<readonly PublicKey[]>
}

interface KeySetOptions {
  readonly url: string
  readonly log: Log
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Maximum bytes of a key set. */
  readonly maxBytes: number
  /** Called when a fetched set differs from the one before. */
  readonly onChange: () => void
}

function createKeySet({ url, log, now, maxBytes, onChange }: KeySetOptions): KeySet {
  let keys: readonly PublicKey[] = []
  let names = ''
  let requestedAt = -Infinity
  let fetchedAt = -Infinity
  let pendingRequest: Promise<void> | undefined
  const warned = new Set<string>()
  const warn = (kid: unknown, reason: string): void => {
    const warning = `${String(kid)} ${reason}`
    if (warned.has(warning) || warned.size >= maxKeys) return
    warned.add(warning)
    log.warn({ kid, reason }, 'a key of the key set is left out')
  }

  const requestKeys = async (): Promise<void> => {
    requestedAt = now()
    try {
      keys = await fetchKeys(url, maxBytes, warn)
      fetchedAt = requestedAt
      const before = names
      names = keys.map(({ kid, key }) => `${kid} ${thumbprint(key)}`).join('\n')
      if (before !== '' && before !== names) onChange()
    } catch (error) {
      // Fetched keys stay valid, so that a short outage of the issuer does not lock out all callers.
      log.error({ err: error, url }, 'the key set cannot be read')
    } finally {
      pendingRequest = undefined
    }
  }
  const refresh = async (): Promise<void> => {
    const wait = keys.length === 0 ? firstCooldown : cooldown
    if (pendingRequest === undefined && now() - requestedAt < wait) return
    pendingRequest ??= requestKeys()
    await pendingRequest
  }
  const keysNamed = (kid: string | undefined): readonly PublicKey[] =>
    kid === undefined ? keys : keys.filter((key) => key.kid === kid)

  return {
    find: async (kid) => {
      if (now() - fetchedAt >= keySetLife) await refresh()
      const found = keysNamed(kid)
      if (found.length > 0) return found
      await refresh()
      return keysNamed(kid)
    },
  }
}

type WarnOfKey = (kid: unknown, reason: string) => void

async function fetchKeys(
  url: string,
  maxBytes: number,
  warn: WarnOfKey,
): Promise<readonly PublicKey[]> {
  const response = await fetch(url, {
    headers: { accept: 'application/json' },
    redirect: 'error',
    signal: AbortSignal.timeout(fetchTimeout),
  })
  if (!response.ok) throw new Error(`${url} answered ${response.status}`)
  const set = JSON.parse(await readText(response, maxBytes)) as { keys?: unknown } | null
  if (!Array.isArray(set?.keys)) throw new Error(`${url} answered no key set: "keys" is missing`)
  const keys = set.keys.slice(0, maxKeys).flatMap((jwk: unknown) => readKey(jwk, warn))
  if (keys.length === 0) throw new Error(`${url} has no public key for signatures`)
  return keys
}

/** Limits the size, because a compromised address may send any amount. */
async function readText(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length
    if (size > maxBytes) throw new Error(`${response.url} answered more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Ignores keys for other uses (RFC 7517 §4: `use`, `key_ops`), and keys whose algorithm is not accepted. */
function readKey(jwk: unknown, warn: WarnOfKey): PublicKey[] {
  if (typeof jwk !== 'object' || jwk === null) return []
  const { kty, crv, n, e, x, y, use, alg, kid, key_ops: operations } = jwk as JsonWebKey
  if ((use ?? 'sig') !== 'sig') return []
  if (Array.isArray(operations) && !operations.includes('verify')) return []
  const possible = algorithmsOf(kty, crv)
  const algorithms =
    alg === undefined ? possible : signatureAlgorithms.filter((name) => isAllowed(name, alg))
  if (algorithms.length === 0 || !algorithms.every((name) => possible.includes(name))) {
    warn(kid, `its algorithm is not accepted: ${JSON.stringify([kty, crv, alg])}`)
    return []
  }
  try {
    // Only the public parts, even if the key set contains others.
    const parts = JSON.parse(JSON.stringify({ kty, crv, n, e, x, y })) as JsonWebKey
    const key = createPublicKey({ key: parts, format: 'jwk' })
    if (kty === 'RSA') checkStrength(key)
    const name = typeof kid === 'string' ? kid : undefined
    return [{ key, kid: name ?? thumbprint(key), unnamed: name === undefined, algorithms }]
  } catch (error) {
    warn(kid, error instanceof Error ? error.message : String(error))
    return []
  }
}

/** The algorithms that a key of this form supports (RFC 7518 §3.1, RFC 8037 §3.1). */
function algorithmsOf(type: unknown, curve: unknown): readonly SignatureAlgorithm[] {
  if (type === 'RSA') return signatureAlgorithms.filter((name) => /^[RP]S/.test(name))
  return curveAlgorithms.get(`${String(type)} ${String(curve)}`) ?? []
}

const curveAlgorithms: ReadonlyMap<string, readonly SignatureAlgorithm[]> = new Map([
  ['EC P-256', ['ES256']],
  ['EC P-384', ['ES384']],
  ['EC P-521', ['ES512']],
  ['OKP Ed25519', ['EdDSA', 'Ed25519']],
])

/** `EdDSA` and `Ed25519` are two names of one algorithm (RFC 9864 §2.2). */
function isAllowed(name: SignatureAlgorithm, alg: unknown): boolean {
  const isEdwards = alg === 'EdDSA' || alg === 'Ed25519'
  return name === alg || (isEdwards && (name === 'EdDSA' || name === 'Ed25519'))
}

export interface TokenKeys {
  /** The key that signs tokens. @throws {Error} if tokens are only verified */
  signing(): Promise<PrivateKey>
  /** Whether tokens can be signed, as far as is known. */
  readonly canSign: boolean
  /** Keys that may have signed a token whose header names this `kid`. */
  checking(kid: string | undefined): readonly PublicKey[] | Promise<readonly PublicKey[]>
  /** Milliseconds for which a verified token may be cached before its key must be looked up again. */
  readonly trustFor: number
  /** Runs `forget` when keys were replaced or withdrawn. */
  onChange(forget: () => void): void
}

interface KeysOptions {
  readonly origin: KeyOrigin
  readonly log: Log
  /** Milliseconds since 1970. Default the system's clock. */
  readonly now?: () => number
  /** Bytes of the largest key set that is read. Default 262,144. */
  readonly maxBytes?: number
}

/** The form of a `kid` that an issuer may use for a key without a configured name. */
const plainName = /^[\w.:~=+-]{1,200}$/

export function createKeys(options: KeysOptions): TokenKeys {
  const { origin, log, now = Date.now, maxBytes = 256 * 1024 } = options
  switch (origin.from) {
    case 'given':
      return createFixedKeys(origin.private, origin.public)
    case 'folder':
      return createFolderKeys(origin.folder, log)
    case 'jwks':
      return createRemoteKeys({ url: origin.url, log, now, maxBytes })
    case 'none':
      return createFixedKeys(undefined, [])
  }
}

function createFixedKeys(pair: PrivateKey | undefined, keys: readonly PublicKey[]): TokenKeys {
  return {
    signing: () => (pair === undefined ? failToSign() : Promise.resolve(pair)),
    canSign: pair !== undefined,
    checking: (kid) => selectKeys(keys, kid),
    trustFor: Infinity,
    onChange: () => undefined,
  }
}

function createFolderKeys(folder: string, log: Log): TokenKeys {
  let opened: Promise<PrivateKey> | undefined
  const open = (): Promise<PrivateKey> => {
    opened ??= openKeyFolder(folder, log).catch((error: unknown) => {
      opened = undefined
      throw error
    })
    return opened
  }
  return {
    signing: open,
    canSign: true,
    checking: async (kid) => selectKeys([toPublicKey(await open())], kid),
    trustFor: Infinity,
    onChange: () => undefined,
  }
}

function createRemoteKeys(options: Omit<KeySetOptions, 'onChange'>): TokenKeys {
  const listeners: (() => void)[] = []
  const set = createKeySet({
    ...options,
    onChange: () => {
      for (const forget of listeners) forget()
    },
  })
  return {
    signing: failToSign,
    canSign: false,
    checking: (kid) => set.find(kid),
    trustFor: keySetLife,
    onChange: (forget) => {
      listeners.push(forget)
    },
  }
}

/** The keys with this `kid`, otherwise the keys without a configured name, because issuers may name those freely. */
function selectKeys(keys: readonly PublicKey[], kid: string | undefined): readonly PublicKey[] {
  if (kid === undefined) return keys
  const named = keys.filter((key) => key.kid === kid)
  if (named.length > 0 || !plainName.test(kid)) return named
  return keys.filter(({ unnamed }) => unnamed)
}

function failToSign(): Promise<PrivateKey> {
  return Promise.reject(
    new Error(
      'Auth.getToken: there is no private key, so tokens can only be verified. Set APP_PRIVATE_KEY.',
    ),
  )
}
