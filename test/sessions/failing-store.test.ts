/** Source: decisions, Sessions. */
import { describe, expect, it } from '@jest/globals'
import { HttpError } from '../../src/index.js'
import type { ServerRequest } from '../../src/http/server-request.js'
import { createMemoryStore, errorLog, makeKeeper, setUser, visit } from './visits.js'

describe('a failing store', () => {
  const fail = (): never => {
    throw new Error('the disk is gone')
  }
  const failLater = () => Promise.reject(new Error('the disk is gone'))
  const working = createMemoryStore()

  const unavailable = { status: 503, code: 'SESSIONS_UNAVAILABLE', headers: { 'retry-after': '1' } }

  it.each([
    { when: 'at once', read: fail },
    { when: 'later', read: failLater },
  ])('that cannot read, failing $when, is 503 and no empty session', async ({ read }) => {
    const inner = createMemoryStore()
    const { cookie } = await visit(makeKeeper(inner), {}, setUser)
    const visitor = visit(makeKeeper({ ...inner, read }), { cookie })
    await expect(visitor).rejects.toMatchObject(unavailable)
    expect((await visit(makeKeeper(inner), { cookie })).before).toMatchObject({ user: { id: 7 } })
  })

  it('may say with an HttpError what a visitor is told', async () => {
    const inner = createMemoryStore()
    const { cookie } = await visit(makeKeeper(inner), {}, setUser)
    const read = () => Promise.reject(new HttpError(507, 'Full'))
    await expect(visit(makeKeeper({ ...inner, read }), { cookie })).rejects.toMatchObject({
      status: 507,
    })
  })

  const broken = { read: () => '{"user":' }

  it('with text that is no JSON gives an empty session and leaves the stored one', async () => {
    const inner = createMemoryStore()
    const { cookie } = await visit(makeKeeper(inner), {}, setUser)
    const log = errorLog()
    const keeper = makeKeeper({ ...inner, ...broken }, { log })
    const visitor = await visit(keeper, { cookie }, ({ session }) => {
      session.views = 1
    })
    expect(visitor).toMatchObject({ before: {}, setCookie: undefined })
    expect(log.errors).toEqual(['a stored session is no JSON; the request has an empty one'])
    expect((await visit(makeKeeper(inner), { cookie })).before).toMatchObject({ user: { id: 7 } })
  })

  it('with such a text lets a login and a logout take effect', async () => {
    const inner = createMemoryStore()
    const { cookie } = await visit(makeKeeper(inner), {}, setUser)
    const flaky = makeKeeper({ ...inner, ...broken })
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
  ])('that cannot write, failing $when, is 503 and sets no cookie', async ({ write }) => {
    const seen: ServerRequest[] = []
    const visitor = visit(makeKeeper({ ...working, write }), {}, (request) => {
      seen.push(request)
      setUser(request)
    })
    await expect(visitor).rejects.toMatchObject(unavailable)
    expect(seen[0]?.responseHeaders).toBeUndefined()
  })

  it.each([
    { when: 'at once', remove: fail },
    { when: 'later', remove: failLater },
  ])(
    'that cannot remove, failing $when, is 503 and still clears the cookie',
    async ({ remove }) => {
      const inner = createMemoryStore()
      const { cookie } = await visit(makeKeeper(inner), {}, setUser)
      const seen: ServerRequest[] = []
      const visitor = visit(makeKeeper({ ...inner, remove }), { cookie }, (request) => {
        seen.push(request)
        request.session.destroy()
      })
      await expect(visitor).rejects.toMatchObject(unavailable)
      expect(seen[0]?.responseHeaders?.[1]).toContain('Max-Age=0')
    },
  )
})
