import { describe, expect, it } from '@jest/globals'
import { VerifiedTokens } from '../../src/auth/verified-tokens.js'

const fill = (tokens: VerifiedTokens, from: number, to: number): void => {
  for (let number = from; number < to; number++) {
    tokens.add(`e${number}`, { sub: String(number) }, 1000)
  }
}

describe('VerifiedTokens', () => {
  it('holds at most its limit, 10,000 by default', () => {
    const small = new VerifiedTokens(3)
    fill(small, 0, 100)
    expect(small.size).toBe(3)
    const usual = new VerifiedTokens()
    fill(usual, 0, 10_050)
    expect(usual.size).toBe(10_000)
  })

  it('keeps recently used tokens', () => {
    const tokens = new VerifiedTokens(3)
    fill(tokens, 0, 3)
    expect(tokens.find('e0', 0)?.sub).toBe('0')
    fill(tokens, 3, 5)
    expect(tokens.find('e0', 0)?.sub).toBe('0')
    expect(tokens.find('e1', 0)).toBeUndefined()
    expect(tokens.find('e2', 0)).toBeUndefined()
  })

  it('makes room when all tokens were used recently', () => {
    const tokens = new VerifiedTokens(3)
    fill(tokens, 0, 3)
    for (const token of ['e0', 'e1', 'e2']) tokens.find(token, 0)
    fill(tokens, 3, 4)
    expect(tokens.size).toBe(3)
    expect(tokens.find('e3', 0)?.sub).toBe('3')
    expect(tokens.find('e0', 0)).toBeUndefined()
  })

  it('removes expired tokens, tokens by their claims, and all tokens', () => {
    const tokens = new VerifiedTokens()
    tokens.add('e1', { jti: 'a' }, 1000)
    tokens.add('e2', { jti: 'a' }, 1000)
    tokens.add('e3', { jti: 'b' }, 1000)
    expect(tokens.find('e1', 999)).toBeDefined()
    expect(tokens.find('e1', 1000)).toBeUndefined()
    tokens.forget(({ jti }) => jti === 'a')
    expect(tokens.size).toBe(1)
    tokens.clear()
    expect(tokens.size).toBe(0)
  })
})
