/** The behaviour that every expiring store must have. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { ExpiringStore } from '../../src/core/expiring-store.js'

/** A value with several parts, some of which are hard to store. */
export interface Sample {
  readonly number: number
  readonly text: string
}

export interface OpenExpiringStores {
  /** Two views of one store, as two processes have them. The same object if the store serves one process. */
  readonly first: ExpiringStore<Sample>
  readonly second: ExpiringStore<Sample>
  /** Closes what the views use, such as connections. */
  close?(): Promise<void>
}

/** 2026-11-20T10:00:00Z */
const noon = Date.UTC(2026, 10, 20, 10)
const afternoon = noon + 60_000

const one: Sample = { number: 1, text: 'one' }
const two: Sample = { number: 2, text: 'Ägypten 🏺, "two"' }

/**
 * @param name of the store
 * @param open opens an empty store for each test. Both views sweep on every call
 */
export function describeExpiringStore(
  name: string,
  open: () => OpenExpiringStores | Promise<OpenExpiringStores>,
): void {
  describe(`the expiring store in ${name}`, () => {
    let stores: OpenExpiringStores
    let first: ExpiringStore<Sample>
    let second: ExpiringStore<Sample>

    beforeEach(async () => {
      stores = await open()
      ;({ first, second } = stores)
    })

    afterEach(async () => {
      await stores.close?.()
    })

    it('get returns undefined for an unknown key', async () => {
      expect(await first.get('a', noon)).toBeUndefined()
    })

    it('set stores values for all views, and replaces the value and the expiry time', async () => {
      await first.set('a', one, noon + 1000)
      expect(await second.get('a', noon)).toEqual(one)
      await second.set('a', two, afternoon)
      expect(await first.get('a', noon + 1000)).toEqual(two)
    })

    it('separates unusual keys', async () => {
      const keys = ['a', 'A', 'a ', "a'--", '__proto__', 'constructor', 'ä', '']
      for (const [number, key] of keys.entries())
        await first.set(key, { number, text: key }, afternoon)
      for (const [number, key] of keys.entries())
        expect(await second.get(key, noon)).toEqual({ number, text: key })
    })

    it('get returns an entry before its expiry time, and not at it', async () => {
      await first.set('a', one, afternoon)
      expect(await first.get('a', afternoon - 1)).toEqual(one)
      expect(await first.get('a', afternoon)).toBeUndefined()
    })

    it('an entry without end never expires', async () => {
      await first.set('a', one, Infinity)
      await first.deleteExpired(8e12)
      expect(await first.get('a', 8e12)).toEqual(one)
    })

    it('replace changes an existing entry, and does not restore a deleted one', async () => {
      await first.set('a', one, noon + 1000)
      await first.replace('a', two, afternoon)
      expect(await first.get('a', noon + 1000)).toEqual(two)
      await second.delete('a')
      await first.replace('a', one, afternoon)
      expect(await first.get('a', noon)).toBeUndefined()
    })

    it('add stores the value of one of several concurrent callers', async () => {
      const values = [1, 2, 3, 4].map((number) => ({ number, text: `caller ${number}` }))
      const added = await Promise.all(
        values.map(async (value, index) =>
          (index % 2 === 0 ? first : second).add('a', value, afternoon),
        ),
      )
      expect(added.filter(Boolean)).toHaveLength(1)
      expect(await first.get('a', noon)).toEqual(values[added.indexOf(true)])
      expect(await second.add('a', two, afternoon)).toBe(false)
      expect(await second.add('b', two, afternoon)).toBe(true)
    })

    it('getOrAdd returns the same value to all concurrent callers', async () => {
      const values = [1, 2, 3, 4].map((number) => ({ number, text: `caller ${number}` }))
      const stored = await Promise.all(
        values.map(async (value, index) =>
          (index % 2 === 0 ? first : second).getOrAdd('a', value, afternoon),
        ),
      )
      expect(values).toContainEqual(stored[0])
      expect(stored).toEqual(stored.map(() => stored[0]))
      expect(await second.get('a', noon)).toEqual(stored[0])
    })

    it('add and getOrAdd find an expired entry until it is removed', async () => {
      await first.set('a', one, noon)
      expect(await second.add('a', two, afternoon)).toBe(false)
      expect(await second.getOrAdd('a', two, afternoon)).toEqual(one)
      await first.deleteExpired(noon)
      expect(await second.add('a', two, afternoon)).toBe(true)
    })

    it('extend moves the end of an existing entry to a later time only', async () => {
      await first.set('a', one, noon + 1000)
      await second.extend('a', noon + 500)
      expect(await first.get('a', noon + 999)).toEqual(one)
      await second.extend('a', afternoon)
      expect(await first.get('a', afternoon - 1)).toEqual(one)
      expect(await first.get('a', afternoon)).toBeUndefined()
      await first.extend('b', afternoon)
      expect(await first.get('b', noon)).toBeUndefined()
    })

    it('delete also accepts an unknown key', async () => {
      await first.set('a', one, afternoon)
      await first.set('b', two, afternoon)
      await second.delete('a')
      await second.delete('a')
      expect(await first.get('a', noon)).toBeUndefined()
      expect(await first.get('b', noon)).toEqual(two)
    })

    it('deleteExpired removes expired entries only', async () => {
      await first.set('a', one, noon)
      await first.set('b', two, noon + 1)
      await second.deleteExpired(noon)
      // A removed entry is not found at an earlier time either.
      expect(await first.get('a', noon - 1)).toBeUndefined()
      expect(await first.get('b', noon)).toEqual(two)
    })
  })
}
