/** Forged tokens: all get the same response, and none crashes the server. Source: RFC 8725; decisions, Tokens. */
import { createHmac, createPublicKey, sign, type KeyObject } from 'node:crypto'
import { beforeAll, describe, expect, it } from '@jest/globals'
import {
  failureOf,
  foreignToken,
  givenKeys,
  makeAuth,
  makeGate,
  makeLog,
  makeRequest,
  noon,
  noonSeconds,
  rawToken,
  toPart,
  tokenAccess,
  type Gate,
} from './fixtures.js'
import { makePair, type Pair } from './key-pair.js'

const apiKey = 'a-static-key-0123456789'
const log = makeLog()
const life = { sub: '7', roles: ['admin'], iat: noonSeconds, exp: noonSeconds + 600 }
let pair: Pair
let other: Pair
let gate: Gate

beforeAll(() => {
  pair = makePair()
  other = makePair()
  gate = makeGate(makeAuth({ origin: givenKeys(pair), now: () => noon, log }), { apiKey })
})

/** A compact token with this header, correctly signed with RSASSA-PKCS1-v1_5 and SHA-256 by default. */
function signed(header: object, payload: unknown = life, key: KeyObject = pair.privateKey): string {
  const input = `${toPart(header)}.${toPart(payload)}`
  return `${input}.${sign('sha256', Buffer.from(input), key).toString('base64url')}`
}

function good(): string {
  return foreignToken(life, pair.privateKey)
}

function hmac(alg: string, secret: string): string {
  const input = `${toPart({ alg, typ: 'JWT' })}.${toPart(life)}`
  const hash = alg.replace('HS', 'sha')
  return `${input}.${createHmac(hash, secret).update(input).digest('base64url')}`
}

/** Replaces one part of the good token. */
function withPart(index: number, change: (part: string) => string): string {
  const parts = good().split('.')
  parts[index] = change(parts[index] ?? '')
  return parts.join('.')
}

const replaceFirstLetter = (text: string): string =>
  (text.startsWith('A') ? 'B' : 'A') + text.slice(1)

/** The last letter of a 2048-bit signature carries four unused bits. */
const unusedBits = (text: string): string => {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  return text.slice(0, -1) + (letters[letters.indexOf(text.at(-1) ?? '') + 1] ?? 'A')
}

const jwkOf = (from: Pair): object => createPublicKey(from.publicPem).export({ format: 'jwk' })

const forgeries: { forgery: string; token: () => string }[] = [
  { forgery: 'alg none', token: () => rawToken({ alg: 'none' }, life, '') },
  { forgery: 'alg None', token: () => rawToken({ alg: 'None' }, life, '') },
  { forgery: 'alg NONE with a signature', token: () => signed({ alg: 'NONE' }) },
  { forgery: 'alg rs256 in lower case', token: () => signed({ alg: 'rs256' }) },
  { forgery: 'no alg', token: () => signed({ typ: 'JWT' }) },
  { forgery: 'alg as a list', token: () => signed({ alg: ['RS256'] }) },
  { forgery: 'HS256 with the public key as secret', token: () => hmac('HS256', pair.publicPem) },
  {
    forgery: 'HS256 with the public key trimmed',
    token: () => hmac('HS256', pair.publicPem.trim()),
  },
  { forgery: 'HS512 with the public key as secret', token: () => hmac('HS512', pair.publicPem) },
  { forgery: 'HS256 with the static key as secret', token: () => hmac('HS256', apiKey) },
  { forgery: 'RS512', token: () => foreignToken(life, pair.privateKey, { algorithm: 'RS512' }) },
  { forgery: 'RS384', token: () => foreignToken(life, pair.privateKey, { algorithm: 'RS384' }) },
  { forgery: 'PS256', token: () => foreignToken(life, pair.privateKey, { algorithm: 'PS256' }) },
  {
    forgery: 'alg twice, none first',
    token: () => rawToken('{"alg":"none","alg":"RS256"}', life, 'AAAA'),
  },
  {
    forgery: 'alg twice, none last',
    token: () => rawToken('{"alg":"RS256","alg":"none"}', life, ''),
  },
  {
    forgery: 'a claim twice, under the signature of another',
    token: () => withPart(1, () => toPart(JSON.stringify(life).replace('{', '{"sub":"1",'))),
  },
  { forgery: 'nothing', token: () => '' },
  { forgery: 'one word', token: () => 'token' },
  { forgery: 'one part', token: () => good().split('.')[0]! },
  { forgery: 'two parts', token: () => good().split('.').slice(0, 2).join('.') },
  { forgery: 'an empty signature', token: () => withPart(2, () => '') },
  { forgery: 'four parts', token: () => `${good()}.AAAA` },
  { forgery: 'five parts, as an encrypted token', token: () => `${good()}.AAAA.AAAA` },
  { forgery: 'only dots', token: () => '..' },
  { forgery: 'an altered header', token: () => withPart(0, (part) => `${part}A`) },
  {
    forgery: 'another header of the same meaning',
    token: () => withPart(0, () => toPart({ typ: 'JWT', alg: 'RS256' })),
  },
  { forgery: 'an altered payload', token: () => withPart(1, () => toPart({ ...life, sub: '1' })) },
  { forgery: 'an altered signature', token: () => withPart(2, replaceFirstLetter) },
  { forgery: 'a signature altered where no bit counts', token: () => withPart(2, unusedBits) },
  { forgery: 'a signature cut short', token: () => withPart(2, (part) => part.slice(0, -4)) },
  { forgery: 'padding', token: () => `${good()}==` },
  { forgery: 'plain base64 letters', token: () => withPart(1, (part) => `${part}+/`) },
  { forgery: 'another key', token: () => foreignToken(life, other.privateKey) },
  { forgery: 'a header that is not JSON', token: () => withPart(0, () => toPart('{alg')) },
  { forgery: 'a header that is a list', token: () => withPart(0, () => toPart('["RS256"]')) },
  { forgery: 'a header that is null', token: () => withPart(0, () => toPart('null')) },
  { forgery: 'a payload that is not JSON', token: () => signed({ alg: 'RS256' }, 'life') },
  { forgery: 'a payload that is a list', token: () => signed({ alg: 'RS256' }, [life]) },
  { forgery: 'a payload that is null', token: () => signed({ alg: 'RS256' }, null) },
  { forgery: 'no exp', token: () => signed({ alg: 'RS256' }, { sub: '7', iat: noonSeconds }) },
  { forgery: 'exp long past', token: () => signed({ alg: 'RS256' }, { ...life, exp: 1 }) },
  {
    forgery: 'exp where the tolerance ends',
    token: () => signed({ alg: 'RS256' }, { ...life, exp: noonSeconds - 5 }),
  },
  {
    forgery: 'exp as text',
    token: () => signed({ alg: 'RS256' }, { ...life, exp: String(life.exp) }),
  },
  { forgery: 'exp null', token: () => signed({ alg: 'RS256' }, { ...life, exp: null }) },
  { forgery: 'exp as a list', token: () => signed({ alg: 'RS256' }, { ...life, exp: [life.exp] }) },
  { forgery: 'exp without end', token: () => signed({ alg: 'RS256' }, '{"sub":"7","exp":1e999}') },
  { forgery: 'exp negative', token: () => signed({ alg: 'RS256' }, { ...life, exp: -life.exp }) },
  {
    forgery: 'nbf ahead',
    token: () => signed({ alg: 'RS256' }, { ...life, nbf: noonSeconds + 6 }),
  },
  { forgery: 'nbf as text', token: () => signed({ alg: 'RS256' }, { ...life, nbf: '1' }) },
  {
    forgery: 'iat ahead',
    token: () => signed({ alg: 'RS256' }, { ...life, iat: noonSeconds + 6 }),
  },
  { forgery: 'iat as text', token: () => signed({ alg: 'RS256' }, { ...life, iat: 'now' }) },
  {
    forgery: 'an embedded jwk',
    token: () => signed({ alg: 'RS256', jwk: jwkOf(other) }, life, other.privateKey),
  },
  {
    forgery: 'a jku',
    token: () => signed({ alg: 'RS256', jku: 'http://127.0.0.1:1/keys' }, life, other.privateKey),
  },
  {
    forgery: 'an x5u',
    token: () => signed({ alg: 'RS256', x5u: 'http://127.0.0.1:1/cert' }, life, other.privateKey),
  },
  {
    forgery: 'an x5c',
    token: () => signed({ alg: 'RS256', x5c: ['AAAA'] }, life, other.privateKey),
  },
  { forgery: 'an unknown crit', token: () => signed({ alg: 'RS256', crit: ['exp2'], exp2: 1 }) },
  { forgery: 'an empty crit', token: () => signed({ alg: 'RS256', crit: [] }) },
  {
    forgery: 'an unencoded payload by crit',
    token: () => signed({ alg: 'RS256', crit: ['b64'], b64: false }),
  },
  { forgery: 'a kid as a path', token: () => signed({ alg: 'RS256', kid: '../../../dev/null' }) },
  { forgery: 'a kid with quotes', token: () => signed({ alg: 'RS256', kid: `x' OR '1'='1` }) },
  { forgery: 'a kid with NUL', token: () => signed({ alg: 'RS256', kid: 'x\0y' }) },
  { forgery: 'a kid that is not text', token: () => signed({ alg: 'RS256', kid: 7 }) },
  {
    forgery: 'a kid named __proto__, by another key',
    token: () => signed({ alg: 'RS256', kid: '__proto__' }, life, other.privateKey),
  },
  { forgery: 'a megabyte', token: () => signed({ alg: 'RS256' }, { ...life, x: 'x'.repeat(1e6) }) },
  {
    forgery: 'just over 8 KiB',
    token: () => signed({ alg: 'RS256' }, { ...life, x: 'x'.repeat(6000) }),
  },
  { forgery: 'letters beyond ASCII', token: () => withPart(1, (part) => `${part}ä`) },
  { forgery: 'a line break', token: () => withPart(1, (part) => `${part}\n`) },
]

const keyForgeries: { forgery: string; token: () => string }[] = [
  { forgery: "the key's beginning", token: () => apiKey.slice(0, -1) },
  { forgery: 'the key and more', token: () => `${apiKey}0` },
  { forgery: 'the key in upper case', token: () => apiKey.toUpperCase() },
  { forgery: 'another key of the same length', token: () => apiKey.replace('0', '1') },
  { forgery: 'the key twice', token: () => apiKey + apiKey },
]

const headerForgeries: { forgery: string; authorization: () => string | undefined }[] = [
  { forgery: 'no Authorization', authorization: () => undefined },
  { forgery: 'an empty Authorization', authorization: () => '' },
  { forgery: 'Bearer alone', authorization: () => 'Bearer' },
  { forgery: 'Bearer and a blank', authorization: () => 'Bearer ' },
  { forgery: 'the bare key', authorization: () => apiKey },
  { forgery: 'the bare token', authorization: () => good() },
  {
    forgery: 'Basic',
    authorization: () => `Basic ${Buffer.from(`x:${apiKey}`).toString('base64')}`,
  },
  { forgery: 'Basic with the key', authorization: () => `Basic ${apiKey}` },
  { forgery: 'Token', authorization: () => `Token ${good()}` },
  { forgery: 'a tab', authorization: () => `Bearer\t${good()}` },
  { forgery: 'a blank before', authorization: () => ` Bearer ${good()}` },
  { forgery: 'trailing spaces behind a token', authorization: () => `Bearer ${good()}  ` },
  { forgery: 'trailing spaces behind the key', authorization: () => `Bearer ${apiKey}  ` },
  { forgery: 'no blank', authorization: () => `Bearer${good()}` },
  { forgery: 'Bearer=', authorization: () => `Bearer=${good()}` },
  { forgery: 'quotes', authorization: () => `Bearer "${good()}"` },
  { forgery: 'two credentials joined', authorization: () => `Bearer ${good()}, Bearer ${good()}` },
]

async function expectRefusal(authorization: string | undefined, by = gate): Promise<void> {
  log.lines.length = 0
  const request = makeRequest(authorization === undefined ? {} : { authorization })
  const { status, message, headers, errors } = await failureOf(() => by.admit(request, tokenAccess))
  expect({ status, message, headers, errors }).toEqual({
    status: 401,
    message: 'Unauthorized',
    headers: { 'WWW-Authenticate': 'Bearer' },
    errors: undefined,
  })
  expect({ user: request.user, auth: request.auth }).toEqual({ user: null, auth: undefined })
  expect(log.lines.filter((line) => line.startsWith('error'))).toEqual([])
}

describe('the gate', () => {
  it('accepts the token and the key that the forgeries are made from', async () => {
    for (const credential of [good(), apiKey]) {
      const request = makeRequest({ authorization: `Bearer ${credential}` })
      await gate.admit(request, tokenAccess)
      expect(request.auth?.by).toBe(credential === apiKey ? 'key' : 'token')
    }
  })

  it.each(forgeries)('returns 401 for $forgery', async ({ token }) => {
    await expectRefusal(`Bearer ${token()}`)
  })

  it.each(keyForgeries)('returns 401 for $forgery', async ({ token }) => {
    await expectRefusal(`Bearer ${token()}`)
  })

  it.each(headerForgeries)('returns 401 for $forgery', async ({ authorization }) => {
    await expectRefusal(authorization())
  })

  it('returns 401 for forgeries after the good token was cached, too', async () => {
    await gate.admit(makeRequest({ authorization: `Bearer ${good()}` }), tokenAccess)
    await expectRefusal(`Bearer ${withPart(2, replaceFirstLetter)}`)
    await expectRefusal(`Bearer ${withPart(2, unusedBits)}`)
  })

  it.each([undefined, '', '   ', '\t\n'])(
    'accepts no credentials for the static key %j',
    async (blank) => {
      const closed = makeGate(makeAuth({ origin: givenKeys(pair), now: () => noon }), {
        apiKey: blank,
      })
      for (const text of ['', ' ', '   ', '\t\n', 'undefined', 'null']) {
        await expectRefusal(`Bearer ${text}`, closed)
      }
      await expectRefusal(undefined, closed)
    },
  )
})
