/** What every session store does. Run it on each: `describeSessionStore('memory', () => createMemoryStore())`. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { SessionStore } from '../../src/index.js'

export interface OpenedStore {
  readonly store: SessionStore
  /** Lets go of what the store holds: a connection, a file. */
  close?(): void | Promise<void>
}

/** 2026-11-20T10:00:00Z in milliseconds. */
const noon = Date.UTC(2026, 10, 20, 10)
const afternoon = noon + 60_000

/** @param open makes an empty store, for each test anew */
export function describeSessionStore(
  name: string,
  open: () => OpenedStore | Promise<OpenedStore>,
): void {
  describe(`the ${name} session store`, () => {
    let opened: OpenedStore
    let store: SessionStore

    beforeEach(async () => {
      opened = await open()
      store = opened.store
    })

    afterEach(async () => {
      await opened.close?.()
    })

    it('read returns undefined for an unknown id', async () => {
      expect(await store.read('a', noon)).toBeUndefined()
    })

    it.each(['{}', '{"user":"Ägypten 🏺","n":[1,null]}', `{"x":"${'x'.repeat(100_000)}"}`])(
      'answers what was written, to the letter (%#)',
      async (data) => {
        await store.write('a', data, afternoon, false)
        expect(await store.read('a', noon)).toBe(data)
      },
    )

    it('separates sessions with unusual ids', async () => {
      const names = ['a', 'A', 'a ', "a'--", '__proto__', 'constructor', 'ä']
      for (const hash of names) await store.write(hash, JSON.stringify({ hash }), afternoon, false)
      for (const hash of names) {
        expect(await store.read(hash, noon)).toBe(JSON.stringify({ hash }))
      }
    })

    it('write replaces the data and the expiry time', async () => {
      await store.write('a', '{"n":1}', noon + 1000, false)
      await store.write('a', '{"n":2}', afternoon, true)
      expect(await store.read('a', noon + 1000)).toBe('{"n":2}')
    })

    it('read returns a session before its expiry time, and not at it', async () => {
      await store.write('a', '{}', afternoon, false)
      expect(await store.read('a', afternoon - 1)).toBe('{}')
      expect(await store.read('a', afternoon)).toBeUndefined()
    })

    it('remove also accepts an unknown id', async () => {
      await store.write('a', '{}', afternoon, false)
      await store.write('b', '{}', afternoon, false)
      await store.remove('a')
      await store.remove('a')
      expect(await store.read('a', noon)).toBeUndefined()
      expect(await store.read('b', noon)).toBe('{}')
    })

    it('write does not restore an existing session that was removed meanwhile', async () => {
      await store.write('a', '{}', afternoon, false)
      await store.remove('a')
      await store.write('a', '{"user":7}', afternoon, true)
      expect(await store.read('a', noon)).toBeUndefined()
    })

    it('sweep removes expired sessions only', async () => {
      await store.write('a', '{}', noon, false)
      await store.write('b', '{}', afternoon, false)
      await store.sweep?.(noon)
      // A removed session is not found at an earlier time either.
      if (store.sweep !== undefined) expect(await store.read('a', noon - 1)).toBeUndefined()
      expect(await store.read('b', noon)).toBe('{}')
    })

    it('stores 500 sessions', async () => {
      for (let number = 0; number < 500; number++) {
        await store.write(`s${number}`, `{"n":${number}}`, afternoon, false)
      }
      expect(await store.read('s0', noon)).toBe('{"n":0}')
      expect(await store.read('s499', noon)).toBe('{"n":499}')
    })
  })
}
