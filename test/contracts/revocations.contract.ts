/** The behaviour that every store of revocations must have. Source: decisions, Tokens. */
import { describe, expect, it } from '@jest/globals'
import type { Revocations, TokenTrace } from '../../src/auth/revocations.js'

export interface OpenRevocations {
  /** Two views of one store, as two processes have them. The same object if the store serves one process. */
  readonly first: Revocations
  readonly second: Revocations
  readonly close: () => Promise<void>
}

/** @param open opens an empty store with the given clock */
export function describeRevocations(
  name: string,
  open: (now: () => number) => Promise<OpenRevocations>,
): void {
  const with_ = async (
    run: (first: Revocations, second: Revocations) => Promise<void>,
    now = () => 100,
  ): Promise<void> => {
    const { first, second, close } = await open(now)
    await run(first, second).finally(close)
  }

  describe(`revocations in ${name}`, () => {
    it('a revocation lasts until the latest of its end times', () =>
      with_(async (first) => {
        expect(await first.has(trace('a'), 100)).toBe(false)
        await first.add('a', 2000)
        await first.add('a', 1000)
        expect(await first.has(trace('a'), 1999)).toBe(true)
        expect(await first.has(trace('a'), 2000)).toBe(false)
        await first.add('a', 3000)
        expect(await first.has(trace('a'), 2999)).toBe(true)
        expect(await first.has(trace('b'), 100)).toBe(false)
      }))

    it('add returns true only to the first of several callers', () =>
      with_(async (first, second) => {
        const answers = await Promise.all(
          [first, second, first, second].map(async (one) => one.add('a', 8e12)),
        )
        expect(answers.filter(Boolean)).toHaveLength(1)
        expect(await second.add('a', 9e12)).toBe(false)
        expect(await second.add('b', 9e12)).toBe(true)
      }))

    it('a revocation is visible in every view of the store', () =>
      with_(async (first, second) => {
        await first.add('a', 8e12)
        await first.addSubject('ada', 50)
        expect(await second.has(trace('a'), 100)).toBe(true)
        expect(await second.has(trace('b', 'ada', 50), 100)).toBe(true)
      }))

    it('revoking a subject covers sign-ins until that time, and no others', () =>
      with_(async (first) => {
        await first.addSubject('ada', 50)
        await first.addSubject('ada', 40)
        expect(await first.has(trace('x', 'ada', 50), 100)).toBe(true)
        expect(await first.has(trace('x', 'ada', 51), 100)).toBe(false)
        expect(await first.has(trace('x', 'bob', 1), 100)).toBe(false)
        expect(await first.has(trace('x', undefined, 0), 100)).toBe(false)
        expect(await first.has(trace('ada', 'bob', 1), 100)).toBe(false)
      }))

    it('finds revoked tokens among many', () =>
      with_(async (first) => {
        const many = Array.from({ length: 2500 }, (_, index) => trace(`t${index}`, `s${index}`, 10))
        for (const name of ['t0', 't999', 't1000', 't2499', 'none']) await first.add(name, 8e12)
        await first.add('t7', 120)
        await first.addSubject('s5', 9)
        await first.addSubject('s6', 10)
        const found = await first.among(many, 120)
        expect([...found].map(({ name }) => name).sort()).toEqual(
          ['t0', 't6', 't999', 't1000', 't2499'].sort(),
        )
        expect(await first.among([], 120)).toEqual(new Set())
      }))

    it('stores a revocation without end, and removes expired ones', async () => {
      let now = 0
      await with_(
        async (first) => {
          await first.add('for ever', Infinity)
          await first.add('short', 10)
          now = 1e12
          expect(await first.add('other', 2e12)).toBe(true)
          expect(await first.add('short', 2e12)).toBe(true)
          expect(await first.has(trace('for ever'), 8e12)).toBe(true)
        },
        () => now,
      )
    })
  })
}

function trace(name: string, subject?: string, signedIn = 0): TokenTrace {
  return { name, subject, signedIn }
}
