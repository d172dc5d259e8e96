/** A key set served by a local issuer. Source: decisions, Tokens. */
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { SignJWT } from 'jose'
import type { Auth } from '../../src/index.js'
import {
  foreignToken,
  givenKeys,
  makeAuth,
  makeClock,
  makeLog,
  noonSeconds,
  type Clock,
} from './fixtures.js'
import { makePair, type Pair } from './key-pair.js'

let pair: Pair
let other: Pair
let server: Server
let url: string
let requests: number
let answer: { status: number; body: string; headers?: Record<string, string> }
let now: Clock
let auth: Auth
const log = makeLog()

beforeAll(() => {
  pair = makePair()
  other = makePair()
})

beforeEach(async () => {
  requests = 0
  log.lines.length = 0
  serveKeys({ ...jwk(pair), kid: 'a' })
  server = createServer((_request, response) => {
    requests++
    response.writeHead(answer.status, answer.headers).end(answer.body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/certs`
  now = makeClock()
  auth = makeAuth({ origin: { from: 'jwks', url }, now, log })
})

afterEach(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const jwk = (from: Pair) => createPublicKey(from.publicPem).export({ format: 'jwk' })

function serveKeys(...keys: unknown[]): void {
  answer = { status: 200, body: JSON.stringify({ keys }) }
}

/** A token signed by this key with this key id, valid for a day. */
function token(kid: string | undefined, from = pair): string {
  const payload = { sub: kid ?? 'nameless', exp: noonSeconds + 86_400 }
  const header = { alg: 'RS256', ...(kid === undefined ? {} : { kid }) }
  return foreignToken(payload, from.privateKey, { header })
}

describe('a key set', () => {
  it('is fetched with the first token, once for concurrent requests', async () => {
    expect(requests).toBe(0)
    const verdicts = await Promise.all([1, 2, 3].map(() => auth.verify(token('a'))))
    expect(verdicts.map((claims) => claims?.sub)).toEqual(['a', 'a', 'a'])
    expect(requests).toBe(1)
  })

  it('refuses a token signed by another key under a known key id', async () => {
    expect(await auth.verify(token('a', other))).toBeNull()
  })

  it('verifies tokens without a key id by any of its keys', async () => {
    serveKeys({ ...jwk(other), kid: 'b' }, { ...jwk(pair), kid: 'a' })
    expect(await auth.verify(token(undefined))).toMatchObject({ sub: 'nameless' })
  })

  it('is rejected where it is too large', async () => {
    answer = {
      status: 200,
      body: JSON.stringify({ keys: [{ ...jwk(pair), kid: 'a' }], pad: 'x'.repeat(300_000) }),
    }
    expect(await auth.verify(token('a'))).toBeNull()
    expect(JSON.stringify(log.lines)).toContain('the key set cannot be read')
  })

  it('is fetched again for an unknown key id, at most once in 30 s', async () => {
    await auth.verify(token('a'))
    serveKeys({ ...jwk(pair), kid: 'a' }, { ...jwk(other), kid: 'b' })
    now.advance(29)
    expect(await auth.verify(token('b', other))).toBeNull()
    expect(requests).toBe(1)
    now.advance(1)
    expect(await auth.verify(token('b', other))).toMatchObject({ sub: 'b' })
    expect(requests).toBe(2)
    for (const kid of ['c', 'd', '../e', '__proto__']) {
      expect(await auth.verify(token(kid, other))).toBeNull()
    }
    expect(requests).toBe(2)
  })

  it('is fetched again after ten minutes, and a withdrawn key invalidates its cached tokens', async () => {
    const good = token('a')
    expect(await auth.verify(good)).not.toBeNull()
    serveKeys({ ...jwk(other), kid: 'b' })
    now.advance(599)
    expect(auth.findCached(good)).toBeDefined()
    now.advance(1)
    expect(auth.findCached(good)).toBeUndefined()
    expect(await auth.verify(good)).toBeNull()
    expect(await auth.verify(token('b', other))).not.toBeNull()
  })

  it('invalidates all cached tokens when a key changes under the same id', async () => {
    const good = token('a')
    await auth.verify(good)
    serveKeys({ ...jwk(other), kid: 'a' })
    now.advance(30)
    expect(await auth.verify(token('new', other))).toBeNull()
    expect(auth.findCached(good)).toBeUndefined()
    expect(await auth.verify(good)).toBeNull()
  })

  it('stays in use while the issuer is not reachable', async () => {
    const good = token('a')
    await auth.verify(good)
    answer = { status: 503, body: 'down' }
    now.advance(700)
    expect(await auth.verify(good)).not.toBeNull()
    expect(log.lines).toContain('error the key set cannot be read')
  })

  it('never signs tokens', async () => {
    await expect(auth.getToken({})).rejects.toThrow('there is no private key')
  })

  it.each([
    { problem: 'an error', reply: { status: 500, body: '{}' } },
    { problem: 'no JSON', reply: { status: 200, body: '<html>' } },
    { problem: 'null', reply: { status: 200, body: 'null' } },
    { problem: 'no keys', reply: { status: 200, body: '{"keys":{}}' } },
    { problem: 'an empty set', reply: { status: 200, body: '{"keys":[]}' } },
    { problem: 'a redirect', reply: { status: 302, body: '', headers: { location: '/else' } } },
  ])(
    'returns null for every token where the issuer sends $problem, and tries again',
    async ({ reply }) => {
      answer = reply
      expect(await auth.verify(token('a'))).toBeNull()
      expect(log.lines).toContain('error the key set cannot be read')
      serveKeys({ ...jwk(pair), kid: 'a' })
      expect(await auth.verify(token('a'))).toBeNull()
      expect(requests).toBe(1)
      now.advance(5)
      expect(await auth.verify(token('a'))).not.toBeNull()
    },
  )

  it.each([
    { problem: 'for encryption', change: { use: 'enc' } },
    { problem: 'for another algorithm', change: { alg: 'RS512' } },
    { problem: 'for other operations', change: { key_ops: ['encrypt'] } },
    { problem: 'of another kind', change: { kty: 'EC' } },
    { problem: 'without its modulus', change: { n: undefined } },
    { problem: 'with a modulus of few bits', change: { n: 'AQAB' } },
    { problem: 'with a modulus that is not text', change: { n: 7 } },
  ])('ignores a key $problem', async ({ change }) => {
    serveKeys({ ...jwk(pair), kid: 'a', ...change }, 7, { ...jwk(other), kid: 'b' })
    expect(await auth.verify(token('a'))).toBeNull()
    expect(await auth.verify(token('b', other))).not.toBeNull()
  })
})

describe('the algorithm of a token', () => {
  const rsa = (): Pairs => generateKeyPairSync('rsa', { modulusLength: 2048 })
  const ec = (namedCurve: string) => (): Pairs => generateKeyPairSync('ec', { namedCurve })
  const edwards = (): Pairs => generateKeyPairSync('ed25519')

  it.each([
    ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'].map((alg) => ({ alg, make: rsa })),
    { alg: 'ES256', make: ec('P-256') },
    { alg: 'ES384', make: ec('P-384') },
    { alg: 'ES512', make: ec('P-521') },
    { alg: 'EdDSA', make: edwards },
    { alg: 'Ed25519', make: edwards },
  ])('may be $alg, with and without "alg" at the key', async ({ alg, make }) => {
    const keys = make()
    const signed = await signedBy(keys, alg)
    serveKeys(keyOf(keys))
    expect(await auth.verify(signed)).toMatchObject({ sub: 'ada' })
    serveKeys({ ...keyOf(keys), alg })
    now.advance(700)
    expect(await auth.verify(signed)).toMatchObject({ sub: 'ada' })
  })

  it('must be allowed by the key, and a refused one logs one warning', async () => {
    const keys = rsa()
    serveKeys({ ...keyOf(keys), alg: 'RS256' })
    expect(await auth.verify(await signedBy(keys, 'RS256'))).not.toBeNull()
    for (const alg of ['RS512', 'PS256', 'RS384'])
      expect(await auth.verify(await signedBy(keys, alg))).toBeNull()
    expect(log.lines.filter((line) => line.startsWith('warn'))).toEqual([
      'warn a token was refused: no key of its issuer allows its algorithm',
    ])
  })

  it('is never symmetric, whatever the key set contains', async () => {
    const secret = 'x'.repeat(64)
    serveKeys({ ...jwk(pair), kid: 'a' }, { kty: 'oct', kid: 'a', k: secret, alg: 'HS256' })
    for (const key of [secret, pair.publicPem]) {
      const bytes = new TextEncoder().encode(key)
      const header = { alg: 'HS256', kid: 'a' }
      const claims = { sub: 'ada', exp: noonSeconds + 60 }
      expect(
        await auth.verify(await new SignJWT(claims).setProtectedHeader(header).sign(bytes)),
      ).toBeNull()
    }
  })

  it('logs one warning for a key whose algorithm is not accepted, however often the set is fetched', async () => {
    const keys = ec('secp256k1')()
    serveKeys({ ...keyOf(keys), kid: 'k' }, { ...jwk(pair), kid: 'a' })
    for (let count = 0; count < 3; count++) {
      expect(await auth.verify(token('a'))).not.toBeNull()
      now.advance(700)
    }
    expect(log.lines).toEqual(['warn a key of the key set is left out'])
  })

  it('is only RS256 for keys from the configuration', async () => {
    const localAuth = makeAuth({ origin: givenKeys(pair), now, log })
    const sign = (algorithm: 'RS256' | 'RS512' | 'PS256'): string =>
      foreignToken({ exp: noonSeconds + 60 }, pair.privateKey, { algorithm })
    expect(await localAuth.verify(sign('RS256'))).not.toBeNull()
    expect(await localAuth.verify(sign('RS512'))).toBeNull()
    expect(await localAuth.verify(sign('PS256'))).toBeNull()
    expect(log.lines.filter((line) => line.startsWith('warn'))).toEqual([])
  })
})

describe('the type of a token', () => {
  it.each(['JWT', 'jwt', 'at+jwt', 'application/at+jwt'])('may be %s', async (typ) => {
    expect(await auth.verify(typed(typ))).not.toBeNull()
  })

  it.each(['dpop+jwt', 'logout+jwt', 'secevent+jwt', 'JWE', '', 7, null])(
    'does not accept another kind of key: %j',
    async (typ) => {
      expect(await auth.verify(typed(typ))).toBeNull()
    },
  )

  function typed(typ: unknown): string {
    const header = { alg: 'RS256', kid: 'a', typ } as { alg: string }
    return foreignToken({ exp: noonSeconds + 60 }, pair.privateKey, { header })
  }
})

interface Pairs {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

function keyOf({ publicKey }: Pairs): object {
  return { ...publicKey.export({ format: 'jwk' }), kid: 'a' }
}

function signedBy({ privateKey }: Pairs, alg: string): Promise<string> {
  const claims = { sub: 'ada', iat: noonSeconds, exp: noonSeconds + 86_400 }
  return new SignJWT(claims).setProtectedHeader({ alg, kid: 'a' }).sign(privateKey)
}
