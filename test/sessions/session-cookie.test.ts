/** Source: decisions, Sessions. */
import { hash } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { countingStore, createMemoryStore, makeManager, setUser, visit } from './visits.js'

describe('the session cookie', () => {
  it('is Secure over https, also when it is cleared', async () => {
    const manager = makeManager()
    const { setCookie, cookie } = await visit(manager, { https: true }, setUser)
    expect(setCookie).toMatch(/; Secure/)
    const cleared = await visit(manager, { cookie, https: true }, ({ session }) => {
      session.destroy()
    })
    expect(cleared.setCookie).toMatch(/^app_session=; .*Secure/)
  })

  it('contains 256 random bits, and the store contains only their hash', async () => {
    const names: string[] = []
    const inner = createMemoryStore()
    const manager = makeManager({
      ...inner,
      write: (name, ...rest) => {
        names.push(name)
        return inner.write(name, ...rest)
      },
    })
    const ids = new Set<string>()
    for (let visitor = 0; visitor < 50; visitor++) {
      const { cookie } = await visit(manager, {}, setUser)
      ids.add(cookie?.split('=')[1] ?? '')
    }
    expect(ids.size).toBe(50)
    expect(names).toEqual([...ids].map((id) => hash('sha256', id, 'base64url')))
    for (const id of ids) expect(Buffer.from(id, 'base64url')).toHaveLength(32)
  })

  it.each([
    { id: 'unknown', cookie: `app_session=${'A'.repeat(43)}`, isRead: true },
    { id: 'empty', cookie: 'app_session=', isRead: false },
    { id: 'short', cookie: 'app_session=abc', isRead: false },
    { id: 'too long by one', cookie: `app_session=${'A'.repeat(44)}`, isRead: false },
    { id: 'oversized', cookie: `app_session=${'A'.repeat(8000)}`, isRead: false },
    { id: 'path-like', cookie: `app_session=../${'A'.repeat(40)}`, isRead: false },
    { id: 'path-like and escaped', cookie: `app_session=..%2F${'A'.repeat(40)}`, isRead: false },
    { id: 'with NUL', cookie: `app_session=%00${'A'.repeat(42)}`, isRead: false },
    { id: 'with quotes', cookie: `app_session="${'A'.repeat(43)}' OR 1=1"`, isRead: false },
    { id: 'badly escaped', cookie: `app_session=%ZZ${'A'.repeat(40)}`, isRead: false },
    { id: 'named __proto__', cookie: 'app_session=__proto__; __proto__=x', isRead: false },
    { id: 'of another name', cookie: `App_Session=${'A'.repeat(43)}`, isRead: false },
  ])(
    'with an $id value starts a new empty session, and is never adopted',
    async ({ cookie, isRead }) => {
      const store = countingStore()
      const manager = makeManager(store)
      const visitor = await visit(manager, { cookie })
      expect(visitor).toEqual({ before: {}, setCookie: undefined, cookie: undefined })
      expect(store.calls).toEqual(isRead ? ['read'] : [])
      const written = await visit(manager, { cookie }, setUser)
      expect(written.cookie).toMatch(/^app_session=[\w-]{43}$/)
      expect(cookie).not.toContain(written.cookie)
      expect((await visit(manager, { cookie })).before).toEqual({})
    },
  )

  it('that occurs twice, once planted, identifies no session', async () => {
    const manager = makeManager()
    const { cookie: genuine = '' } = await visit(manager, {}, setUser)
    const { cookie: planted = '' } = await visit(manager, {}, setUser)
    for (const cookie of [`${planted}; ${genuine}`, `${genuine}; theme=dark; ${planted}`])
      expect((await visit(manager, { cookie })).before).toEqual({})
    expect((await visit(manager, { cookie: `${genuine}; ${genuine}` })).before).toMatchObject({
      user: { id: 7 },
    })
  })

  it('that was altered starts a new session', async () => {
    const manager = makeManager()
    const { cookie = '' } = await visit(manager, {}, setUser)
    const altered = cookie.slice(0, -2) + (cookie.at(-2) === 'A' ? 'B' : 'A') + cookie.slice(-1)
    expect((await visit(manager, { cookie: altered })).before).toEqual({})
  })

  it('with the stored hash does not grant access', async () => {
    const manager = makeManager()
    const { cookie = '' } = await visit(manager, {}, setUser)
    const stolen = `app_session=${hash('sha256', cookie.split('=')[1] ?? '', 'base64url')}`
    expect((await visit(manager, { cookie: stolen })).before).toEqual({})
  })
})
