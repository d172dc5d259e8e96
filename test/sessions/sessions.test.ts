/** Source: decisions, Sessions. */
import type { SessionStore } from '../../src/index.js'
import { describe, expect, it } from '@jest/globals'
import {
  countingStore,
  errorLog,
  asyncStore,
  makeManager,
  setUser,
  visit,
  createMemoryStore,
} from './visits.js'
import { fakeRequest } from '../http/fake-request.js'

describe.each([
  { kind: 'synchronous', open: createMemoryStore },
  { kind: 'asynchronous', open: asyncStore },
])('a session in a store with $kind methods', ({ open }) => {
  it('is restored by its cookie', async () => {
    const manager = makeManager(open())
    const { setCookie, cookie, before } = await visit(manager, {}, setUser)
    expect(before).toEqual({})
    expect(setCookie).toMatch(/^app_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/)
    const second = await visit(manager, { cookie: `theme=dark; ${cookie}; x=y` })
    expect(second).toEqual({ before: { user: { id: 7, name: 'Ada' } }, setCookie: undefined })
  })

  it('is saved after a nested value has changed', async () => {
    const manager = makeManager(open())
    const { cookie } = await visit(manager, {}, ({ session }) => {
      session.cart = { lines: [{ qty: 1 }] }
    })
    await visit(manager, { cookie }, ({ session }) => {
      const { lines } = session.cart as { lines: { qty: number }[] }
      lines[0]!.qty = 2
    })
    expect((await visit(manager, { cookie })).before).toEqual({ cart: { lines: [{ qty: 2 }] } })
  })

  it('keeps its data under a new id after regenerate', async () => {
    const manager = makeManager(open())
    const { cookie } = await visit(manager, {}, setUser)
    const moved = await visit(manager, { cookie }, ({ session }) => {
      session.regenerate()
      session.n = 1
    })
    expect(moved.cookie).toMatch(/^app_session=[\w-]{43}$/)
    expect(moved.cookie).not.toBe(cookie)
    expect((await visit(manager, { cookie })).before).toEqual({})
    expect((await visit(manager, { cookie: moved.cookie })).before).toMatchObject({ n: 1 })
  })

  it('is removed from the store and the browser by destroy', async () => {
    const manager = makeManager(open())
    const { cookie } = await visit(manager, {}, setUser)
    const { setCookie } = await visit(manager, { cookie }, ({ session }) => {
      session.destroy()
      expect(Object.keys(session)).toEqual([])
    })
    expect(setCookie).toMatch(/^app_session=; Max-Age=0; Path=\/; HttpOnly; SameSite=Lax$/)
    expect((await visit(manager, { cookie })).before).toEqual({})
  })

  it('starts a new session when data is written after destroy', async () => {
    const manager = makeManager(open())
    const { cookie } = await visit(manager, {}, setUser)
    const next = await visit(manager, { cookie }, ({ session }) => {
      session.destroy()
      session.notice = 'goodbye'
    })
    expect(next.cookie).not.toBe(cookie)
    expect((await visit(manager, { cookie })).before).toEqual({})
    expect((await visit(manager, { cookie: next.cookie })).before).toEqual({ notice: 'goodbye' })
  })

  it('is not restored when a concurrent request destroys it', async () => {
    const manager = makeManager(open())
    const { cookie } = await visit(manager, {}, setUser)
    await visit(manager, { cookie }, async ({ session }) => {
      await visit(manager, { cookie }, (other) => {
        other.session.destroy()
      })
      session.n = 1
    })
    expect((await visit(manager, { cookie })).before).toEqual({})
  })
})

describe('sessions are lazy', () => {
  it('an untouched session sets no cookie and does not access the store', async () => {
    const store = countingStore()
    expect((await visit(makeManager(store), {})).setCookie).toBeUndefined()
    expect(store.calls).toEqual([])
  })

  it('reading, regenerating or destroying an empty session creates nothing', async () => {
    const store = countingStore()
    const { setCookie } = await visit(makeManager(store), {}, ({ session }) => {
      expect(session.user).toBeUndefined()
      session.regenerate()
      session.destroy()
    })
    expect(setCookie).toBeUndefined()
    expect(store.calls).toEqual([])
  })

  it('unchanged data is not written', async () => {
    const store = countingStore()
    const manager = makeManager(store)
    const { cookie } = await visit(manager, {}, setUser)
    store.calls.length = 0
    await visit(manager, { cookie }, setUser)
    expect(store.calls).toEqual(['read'])
  })

  it('a synchronous store keeps the request synchronous', () => {
    const manager = makeManager()
    const request = fakeRequest()
    expect(manager.open(request)).toBeUndefined()
    setUser(request)
    expect(manager.save(request)).toBeUndefined()
    expect(request.response.headers?.has('Set-Cookie')).toBe(true)
  })
})

describe('the idle time', () => {
  it.each([
    { idle: undefined, seconds: 7200 },
    { idle: 60, seconds: 60 },
  ])('is $seconds s for idle: $idle', async ({ idle, seconds }) => {
    let now = Date.UTC(2026, 10, 20)
    const manager = makeManager(createMemoryStore(), { now: () => now, ...(idle ? { idle } : {}) })
    const { cookie } = await visit(manager, {}, setUser)
    now += seconds * 1000 - 1
    expect((await visit(manager, { cookie })).before).not.toEqual({})
    now += 1
    expect((await visit(manager, { cookie })).before).toEqual({})
  })

  it('is extended by a change, but not by reading', async () => {
    let now = Date.UTC(2026, 10, 20)
    const manager = makeManager(createMemoryStore(), { now: () => now })
    const { cookie } = await visit(manager, {}, setUser)
    now += 7_000_000
    await visit(manager, { cookie }, ({ session }) => {
      session.n = 1
    })
    now += 7_000_000
    await visit(manager, { cookie })
    now += 200_000
    expect((await visit(manager, { cookie })).before).toEqual({})
  })

  it('makes the store sweep expired sessions every few minutes', async () => {
    let now = Date.UTC(2026, 10, 20)
    const swept: number[] = []
    const log = errorLog()
    const store: SessionStore = {
      ...createMemoryStore(),
      sweep: (at) => {
        swept.push(at)
        return Promise.reject(new Error('busy'))
      },
    }
    const manager = makeManager(store, { now: () => now, log })
    for (const step of [0, 299_999, 1, 1000, 300_000]) {
      now += step
      await visit(manager, {}, setUser)
    }
    expect(swept).toHaveLength(2)
    await new Promise((resolve) => setImmediate(resolve))
    expect(log.errors).toEqual(Array(2).fill('old sessions cannot be dropped'))
  })
})
