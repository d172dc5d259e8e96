/** A key set served by a local issuer. Source: decisions, Authentication, "Keys". */
import { createPublicKey } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { Auth } from '../../src/index.js'
import { foreignToken, makeAuth, makeClock, makeLog, noonSeconds, type Clock } from './fixtures.js'
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

/** A token that this key signed under this name, good for a day. */
function token(kid: string | undefined, from = pair): string {
  const payload = { sub: kid ?? 'nameless', exp: noonSeconds + 86_400 }
  const header = { alg: 'RS256', ...(kid === undefined ? {} : { kid }) }
  return foreignToken(payload, from.privateKey, { header })
}

describe('a key set', () => {
  it('is fetched with the first token, once for many', async () => {
    expect(requests).toBe(0)
    const verdicts = await Promise.all([1, 2, 3].map(() => auth.verify(token('a'))))
    expect(verdicts.map((claims) => claims?.sub)).toEqual(['a', 'a', 'a'])
    expect(requests).toBe(1)
  })

  it('refuses a token of another key under a known name', async () => {
    expect(await auth.verify(token('a', other))).toBeNull()
  })

  it('serves tokens without a name by any of its keys', async () => {
    serveKeys({ ...jwk(other), kid: 'b' }, { ...jwk(pair), kid: 'a' })
    expect(await auth.verify(token(undefined))).toMatchObject({ sub: 'nameless' })
  })

  it('is not read where it is too large', async () => {
    answer = {
      status: 200,
      body: JSON.stringify({ keys: [{ ...jwk(pair), kid: 'a' }], pad: 'x'.repeat(300_000) }),
    }
    expect(await auth.verify(token('a'))).toBeNull()
    expect(JSON.stringify(log.lines)).toContain('the key set cannot be read')
  })

  it('is asked again for an unknown name, at most once in 30 s', async () => {
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

  it('is asked again after ten minutes, and a withdrawn key is forgotten with its tokens', async () => {
    const good = token('a')
    expect(await auth.verify(good)).not.toBeNull()
    serveKeys({ ...jwk(other), kid: 'b' })
    now.advance(599)
    expect(auth.remembered(good)).toBeDefined()
    now.advance(1)
    expect(auth.remembered(good)).toBeUndefined()
    expect(await auth.verify(good)).toBeNull()
    expect(await auth.verify(token('b', other))).not.toBeNull()
  })

  it('makes all tokens forgotten when it changes under a name', async () => {
    const good = token('a')
    await auth.verify(good)
    serveKeys({ ...jwk(other), kid: 'a' })
    now.advance(30)
    expect(await auth.verify(token('new', other))).toBeNull()
    expect(auth.remembered(good)).toBeUndefined()
    expect(await auth.verify(good)).toBeNull()
  })

  it('stays in use while the issuer is down', async () => {
    const good = token('a')
    await auth.verify(good)
    answer = { status: 503, body: 'down' }
    now.advance(700)
    expect(await auth.verify(good)).not.toBeNull()
    expect(log.lines).toContain('error the key set cannot be read')
  })

  it('never makes tokens', async () => {
    await expect(auth.getToken({})).rejects.toThrow('there is no private key here')
  })

  it.each([
    { fault: 'an error', reply: { status: 500, body: '{}' } },
    { fault: 'no JSON', reply: { status: 200, body: '<html>' } },
    { fault: 'null', reply: { status: 200, body: 'null' } },
    { fault: 'no keys', reply: { status: 200, body: '{"keys":{}}' } },
    { fault: 'an empty set', reply: { status: 200, body: '{"keys":[]}' } },
    { fault: 'a redirect', reply: { status: 302, body: '', headers: { location: '/else' } } },
  ])(
    'answers null to every token where the issuer sends $fault, and tries again',
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
    { fault: 'for encryption', change: { use: 'enc' } },
    { fault: 'for another algorithm', change: { alg: 'RS512' } },
    { fault: 'for other operations', change: { key_ops: ['encrypt'] } },
    { fault: 'of another kind', change: { kty: 'EC' } },
    { fault: 'without its modulus', change: { n: undefined } },
    { fault: 'with a modulus of few bits', change: { n: 'AQAB' } },
    { fault: 'with a modulus that is no text', change: { n: 7 } },
  ])('leaves out a key $fault', async ({ change }) => {
    serveKeys({ ...jwk(pair), kid: 'a', ...change }, 7, { ...jwk(other), kid: 'b' })
    expect(await auth.verify(token('a'))).toBeNull()
    expect(await auth.verify(token('b', other))).not.toBeNull()
  })
})
