import type { Claims } from '../../src/index.js'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import {
  foreignToken,
  givenKeys,
  makeAuth,
  makeClock,
  makeLog,
  noon,
  noonSeconds,
  type AuthInput,
  createMemoryRevocations,
  toTrace,
  type Revocations,
  keysWithoutChecking,
} from './fixtures.js'
import { makePair, type Pair } from './key-pair.js'

let pair: Pair
let other: Pair

beforeAll(() => {
  pair = makePair()
  other = makePair()
})

const make = (settings: Partial<AuthInput> = {}) =>
  makeAuth({ origin: givenKeys(pair), now: () => noon, ...settings })

describe('Auth.getToken', () => {
  it('adds iat, exp in one hour, a random jti and the sign-in time, and does not change the payload', async () => {
    const payload = Object.freeze({ sub: '7', roles: Object.freeze(['admin']), shop: { id: 3 } })
    const auth = make()
    const claims = decodeJwt(await auth.getToken(payload))
    const nextClaims = decodeJwt(await auth.getToken(payload))
    expect(claims).toEqual({
      sub: '7',
      roles: ['admin'],
      shop: { id: 3 },
      iat: noonSeconds,
      exp: noonSeconds + 3600,
      jti: expect.stringMatching(/^[\da-f-]{36}$/),
      auth_time: noonSeconds,
    })
    expect(nextClaims.jti).not.toBe(claims.jti)
    expect(Object.keys(payload)).toEqual(['sub', 'roles', 'shop'])
  })

  it('names the algorithm and the key in the header', async () => {
    const header = decodeProtectedHeader(await make().getToken({}))
    expect(header).toEqual({ alg: 'RS256', typ: 'JWT', kid: givenKid(pair) })
  })

  it.each([
    { expiresIn: 90, seconds: 90 },
    { expiresIn: '90s', seconds: 90 },
    { expiresIn: '15m', seconds: 900 },
    { expiresIn: '1.5h', seconds: 5400 },
    { expiresIn: '7 d', seconds: 604_800 },
  ])('reads expiresIn $expiresIn as $seconds s', async ({ expiresIn, seconds }) => {
    const { exp } = decodeJwt(await make().getToken({}, { expiresIn }))
    expect(exp).toBe(noonSeconds + seconds)
  })

  it.each(['', 'soon', '1y', '-1h', 0, -5, NaN, Infinity])(
    'refuses expiresIn %j',
    async (expiresIn) => {
      await expect(make().getToken({}, { expiresIn })).rejects.toThrow(
        /^Auth\.getToken: expiresIn .* is not a length of time\. Use seconds/,
      )
    },
  )

  it('writes audience, issuer, subject and start', async () => {
    const options = { audience: ['a', 'b'], issuer: 'me', subject: '9', notBefore: '1m' }
    expect(decodeJwt(await make().getToken({ sub: '7' }, options))).toMatchObject({
      aud: ['a', 'b'],
      iss: 'me',
      sub: '9',
      nbf: noonSeconds + 60,
    })
  })

  it("writes the application's issuer, audience and lifetime by default", async () => {
    const auth = make({ issuer: 'shop', audience: 'web', expiresIn: 60 })
    const token = await auth.getToken({})
    expect(decodeJwt(token)).toMatchObject({ iss: 'shop', aud: 'web', exp: noonSeconds + 60 })
    expect(await auth.verify(token)).toMatchObject({ iss: 'shop' })
  })

  it("keeps the payload's own exp and jti, so that claims can be passed on", async () => {
    const payload = { exp: noonSeconds + 10, jti: 'mine', iat: 5 }
    expect(decodeJwt(await make().getToken(payload))).toMatchObject({
      exp: noonSeconds + 10,
      jti: 'mine',
      iat: noonSeconds,
    })
  })

  it.each([null, 'sub', 7, ['sub'], undefined])('refuses the payload %j', async (payload) => {
    await expect(make().getToken(payload as unknown as Claims)).rejects.toThrow(
      'Auth.getToken: the payload is not an object of claims. Pass an object such as { sub: "ada" }.',
    )
  })

  it('refuses a payload whose token would never be accepted', async () => {
    await expect(make().getToken({ x: 'x'.repeat(8000) })).rejects.toThrow(
      /^Auth\.getToken: the token has \d+ bytes, and at most 8192 are accepted\./,
    )
    await expect(make().getToken({ exp: 'never' as unknown as number })).rejects.toThrow(
      'Auth.getToken: exp is not a number of seconds since 1970. Correct it, or use expiresIn.',
    )
  })

  it('reports that the private key is missing where there is only a public key', async () => {
    const { public: keys } = givenKeys(pair) as Extract<AuthInput['origin'], { from: 'given' }>
    const auth = make({ origin: { from: 'given', private: undefined, public: keys } })
    await expect(auth.getToken({})).rejects.toThrow(
      'Auth.getToken: there is no private key, so tokens can only be verified. Set APP_PRIVATE_KEY.',
    )
    expect(await auth.verify(await make().getToken({ sub: '7' }))).toMatchObject({ sub: '7' })
  })
})

function givenKid(from: Pair): string {
  const origin = givenKeys(from)
  return origin.from === 'given' ? (origin.private?.kid ?? '') : ''
}

describe('Auth.verify', () => {
  it('returns null for a bad token and for a missing one', async () => {
    for (const bad of ['', 'x', 7, null, undefined, {}]) {
      expect(await make().verify(bad as string)).toBeNull()
    }
  })

  it.each([
    { exp: 1, good: true },
    { exp: 0, good: true },
    { exp: -4, good: true },
    { exp: -5, good: false },
  ])('accepts exp $exp s from now: $good', async ({ exp, good }) => {
    const token = foreignToken({ iat: noonSeconds - 60, exp: noonSeconds + exp }, pair.privateKey)
    expect((await make().verify(token)) !== null).toBe(good)
  })

  it.each([
    { claim: 'nbf', ahead: 5, good: true },
    { claim: 'nbf', ahead: 6, good: false },
    { claim: 'iat', ahead: 5, good: true },
    { claim: 'iat', ahead: 6, good: false },
  ])('accepts $claim $ahead s ahead: $good', async ({ claim, ahead, good }) => {
    const payload = { exp: noonSeconds + 60, [claim]: noonSeconds + ahead }
    expect((await make().verify(foreignToken(payload, pair.privateKey))) !== null).toBe(good)
  })

  it.each([
    { wants: { issuer: 'a' }, has: { iss: 'a' }, good: true },
    { wants: { issuer: 'a' }, has: { iss: 'b' }, good: false },
    { wants: { issuer: 'a' }, has: {}, good: false },
    { wants: { audience: 'a' }, has: { aud: 'a' }, good: true },
    { wants: { audience: 'a' }, has: { aud: ['b', 'a'] }, good: true },
    { wants: { audience: ['a', 'b'] }, has: { aud: 'b' }, good: true },
    { wants: { audience: 'a' }, has: { aud: 'ab' }, good: false },
    { wants: { audience: 'a' }, has: {}, good: false },
    { wants: {}, has: { iss: 'x' }, good: true },
    { wants: {}, has: { aud: 'y' }, good: false },
    { wants: {}, has: { aud: [] }, good: false },
    { wants: {}, has: { aud: null }, good: false },
    { wants: { audience: 'a' }, has: { aud: ['a', 7] }, good: false },
    { wants: { audience: 'a' }, has: { aud: { a: 'a' } }, good: false },
    { wants: {}, has: { sub: 7 }, good: false },
    { wants: {}, has: { sub: { ne: 'x' } }, good: false },
    { wants: {}, has: { sub: null }, good: false },
    { wants: {}, has: { iss: ['x'] }, good: false },
    { wants: { issuer: 'x' }, has: { iss: ['x'] }, good: false },
    { wants: {}, has: { jti: 7 }, good: false },
    { wants: {}, has: { jti: ['a'] }, good: false },
  ])('accepts $has where $wants is required: $good', async ({ wants, has, good }) => {
    const token = foreignToken({ ...has, exp: noonSeconds + 60 }, pair.privateKey)
    expect((await make(wants).verify(token)) !== null).toBe(good)
  })

  it('accepts a token with unknown key names, and ignores embedded keys', async () => {
    const payload = { sub: '7', exp: noonSeconds + 60 }
    const header = { alg: 'RS256', kid: 'issuer-2', jku: 'http://127.0.0.1:1/', x5t: 'AAAA' }
    expect(await make().verify(foreignToken(payload, pair.privateKey, { header }))).toMatchObject({
      sub: '7',
    })
  })

  it('accepts tokens of an older key, with and without a key name', async () => {
    const auth = make({ origin: givenKeys(pair, other) })
    const old = await makeAuth({ origin: givenKeys(other), now: () => noon }).getToken({ sub: 'o' })
    const bare = foreignToken({ sub: 'b', exp: noonSeconds + 60 }, other.privateKey)
    expect(await auth.verify(old)).toMatchObject({ sub: 'o' })
    expect(await auth.verify(bare)).toMatchObject({ sub: 'b' })
    expect(await make().verify(old)).toBeNull()
  })

  it('gives every caller the same claims object, which cannot be changed', async () => {
    const auth = make()
    const token = await auth.getToken({ roles: ['a'], shop: { id: 1 } })
    const claims = await auth.verify(token)
    expect(await auth.verify(token)).toBe(claims)
    expect(() => {
      ;(claims as { sub?: string }).sub = '1'
    }).toThrow(TypeError)
    expect(Object.isFrozen(claims?.roles)).toBe(true)
    expect(Object.isFrozen(claims?.shop)).toBe(true)
  })

  it('logs the reason without the token', async () => {
    const log = makeLog()
    await make({ log }).verify('a.b.c')
    expect(log.lines).toEqual(['debug a token was refused'])
  })

  it('returns null and logs where the keys are not available', async () => {
    const log = makeLog()
    const keys = keysWithoutChecking(log)
    expect(await make({ keys, log }).verify(await make().getToken({}))).toBeNull()
    expect(log.lines).toEqual(['error a token cannot be checked', 'debug a token was refused'])
  })
})

describe('Auth.remembered', () => {
  it('knows a token from its first verification until it expires', async () => {
    const now = makeClock()
    const auth = make({ now })
    const token = await auth.getToken({ sub: '7' }, { expiresIn: 60 })
    expect(auth.findCached(token)).toBeUndefined()
    const claims = await auth.verify(token)
    expect(auth.findCached(token)).toBe(claims)
    now.advance(64)
    expect(auth.findCached(token)).toBe(claims)
    now.advance(1)
    expect(auth.findCached(token)).toBeUndefined()
    expect(await auth.verify(token)).toBeNull()
  })

  it('does not know a refused token', async () => {
    const auth = make()
    const token = foreignToken({ exp: noonSeconds + 60 }, other.privateKey)
    expect(await auth.verify(token)).toBeNull()
    expect(auth.findCached(token)).toBeUndefined()
  })
})

describe('Auth.revoke', () => {
  it('revokes a token immediately and permanently', async () => {
    const now = makeClock()
    const auth = make({ now })
    const token = await auth.getToken({ jti: 'one' }, { expiresIn: '30d' })
    const second = await auth.getToken({ jti: 'two' }, { expiresIn: '30d' })
    await auth.verify(token)
    await auth.verify(second)
    await auth.revoke('one')
    expect(auth.findCached(token)).toBeUndefined()
    expect(await auth.verify(token)).toBeNull()
    expect(auth.findCached(second)).toBeDefined()
    now.advance(29 * 86_400)
    expect(await auth.verify(token)).toBeNull()
  })

  it('works for a token that was never seen', async () => {
    const auth = make()
    await auth.revoke('one')
    expect(await auth.verify(await auth.getToken({ jti: 'one' }))).toBeNull()
  })

  it.each([
    { when: 'then', rotate: 'never', life: 60 },
    { when: 'with what rotation may have made of it', rotate: 'half-life', life: 12 * 3600 },
    { when: 'with what it may have made each time', rotate: 'always', life: 12 * 3600 },
  ] as const)(
    'may be deleted once no such token is valid: $when, $rotate',
    async ({ rotate, life }) => {
      const now = makeClock()
      const revocations = createMemoryRevocations(now)
      const has = (jti: string) => revocations.has(toTrace({ jti }), now())
      const auth = make({ now, revocations, rotate })
      await auth.revoke('one', noonSeconds + 60)
      await auth.revoke('two', new Date(noon + 60_000))
      expect(has('one')).toBe(true)
      now.advance(life + 4)
      expect([has('one'), has('two')]).toEqual([true, true])
      now.advance(1)
      expect([has('one'), has('two')]).toEqual([false, false])
    },
  )

  it('does not shorten an existing longer revocation', async () => {
    const now = makeClock()
    const revocations = createMemoryRevocations(now)
    const has = (jti: string) => revocations.has(toTrace({ jti }), now())
    const auth = make({ now, revocations })
    await auth.revoke('one')
    await auth.revoke('one', noonSeconds + 1)
    now.advance(3600)
    expect(has('one')).toBe(true)
  })

  it.each([undefined, '', 7])('refuses the jti %j', async (jti) => {
    await expect(make().revoke(jti as string)).rejects.toThrow(
      'Auth.revoke: jti is not text. Pass the claim `jti` of the token.',
    )
  })

  it('refuses an end that is not a date', async () => {
    await expect(make().revoke('one', new Date('never'))).rejects.toThrow(
      'Auth.revoke: until is not a date. Pass a Date, or seconds since 1970.',
    )
  })

  it('queries a shared store again as often as the store requires', async () => {
    const now = makeClock()
    const shared = new Set<string>()
    const revocations: Revocations = {
      ...createMemoryRevocations(),
      has: async ({ name }) => shared.has(name),
      trustFor: 10_000,
    }
    const auth = make({ now, revocations })
    const token = await auth.getToken({ jti: 'one' })
    await auth.verify(token)
    shared.add('one')
    expect(auth.findCached(token)).toBeDefined()
    now.advance(10)
    expect(auth.findCached(token)).toBeUndefined()
    expect(await auth.verify(token)).toBeNull()
  })

  it('is not overwritten by a check that was already running', async () => {
    const resolvers: ((revoked: boolean) => void)[] = []
    const revocations: Revocations = {
      ...createMemoryRevocations(),
      has: () => new Promise((resolve) => resolvers.push(resolve)),
    }
    const untilQueried = async (): Promise<void> => {
      while (resolvers.length === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    const auth = make({ revocations })
    const token = await auth.getToken({ jti: 'one' })
    const checking = auth.verify(token)
    await untilQueried()
    await auth.revoke('one')
    resolvers[0]?.(false)
    await checking
    expect(auth.findCached(token)).toBeUndefined()
  })
})

describe('concurrent calls of Auth.revoke', () => {
  it('report which call was first', async () => {
    const auth = make()
    const resolvers = await Promise.all([
      auth.revoke('one'),
      auth.revoke('one'),
      auth.revoke('one'),
    ])
    expect(resolvers.filter((first) => first)).toHaveLength(1)
  })

  it.each(['a\0b', '\ud800', 'x'.repeat(300)])(
    'accepts a jti that no database can store',
    async (jti) => {
      const auth = make()
      const token = await auth.getToken({ jti, sub: 'x\0' })
      await auth.revoke(jti)
      expect(await auth.verify(token)).toBeNull()
    },
  )
})

describe('Auth.revokeAll', () => {
  it('revokes every token of the subject issued until now, and no other', async () => {
    const now = makeClock()
    const auth = make({ now })
    const tokens = [await auth.getToken({ sub: '7' }), await auth.getToken({ sub: '7' })]
    const other = await auth.getToken({ sub: '8' })
    const unnamed = await auth.getToken({})
    for (const token of [...tokens, other, unnamed]) await auth.verify(token)
    now.advance(2)
    await auth.revokeAll('7')
    for (const token of tokens) {
      expect(auth.findCached(token)).toBeUndefined()
      expect(await auth.verify(token)).toBeNull()
    }
    expect(await auth.verify(other)).not.toBeNull()
    expect(await auth.verify(unnamed)).not.toBeNull()
  })

  it('accepts a sign-in more than a second later', async () => {
    const now = makeClock()
    const auth = make({ now })
    now.advance(0.6)
    await auth.revokeAll('7')
    expect(await auth.verify(await auth.getToken({ sub: '7' }))).toBeNull()
    now.advance(1.001)
    expect(await auth.verify(await auth.getToken({ sub: '7' }))).toMatchObject({ sub: '7' })
  })

  it('includes later tokens made by rotation', async () => {
    const now = makeClock()
    const auth = make({ now })
    const claims = await auth.verify(await auth.getToken({ sub: '7' }))
    now.advance(3000)
    const before = await auth.renew(claims ?? {})
    now.advance(1)
    await auth.revokeAll('7')
    now.advance(10)
    expect(await auth.verify(before ?? '')).toBeNull()
    expect(await auth.renew(claims ?? {})).toBeUndefined()
    // Like another process that has not read the revocation yet.
    const renewed = await make({ now }).renew(claims ?? {})
    expect(renewed).toEqual(expect.any(String))
    expect(await auth.verify(renewed ?? '')).toBeNull()
  })

  it('treats a token without iat as issued earlier', async () => {
    const auth = make()
    await auth.revokeAll('7')
    const token = foreignToken({ sub: '7', exp: noonSeconds + 60 }, pair.privateKey, {
      noTimestamp: true,
    })
    expect(await auth.verify(token)).toBeNull()
  })

  it.each([undefined, '', 7])('refuses the subject %j', async (sub) => {
    await expect(make().revokeAll(sub as string)).rejects.toThrow(
      'Auth.revokeAll: sub is not text. Pass the claim `sub` of the token.',
    )
  })
})

describe('a revocation store that does not respond', () => {
  const failing: Revocations = {
    ...createMemoryRevocations(),
    has: () => Promise.reject(new Error('connection lost')),
    add: () => {
      throw new Error('connection lost')
    },
    addSubject: () => Promise.reject(new Error('connection lost')),
  }
  const unavailable = {
    status: 503,
    code: 'DATABASE_UNAVAILABLE',
    headers: { 'retry-after': '1' },
  }

  it('leads to 503 instead of null', async () => {
    const auth = make({ revocations: failing })
    const token = await auth.getToken({ sub: '7' })
    await expect(auth.verify(token)).rejects.toMatchObject(unavailable)
    await expect(auth.revoke('one')).rejects.toMatchObject(unavailable)
    await expect(auth.revokeAll('7')).rejects.toMatchObject(unavailable)
  })

  it('is not queried for a token that is invalid anyway', async () => {
    expect(await make({ revocations: failing }).verify('nonsense')).toBeNull()
  })
})

describe('Auth.verify with its own audience', () => {
  it('accepts tokens for that audience, which are refused elsewhere', async () => {
    for (const settings of [{}, { audience: 'shop' }]) {
      const auth = make(settings)
      const token = await auth.getToken({ sub: '7' }, { audience: 'refresh' })
      expect(await auth.verify(token, { audience: 'refresh' })).toMatchObject({ sub: '7' })
      expect(auth.findCached(token)).toBeUndefined()
      expect(await auth.verify(token)).toBeNull()
      const access = await auth.getToken({ sub: '7' })
      expect(await auth.verify(access)).not.toBeNull()
      expect(await auth.verify(access, { audience: 'refresh' })).toBeNull()
    }
  })
})

describe('Auth.watch', () => {
  it('ends a subscription when its token is revoked, and no other', async () => {
    const auth = make()
    const ended: string[] = []
    const watch = (name: string, claims: Claims) => auth.watch(claims, () => ended.push(name))
    watch('one', { jti: '1', sub: '7' })
    watch('two', { jti: '2', sub: '7' })
    watch('three', { jti: '3', sub: '8' })
    watch('left', { jti: '1', sub: '7' })()
    await auth.revoke('1')
    expect(ended).toEqual(['one'])
    await auth.revokeAll('7')
    await auth.revokeAll('7')
    expect(ended).toEqual(['one', 'two'])
  })

  it('ends immediately where the token had been revoked before the call', async () => {
    const auth = make()
    await auth.revoke('1')
    await new Promise<void>((resolve) => auth.watch({ jti: '1' }, resolve))
  })
})
