/** Filigree and jsonwebtoken accept each other's tokens. */
import { beforeAll, describe, expect, it } from '@jest/globals'
import jsonwebtoken from 'jsonwebtoken'
import { makePair, type Pair } from '../auth/key-pair.js'
import { authFrom } from '../auth/fixtures.js'

let pair: Pair

beforeAll(() => {
  pair = makePair()
})

describe('jsonwebtoken', () => {
  it('makes tokens that are accepted where our public key is configured', async () => {
    const token = jsonwebtoken.sign({ sub: '7', roles: ['admin'] }, pair.privatePem, {
      algorithm: 'RS256',
      expiresIn: '5m',
      keyid: 'made-elsewhere',
    })
    const auth = authFrom({ APP_PUBLIC_KEY: pair.publicPem })
    expect(await auth.verify(token)).toMatchObject({ sub: '7', roles: ['admin'] })
  })

  it('accepts our tokens', async () => {
    const auth = authFrom({ APP_PRIVATE_KEY: pair.privatePem })
    const token = await auth.getToken({ sub: '7' }, { audience: 'web', issuer: 'shop' })
    const options = { algorithms: ['RS256' as const], audience: 'web', issuer: 'shop' }
    expect(jsonwebtoken.verify(token, pair.publicPem, options)).toMatchObject({ sub: '7' })
  })
})
