/**
 * An issuer's key set, fetched when it is first needed and kept. Source: RFC 7517; decisions, "Keys", asked again on an
 * unknown `kid`, at most once per 30 s. The address is configured by the application; addresses in tokens are never
 * used.
 */
import { createPublicKey, type JsonWebKey } from 'node:crypto'
import type { Log } from '../core/log.js'
import { checkStrength, thumbprint, type PublicKey } from './pem.js'

/** Milliseconds between two requests to the issuer, whatever tokens ask for. */
const cooldown = 30_000
/** The same while no key is known yet: the issuer may be starting. */
const firstCooldown = 5_000
/** Milliseconds after which a set is asked for again though every `kid` was known: keys are withdrawn by leaving them out. */
export const keySetLife = 600_000
const patience = 5_000
const mostKeys = 100

export interface KeySet {
  /** Keys that may have signed a token with this header; asks the issuer where the `kid` is unknown. Never throws. */
  find(kid: string | undefined): Promise<readonly PublicKey[]>
}

export interface KeySetOptions {
  readonly url: string
  readonly log: Log
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Bytes of the largest set that is read. */
  readonly mostBytes: number
  /** Called when a fetched set differs from the one before. */
  readonly onChange: () => void
}

export function createKeySet({ url, log, now, mostBytes, onChange }: KeySetOptions): KeySet {
  let keys: readonly PublicKey[] = []
  let names = ''
  let askedAt = -Infinity
  let answeredAt = -Infinity
  let asking: Promise<void> | undefined

  const ask = async (): Promise<void> => {
    askedAt = now()
    try {
      keys = await fetchKeys(url, mostBytes, log)
      answeredAt = askedAt
      const before = names
      names = keys.map(({ kid, key }) => `${kid} ${thumbprint(key)}`).join('\n')
      if (before !== '' && before !== names) onChange()
    } catch (error) {
      // The keys known so far stay: an issuer that is down for a minute must not lock everybody out.
      log.error({ err: error, url }, 'the key set cannot be read')
    } finally {
      asking = undefined
    }
  }
  const refresh = async (): Promise<void> => {
    const wait = keys.length === 0 ? firstCooldown : cooldown
    if (asking === undefined && now() - askedAt < wait) return
    asking ??= ask()
    await asking
  }
  const known = (kid: string | undefined): readonly PublicKey[] =>
    kid === undefined ? keys : keys.filter((key) => key.kid === kid)

  return {
    find: async (kid) => {
      if (now() - answeredAt >= keySetLife) await refresh()
      const found = known(kid)
      if (found.length > 0) return found
      await refresh()
      return known(kid)
    },
  }
}

async function fetchKeys(url: string, mostBytes: number, log: Log): Promise<readonly PublicKey[]> {
  const response = await fetch(url, {
    headers: { accept: 'application/json' },
    redirect: 'error',
    signal: AbortSignal.timeout(patience),
  })
  if (!response.ok) throw new Error(`${url} answered ${response.status}`)
  const set = JSON.parse(await readText(response, mostBytes)) as { keys?: unknown } | null
  if (!Array.isArray(set?.keys)) throw new Error(`${url} answered no key set: "keys" is missing`)
  const keys = set.keys.slice(0, mostKeys).flatMap((jwk: unknown) => readKey(jwk, log))
  if (keys.length === 0) throw new Error(`${url} has no RSA key for RS256 signatures`)
  return keys
}

/** Nobody knows how much an address sends that was taken over. */
async function readText(response: Response, mostBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length
    if (size > mostBytes) throw new Error(`${response.url} answered more than ${mostBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Keys for other uses are left out (RFC 7517 §4: `use`, `key_ops`, `alg`), and those that RS256 cannot use. */
function readKey(jwk: unknown, log: Log): PublicKey[] {
  if (typeof jwk !== 'object' || jwk === null) return []
  const { kty, use, alg, kid, n, e, key_ops: operations } = jwk as Record<string, unknown>
  if (kty !== 'RSA' || typeof n !== 'string' || typeof e !== 'string') return []
  if ((use ?? 'sig') !== 'sig' || (alg ?? 'RS256') !== 'RS256') return []
  if (Array.isArray(operations) && !operations.includes('verify')) return []
  try {
    const key = createPublicKey({ key: { kty, n, e } satisfies JsonWebKey, format: 'jwk' })
    checkStrength(key)
    const name = typeof kid === 'string' ? kid : undefined
    return [{ key, kid: name ?? thumbprint(key), unnamed: name === undefined }]
  } catch (error) {
    log.warn({ err: error, kid }, 'a key of the key set is left out')
    return []
  }
}
