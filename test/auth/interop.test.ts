/** Filigree and jsonwebtoken accept each other's tokens. */
import type { Problem } from '../../src/index.js'
import { beforeAll, describe, expect, it } from '@jest/globals'
import jsonwebtoken from 'jsonwebtoken'
import { resolveAuthOptions } from '../../src/auth/options.js'
import { makeAuth } from './fixtures.js'
import { makePair, type Pair } from './key-pair.js'

let pair: Pair

beforeAll(() => {
  pair = makePair()
})

const authWith = (environment: Record<string, string>) => {
  const problems: Problem[] = []
  const { keys } = resolveAuthOptions({}, environment, problems)
  expect(problems).toEqual([])
  return makeAuth({ origin: keys, now: Date.now })
}

describe('jsonwebtoken', () => {
  it('makes tokens that are accepted where our public key is configured', async () => {
    const token = jsonwebtoken.sign({ sub: '7', roles: ['admin'] }, pair.privatePem, {
      algorithm: 'RS256',
      expiresIn: '5m',
      keyid: 'made-elsewhere',
    })
    const auth = authWith({ APP_PUBLIC_KEY: pair.publicPem })
    expect(await auth.verify(token)).toMatchObject({ sub: '7', roles: ['admin'] })
  })

  it('accepts our tokens', async () => {
    const auth = authWith({ APP_PRIVATE_KEY: pair.privatePem })
    const token = await auth.getToken({ sub: '7' }, { audience: 'web', issuer: 'shop' })
    const options = { algorithms: ['RS256' as const], audience: 'web', issuer: 'shop' }
    expect(jsonwebtoken.verify(token, pair.publicPem, options)).toMatchObject({ sub: '7' })
  })
})
