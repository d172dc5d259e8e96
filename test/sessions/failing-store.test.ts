/** Source: decisions, Sessions: a store that fails still lets the request be served. */
import { describe, expect, it } from '@jest/globals'
import { createMemoryStore } from '../../src/sessions/memory-store.js'
import { errorLog, makeKeeper, setUser, visit } from './visits.js'

describe('a failing store', () => {
  const fail = (): never => {
    throw new Error('the disk is gone')
  }
  const failLater = () => Promise.reject(new Error('the disk is gone'))
  const working = createMemoryStore()

  it.each([
    { when: 'at once', read: fail },
    { when: 'later', read: failLater },
    { when: 'with text that is no JSON', read: () => '{"user":' },
  ])(
    'that cannot read, failing $when, gives an empty session and leaves the stored one',
    async ({ read }) => {
      const inner = createMemoryStore()
      const { cookie } = await visit(makeKeeper(inner), {}, setUser)
      const log = errorLog()
      const visitor = await visit(
        makeKeeper({ ...inner, read }, { log }),
        { cookie },
        ({ session }) => {
          session.views = 1
        },
      )
      expect(visitor).toMatchObject({ before: {}, setCookie: undefined })
      expect(log.errors).toEqual(['a session cannot be read; the request has an empty one'])
      expect((await visit(makeKeeper(inner), { cookie })).before).toMatchObject({ user: { id: 7 } })
    },
  )

  it('that cannot read lets a login and a logout take effect', async () => {
    const inner = createMemoryStore()
    const { cookie } = await visit(makeKeeper(inner), {}, setUser)
    const flaky = makeKeeper({ ...inner, read: fail })
    const login = await visit(flaky, { cookie }, (request) => {
      setUser(request)
      request.session.regenerate()
    })
    expect((await visit(makeKeeper(inner), { cookie: login.cookie })).before).not.toEqual({})
    const logout = await visit(flaky, { cookie: login.cookie }, ({ session }) => {
      session.destroy()
    })
    expect(logout.setCookie).toContain('Max-Age=0')
    expect((await visit(makeKeeper(inner), { cookie: login.cookie })).before).toEqual({})
  })

  it.each([
    { when: 'at once', write: fail },
    { when: 'later', write: failLater },
  ])('that cannot write, failing $when, sets no cookie', async ({ write }) => {
    const log = errorLog()
    const keeper = makeKeeper({ ...working, write }, { log })
    expect((await visit(keeper, {}, setUser)).setCookie).toBeUndefined()
    expect(log.errors).toEqual(['a session cannot be saved'])
  })

  it.each([
    { when: 'at once', remove: fail },
    { when: 'later', remove: failLater },
  ])('that cannot remove, failing $when, still clears the cookie', async ({ remove }) => {
    const inner = createMemoryStore()
    const { cookie } = await visit(makeKeeper(inner), {}, setUser)
    const log = errorLog()
    const keeper = makeKeeper({ ...inner, remove }, { log })
    const { setCookie } = await visit(keeper, { cookie }, ({ session }) => {
      session.destroy()
    })
    expect(setCookie).toContain('Max-Age=0')
    expect(log.errors).toEqual(['a session cannot be saved'])
  })
})
