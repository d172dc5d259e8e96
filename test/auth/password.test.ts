import { scryptSync } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { hashPassword, verifyPassword } from 'filigree'
import { cheapHash } from './cheap-hash.js'

describe('hashPassword', () => {
  it('writes scrypt, its parameters, a salt of 128 and a hash of 256 bits', async () => {
    const storedHash = await hashPassword('analytical')
    const [, name, parameters, salt = '', hash = ''] = storedHash.split('$')
    expect([name, parameters]).toEqual(['scrypt', 'ln=14,r=8,p=5'])
    expect([salt.length, hash.length, storedHash.length]).toEqual([22, 43, 88])
    const options = { N: 2 ** 14, r: 8, p: 5, maxmem: 64 * 1024 * 1024 }
    const expectedHash = scryptSync('analytical', Buffer.from(salt, 'base64'), 32, options)
    expect(Buffer.from(hash, 'base64').equals(expectedHash)).toBe(true)
  })

  it('returns a different text each time, and both verify', async () => {
    const [one, two] = await Promise.all([hashPassword('analytical'), hashPassword('analytical')])
    expect(one).not.toBe(two)
    expect(await verifyPassword('analytical', one)).toBe(true)
    expect(await verifyPassword('analytical', two)).toBe(true)
  })

  it('does not block the main thread', async () => {
    const order: string[] = []
    const hashing = hashPassword('analytical').then(() => order.push('hashed'))
    await new Promise((resolve) => setImmediate(resolve))
    order.push('free')
    await hashing
    expect(order).toEqual(['free', 'hashed'])
  })

  it.each(['', undefined, null, 7, ['a']])('refuses %j', async (password) => {
    await expect(hashPassword(password as string)).rejects.toThrow(
      'hashPassword: the password is not text, or is empty. Check it first.',
    )
  })
})

describe('verifyPassword', () => {
  it('checks a password of 200,000 combining marks, which would take minutes to normalise', async () => {
    const password = `a${'\u0301\u0316'.repeat(100_000)}`
    expect(await verifyPassword(password, cheapHash(password))).toBe(true)
    expect(await verifyPassword(`${password}\u0316`, cheapHash(password))).toBe(false)
  })

  it('reads the parameters from the text', async () => {
    const storedHashes = [
      cheapHash('a'),
      cheapHash('a', { ln: 10, r: 8, p: 2 }),
      cheapHash('a', { bytes: 64 }),
    ]
    for (const text of storedHashes) {
      expect(await verifyPassword('a', text)).toBe(true)
      expect(await verifyPassword('b', text)).toBe(false)
    }
  })

  it('accepts a password in any Unicode composition, and no other password', async () => {
    const storedHash = await hashPassword('Caf\u00e9 🏺')
    expect(await verifyPassword('Cafe\u0301 🏺', storedHash)).toBe(true)
    expect(await verifyPassword('Cafe 🏺', storedHash)).toBe(false)
    expect(await verifyPassword('café 🏺', storedHash)).toBe(false)
  })

  it.each([
    '',
    'analytical',
    'scrypt$a$b',
    '$scrypt$ln=14,r=8,p=5$$',
    '$scrypt$ln=0,r=8,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    '$scrypt$ln=31,r=8,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    '$scrypt$ln=15,r=99,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    '$scrypt$ln=15,r=8,p=0$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    '$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy',
    `${cheapHash('analytical')}\n`,
    ` ${cheapHash('analytical')}`,
    null,
    undefined,
    7,
    { stored: true },
  ])('is false for %j, which is not a hash', async (stored) => {
    expect(await verifyPassword('analytical', stored as string)).toBe(false)
  })

  it.each([1, 2, 8, 20, 21])(
    'is false for a hash without its last %i characters',
    async (count) => {
      for (const stored of [cheapHash('a'), cheapHash('a', { bytes: 64 })]) {
        expect(await verifyPassword('a', stored)).toBe(true)
        expect(await verifyPassword('a', stored.slice(0, -count))).toBe(false)
      }
    },
  )

  it.each([undefined, null, 7, {}])('is false for the password %j', async (password) => {
    expect(await verifyPassword(password as string, cheapHash(''))).toBe(false)
  })
})
