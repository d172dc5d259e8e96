/** Source: decisions, Tokens. */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import type { Log, Auth, Renew, Claims } from '../../src/index.js'
import { silentLog } from '../silent-log.js'
import {
  addedHeader,
  bearer,
  failureOf,
  foreignToken,
  givenKeys,
  makeAuth,
  makeClock,
  makeGate,
  makeLog,
  noonSeconds,
  type AuthInput,
  type Clock,
  openAccess,
  tokenAccess,
  keysWithoutSigning,
  type ServerRequest,
} from './fixtures.js'
import { makePair, type Pair } from './key-pair.js'

const apiKey = 'a-static-key-0123456789'
const hour = 3600
let pair: Pair
let now: Clock

beforeAll(() => {
  pair = makePair()
})

function make(settings: Partial<AuthInput> = {}): Auth {
  now = makeClock()
  return makeAuth({ origin: givenKeys(pair), now, ...settings })
}

/** Sends a token through the gate. @returns the fresh token, if any */
async function rotate(
  auth: Auth,
  token: string,
  log: Log = silentLog,
): Promise<string | undefined> {
  const gate = makeGate(auth, { apiKey, log })
  const request = bearer(token)
  await gate.admit(request, tokenAccess)
  await gate.rotate(request)
  return addedHeader(request, 'FreshToken')
}

describe('rotation at half-life', () => {
  it.each([
    { age: 0, fresh: false },
    { age: hour / 2, fresh: false },
    { age: hour / 2 + 1, fresh: true },
    { age: hour - 1, fresh: true },
  ])('sends a fresh token after $age s of an hour: $fresh', async ({ age, fresh }) => {
    const auth = make()
    const token = await auth.getToken({ sub: '7' })
    now.advance(age)
    expect((await rotate(auth, token)) !== undefined).toBe(fresh)
  })

  it('keeps all claims including the jti, and the same lifetime', async () => {
    const auth = make({ issuer: 'shop', audience: 'web' })
    const token = await auth.getToken({ sub: '7', roles: ['a'], shop: { id: 3 } })
    now.advance(2000)
    const fresh = await rotate(auth, token)
    expect(decodeJwt(fresh!)).toEqual({
      ...decodeJwt(token),
      iat: noonSeconds + 2000,
      exp: noonSeconds + 2000 + hour,
    })
    expect(await auth.verify(fresh!)).toMatchObject({ sub: '7' })
    expect(await auth.verify(token)).toMatchObject({ sub: '7' })
  })

  it('sends the same fresh token until its own half-life, so it is signed once', async () => {
    const auth = make()
    const token = await auth.getToken({}, { expiresIn: '4h' })
    now.advance(2 * hour + 1)
    const first = await rotate(auth, token)
    now.advance(hour)
    expect(await rotate(auth, token)).toBe(first)
  })

  it('renews tokens until 12 h after the first sign-in, and not longer', async () => {
    const auth = make()
    let token = await auth.getToken({ sub: '7' })
    let signedFor = 0
    for (let step = 0; step < 40; step++) {
      now.advance(0.6 * hour)
      if ((await auth.verify(token)) === null) break
      const fresh = await rotate(auth, token)
      signedFor = (now() / 1000 - noonSeconds) / hour
      if (fresh === undefined) continue
      token = fresh
      expect(decodeJwt(token).auth_time).toBe(noonSeconds)
    }
    expect(decodeJwt(token).exp).toBe(noonSeconds + 12 * hour)
    expect(signedFor).toBeGreaterThan(11)
    expect(signedFor).toBeLessThan(12.1)
  })

  it('does not rotate a token that lives longer than rotation allows', async () => {
    const auth = make()
    const token = await auth.getToken({}, { expiresIn: '20h' })
    now.advance(11 * hour)
    expect(await rotate(auth, token)).toBeUndefined()
  })
})

describe('rotation of tokens from another issuer', () => {
  it('counts the 12 h from iat', async () => {
    const auth = make()
    const token = foreignToken({ exp: noonSeconds + 10 * hour }, pair.privateKey)
    now.advance(6 * hour)
    const fresh = decodeJwt((await rotate(auth, token))!)
    expect(fresh).toMatchObject({ auth_time: noonSeconds, exp: noonSeconds + 12 * hour })
  })

  it('ignores a sign-in time after iat', async () => {
    const auth = make()
    const payload = { exp: noonSeconds + 10 * hour, auth_time: noonSeconds + 99 * hour }
    now.advance(6 * hour)
    const fresh = await rotate(auth, foreignToken(payload, pair.privateKey))
    expect(decodeJwt(fresh!)).toMatchObject({ exp: noonSeconds + 12 * hour })
  })

  it('sends no token where the issue time is unknown', async () => {
    const auth = make({ rotate: 'always' })
    const token = foreignToken({ exp: noonSeconds + hour }, pair.privateKey, {
      noTimestamp: true,
    })
    now.advance(hour - 10)
    expect(await rotate(auth, token)).toBeUndefined()
  })

  it('sends no token where tokens are only verified', async () => {
    const origin = givenKeys(pair)
    if (origin.from !== 'given') throw new Error('unreachable')
    const auth = make({ origin: { ...origin, private: undefined }, rotate: 'always' })
    const token = foreignToken({ exp: noonSeconds + hour }, pair.privateKey)
    expect(await rotate(auth, token)).toBeUndefined()
  })
})

describe('auth.rotate', () => {
  it("sends a fresh token with every response for 'always'", async () => {
    const auth = make({ rotate: 'always' })
    const token = await auth.getToken({})
    now.advance(1)
    const first = await rotate(auth, token)
    now.advance(1)
    const second = await rotate(auth, token)
    expect(decodeJwt(first!).iat).toBe(noonSeconds + 1)
    expect(decodeJwt(second!).iat).toBe(noonSeconds + 2)
  })

  it("sends a fresh token with 'always' in the same second as the sign-in", async () => {
    const auth = make({ rotate: 'always' })
    expect(await rotate(auth, await auth.getToken({}))).toBeDefined()
  })

  it("sends no token for 'never'", async () => {
    const auth = make({ rotate: 'never' })
    const token = await auth.getToken({})
    now.advance(hour - 1)
    expect(await rotate(auth, token)).toBeUndefined()
  })
})

describe('callers without a fresh token', () => {
  const after = async (auth: Auth, request: ServerRequest, open = false) => {
    const gate = makeGate(auth, { apiKey })
    await gate.admit(request, open ? openAccess : tokenAccess)
    await gate.rotate(request)
    return request.response.headers
  }

  it('use the static key', async () => {
    expect(await after(make({ rotate: 'always' }), bearer(apiKey))).toBeUndefined()
  })

  it('call a public route', async () => {
    const auth = make({ rotate: 'always' })
    const token = await auth.getToken({})
    expect(await after(auth, bearer(token), true)).toBeUndefined()
  })

  it('have a token that the handler has just revoked', async () => {
    const auth = make({ rotate: 'always' })
    const token = await auth.getToken({ jti: 'one' })
    const gate = makeGate(auth)
    const request = bearer(token)
    await gate.admit(request, tokenAccess)
    await auth.revoke('one')
    await gate.rotate(request)
    expect(request.response.headers).toBeUndefined()
  })

  it('have a token made by rotation of a token that was revoked until it expires', async () => {
    const auth = make()
    const token = await auth.getToken({ sub: '7' })
    const { jti = '', exp } = decodeJwt(token)
    now.advance(3000)
    const fresh = (await rotate(auth, token)) ?? ''
    await auth.revoke(jti, exp)
    now.advance(1000)
    expect(now() / 1000).toBeGreaterThan((exp ?? 0) + 5)
    expect(await auth.verify(fresh)).toBeNull()
  })

  it('cannot use a fresh token of a revoked one', async () => {
    const auth = make({ rotate: 'always' })
    const token = await auth.getToken({ jti: 'one' })
    now.advance(1)
    const fresh = await rotate(auth, token)
    await auth.revoke('one')
    expect(await auth.verify(fresh!)).toBeNull()
  })
})

describe('Gate.rotate', () => {
  it('sends a token with 403 responses', async () => {
    const auth = make({ rotate: 'always' })
    const gate = makeGate(auth)
    const request = bearer(await auth.getToken({}))
    await failureOf(() => gate.admit(request, { ...tokenAccess, roles: ['admin'] }))
    await gate.rotate(request)
    expect(addedHeader(request, 'FreshToken')).toBeDefined()
  })

  it('returns without a promise where no rotation is due', async () => {
    const auth = make()
    const gate = makeGate(auth)
    const request = bearer(await auth.getToken({}))
    await gate.admit(request, tokenAccess)
    expect(gate.rotate(request)).toBeUndefined()
  })

  it('does not break the response when signing fails', async () => {
    const log = makeLog()
    const auth = make({ keys: keysWithoutSigning(pair), rotate: 'always' })
    const gate = makeGate(auth, { log })
    const request = bearer(foreignToken({ exp: noonSeconds + hour }, pair.privateKey))
    await gate.admit(request, tokenAccess)
    await gate.rotate(request)
    expect(request.response.headers).toBeUndefined()
    expect(log.lines).toEqual(['error a fresh token cannot be made'])
  })
})

describe('auth.renew', () => {
  const renewing = async (renew: Renew, settings: Partial<AuthInput> = {}) => {
    const auth = make({ renew, ...settings })
    const token = await auth.getToken({ sub: '7', roles: ['admin'], team: 3 })
    now.advance(3000)
    return { auth, token }
  }

  it('is called with the claims at each rotation, and its result becomes the claims of the fresh token', async () => {
    const renewCalls: Claims[] = []
    let roles = ['editor']
    const { auth, token } = await renewing(async (claims) => {
      renewCalls.push(claims)
      return { sub: claims.sub ?? '', roles }
    })
    const fresh = decodeJwt((await rotate(auth, token)) ?? '')
    const { jti, auth_time } = decodeJwt(token)
    const second = now() / 1000
    expect(fresh).toEqual({ sub: '7', roles, jti, auth_time, iat: second, exp: second + hour })
    roles = []
    expect(decodeJwt((await rotate(auth, token)) ?? '')).toMatchObject({ roles: [] })
    expect(renewCalls).toHaveLength(2)
    expect(renewCalls[0]).toMatchObject({ sub: '7', roles: ['admin'], team: 3 })
  })

  it('is not called where no rotation is due', async () => {
    let renewCount = 0
    const auth = make({ renew: (claims) => (renewCount++, claims) })
    expect(await rotate(auth, await auth.getToken({ sub: '7' }))).toBeUndefined()
    expect(renewCount).toBe(0)
  })

  it('cannot change jti, auth_time or the lifetime', async () => {
    const { auth, token } = await renewing((claims) => ({
      ...claims,
      jti: 'another',
      auth_time: 9e9,
      iat: 1,
      exp: 9e9,
    }))
    const { jti, auth_time } = decodeJwt(token)
    const second = now() / 1000
    expect(decodeJwt((await rotate(auth, token)) ?? '')).toMatchObject({
      jti,
      auth_time,
      iat: second,
      exp: second + hour,
    })
  })

  it('keeps subject, issuer and audience unless it returns others', async () => {
    const names = { issuer: 'https://shop.example', audience: ['shop', 'desk'] }
    const { auth, token } = await renewing(() => ({ roles: ['editor'] }), names)
    const fresh = (await rotate(auth, token)) ?? ''
    const { sub, iss, aud } = decodeJwt(token)
    expect(decodeJwt(fresh)).toMatchObject({ sub, iss, aud, roles: ['editor'] })
    expect(decodeJwt(fresh)).not.toHaveProperty('team')
    expect(await auth.verify(fresh)).toMatchObject({ sub: '7' })
    await auth.revokeAll('7')
    expect(await auth.verify(fresh)).toBeNull()
  })

  it('sends no token that is too long to be accepted', async () => {
    const log = makeLog()
    const { auth, token } = await renewing((claims) => ({ ...claims, all: 'x'.repeat(9000) }), {
      log,
    })
    expect(await rotate(auth, token, log)).toBeUndefined()
    expect(log.lines).toContain('error a fresh token cannot be made')
  })

  it('costs one signature while it returns the same claims', async () => {
    const { auth, token } = await renewing((claims) => ({ ...claims }))
    expect(await rotate(auth, token)).toBe(await rotate(auth, token))
  })

  it('ends the token with null, from the next request on, with all tokens made by rotation', async () => {
    let blocked = false
    const { auth, token } = await renewing(async (claims) => (blocked ? null : claims))
    const fresh = (await rotate(auth, token)) ?? ''
    blocked = true
    expect(await rotate(auth, token)).toBeUndefined()
    await expect(failureOf(() => rotate(auth, token))).resolves.toMatchObject({ status: 401 })
    await expect(failureOf(() => rotate(auth, fresh))).resolves.toMatchObject({ status: 401 })
  })

  it('ends a token without jti with null, too', async () => {
    const auth = make({ renew: () => null })
    const token = foreignToken({ sub: '7', exp: noonSeconds + 100 }, pair.privateKey)
    now.advance(60)
    expect(await rotate(auth, token)).toBeUndefined()
    await expect(failureOf(() => rotate(auth, token))).resolves.toMatchObject({ status: 401 })
  })

  const failures: { failure: string; renew: Renew }[] = [
    {
      failure: 'throws',
      renew: () => {
        throw new Error('users are gone')
      },
    },
    { failure: 'rejects', renew: () => Promise.reject(new Error('users are gone')) },
    { failure: 'gives undefined', renew: () => undefined as unknown as Claims },
    { failure: 'gives a list', renew: () => [] as unknown as Claims },
    { failure: 'gives text', renew: () => 'ok' as unknown as Claims },
  ]

  it.each(failures)(
    'sends no token and keeps the current one where it $failure',
    async ({ renew }) => {
      const log = makeLog()
      const { auth, token } = await renewing(renew, { log })
      expect(await rotate(auth, token)).toBeUndefined()
      expect(log.lines).toEqual(['error auth.renew failed, so no fresh token is sent'])
      expect(await auth.verify(token)).toMatchObject({ sub: '7' })
    },
  )
})
