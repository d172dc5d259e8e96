import { beforeAll, describe, expect, it } from '@jest/globals'
import type { Guard, Auth } from '../../src/index.js'
import {
  bearer,
  failureOf,
  givenKeys,
  makeAuth,
  makeGate,
  makeLog,
  makeRequest,
  noon,
  openAccess,
  ReceivedBody,
  tokenAccess,
  type Gate,
} from './fixtures.js'
import { makePair, type Pair } from './key-pair.js'

const apiKey = 'a-static-key-0123456789'
let pair: Pair
let auth: Auth
let gate: Gate
let token: string

beforeAll(async () => {
  pair = makePair()
  auth = makeAuth({ origin: givenKeys(pair), now: () => noon })
  gate = makeGate(auth, { apiKey })
  token = await auth.getToken({ sub: '7', roles: ['editor'] })
})

const withGuard = (guard: Guard) => ({ ...tokenAccess, guard })

describe('Gate.admit', () => {
  it('verifies nothing on an open route, and trusts no credentials there', () => {
    const request = bearer(token)
    expect(gate.admit(request, openAccess)).toBeUndefined()
    expect(request.user).toBeNull()
    expect(request.auth).toBeUndefined()
  })

  it('gives the claims of a token to the handler', async () => {
    const request = bearer(token)
    await gate.admit(request, tokenAccess)
    expect(request.user).toMatchObject({ sub: '7', roles: ['editor'] })
    expect(request.auth).toEqual({ by: 'token', claims: request.user })
  })

  it('returns without a promise for a token that was verified before', async () => {
    await gate.admit(bearer(token), tokenAccess)
    const request = bearer(token)
    expect(gate.admit(request, tokenAccess)).toBeUndefined()
    expect(request.user?.sub).toBe('7')
  })

  it('returns without a promise for the static key, which has no user and every role', () => {
    const request = bearer(apiKey)
    expect(gate.admit(request, { ...tokenAccess, roles: ['a', 'b'], all: true })).toBeUndefined()
    expect(request.user).toBeNull()
    expect(request.auth).toEqual({ by: 'key', claims: null })
  })

  it('trims the static key', () => {
    const trimming = makeGate(auth, { apiKey: `  ${apiKey}\n` })
    expect(trimming.admit(bearer(apiKey), tokenAccess)).toBeUndefined()
  })

  it('warns about a static key that can be guessed, without logging it', () => {
    const log = makeLog()
    makeGate(auth, { apiKey: 'short', log })
    makeGate(auth, { apiKey, log })
    expect(log.lines).toHaveLength(1)
    expect(log.lines[0]).toMatch(/^warn APP_API_KEY is short/)
  })

  it('returns 403 without the role, with the caller known', async () => {
    const request = bearer(token)
    const error = await failureOf(() => gate.admit(request, { ...tokenAccess, roles: ['admin'] }))
    expect(error).toMatchObject({ status: 403, message: 'Forbidden', code: 'FORBIDDEN' })
    expect(request.auth?.by).toBe('token')
  })

  it.each([
    { guardResult: true, status: 200 },
    { guardResult: Promise.resolve(true), status: 200 },
    { guardResult: false, status: 403 },
    { guardResult: Promise.resolve(false), status: 403 },
    { guardResult: undefined, status: 403 },
    { guardResult: 'yes', status: 403 },
    { guardResult: 1, status: 403 },
    { guardResult: Promise.resolve('yes'), status: 403 },
  ])(
    'ends with $status when a guard returns $guardResult',
    async ({ guardResult: answer, status }) => {
      const run = async (): Promise<void> => {
        await gate.admit(
          bearer(token),
          withGuard(() => answer as boolean),
        )
      }
      if (status === 200) await expect(run()).resolves.toBeUndefined()
      else expect((await failureOf(run)).status).toBe(status)
    },
  )

  it('stays synchronous for a synchronous guard', async () => {
    await gate.admit(bearer(token), tokenAccess)
    expect(
      gate.admit(
        bearer(token),
        withGuard(() => true),
      ),
    ).toBeUndefined()
  })

  it('calls the guard with claims and request, and with null for the static key', async () => {
    const guardCalls: unknown[] = []
    const rule = withGuard((claims, request) => {
      guardCalls.push(claims?.sub ?? claims, request.path)
      return claims !== null
    })
    await gate.admit(bearer(token), rule)
    expect((await failureOf(() => gate.admit(bearer(apiKey), rule))).status).toBe(403)
    expect(guardCalls).toEqual(['7', '/items', null, '/items'])
  })

  it('does not call the guard without a token', async () => {
    let isCalled = false
    const rule = withGuard(() => (isCalled = true))
    expect((await failureOf(() => gate.admit(makeRequest(), rule))).status).toBe(401)
    expect(isCalled).toBe(false)
  })

  it('passes on an error thrown by a guard', async () => {
    const rule = withGuard(() => {
      throw new RangeError('out of hours')
    })
    await expect(async () => gate.admit(bearer(token), rule)).rejects.toThrow('out of hours')
  })
})

describe('the scheme', () => {
  const admit = async (authorization: string) => {
    const request = makeRequest({ authorization })
    await gate.admit(request, tokenAccess)
    return request.auth?.by
  }

  it.each(['Bearer ', 'bearer ', 'BEARER ', 'bEaReR ', 'Bearer  ', 'bearer    '])(
    'is accepted as "%s"',
    async (scheme) => {
      expect(await admit(scheme + token)).toBe('token')
      expect(await admit(scheme + apiKey)).toBe('key')
    },
  )

  it.each(['Basic ', 'Bearer', 'Bearer\t', 'Bearers ', 'Token ', ''])(
    'is refused as "%s"',
    async (scheme) => {
      expect((await failureOf(() => admit(scheme + token))).status).toBe(401)
      expect((await failureOf(() => admit(scheme + apiKey))).status).toBe(401)
    },
  )
})

describe('formToken', () => {
  const withToken = (headers = {}, method = 'POST') => {
    const request = makeRequest(headers, { method })
    request.receivedBody = Object.assign(new ReceivedBody(), { formToken: token })
    return request
  }

  it('is not a credential unless the application enables it', async () => {
    expect(gate.needsBody(withToken())).toBe(false)
    expect((await failureOf(() => gate.admit(withToken(), tokenAccess))).status).toBe(401)
  })

  it('allows a write without Authorization where it is enabled', async () => {
    const gateWithFormToken = makeGate(auth, { formToken: true })
    const request = withToken()
    expect(gateWithFormToken.needsBody(request)).toBe(true)
    await gateWithFormToken.admit(request, tokenAccess)
    expect(request.user?.sub).toBe('7')
  })

  it('does not replace an invalid Authorization header', async () => {
    const gateWithFormToken = makeGate(auth, { formToken: true })
    const request = withToken({ authorization: 'Bearer nonsense' })
    expect(gateWithFormToken.needsBody(request)).toBe(false)
    expect((await failureOf(() => gateWithFormToken.admit(request, tokenAccess))).status).toBe(401)
  })

  it.each(['GET', 'HEAD'])('is not a credential of a %s', async (method) => {
    const gateWithFormToken = makeGate(auth, { formToken: true })
    const request = withToken({}, method)
    expect(gateWithFormToken.needsBody(request)).toBe(false)
    expect((await failureOf(() => gateWithFormToken.admit(request, tokenAccess))).status).toBe(401)
  })
})
