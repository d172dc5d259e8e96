/** Source: decisions, Sessions. */
import { describe, expect, it } from '@jest/globals'
import { HttpError } from '../../src/index.js'
import { createMemoryStore, errorLog, makeManager, setUser, visit } from './visits.js'
import type { ServerRequest } from '../http/fake-request.js'

describe('a failing session store', () => {
  const fail = (): never => {
    throw new Error('the disk is gone')
  }
  const failAsync = () => Promise.reject(new Error('the disk is gone'))
  const working = createMemoryStore()

  const unavailable = { status: 503, code: 'SESSIONS_UNAVAILABLE', headers: { 'retry-after': '1' } }

  it.each([
    { when: 'synchronously', read: fail },
    { when: 'asynchronously', read: failAsync },
  ])('that fails to read $when causes a 503, not an empty session', async ({ read }) => {
    const inner = createMemoryStore()
    const { cookie } = await visit(makeManager(inner), {}, setUser)
    const visitor = visit(makeManager({ ...inner, read }), { cookie })
    await expect(visitor).rejects.toMatchObject(unavailable)
    expect((await visit(makeManager(inner), { cookie })).before).toMatchObject({ user: { id: 7 } })
  })

  it('may choose the response with an HttpError', async () => {
    const inner = createMemoryStore()
    const { cookie } = await visit(makeManager(inner), {}, setUser)
    const read = () => Promise.reject(new HttpError(507, 'Full'))
    await expect(visit(makeManager({ ...inner, read }), { cookie })).rejects.toMatchObject({
      status: 507,
    })
  })

  const broken = { read: () => '{"user":' }

  it('with invalid JSON starts an empty session, and keeps the stored one', async () => {
    const inner = createMemoryStore()
    const { cookie } = await visit(makeManager(inner), {}, setUser)
    const log = errorLog()
    const manager = makeManager({ ...inner, ...broken }, { log })
    const visitor = await visit(manager, { cookie }, ({ session }) => {
      session.views = 1
    })
    expect(visitor).toMatchObject({ before: {}, setCookie: undefined })
    expect(log.errors).toEqual([
      'a stored session is not JSON, so the request has an empty session',
    ])
    expect((await visit(makeManager(inner), { cookie })).before).toMatchObject({ user: { id: 7 } })
  })

  it('with invalid JSON still allows login and logout', async () => {
    const inner = createMemoryStore()
    const { cookie } = await visit(makeManager(inner), {}, setUser)
    const flaky = makeManager({ ...inner, ...broken })
    const login = await visit(flaky, { cookie }, (request) => {
      setUser(request)
      request.session.regenerate()
    })
    expect((await visit(makeManager(inner), { cookie: login.cookie })).before).not.toEqual({})
    const logout = await visit(flaky, { cookie: login.cookie }, ({ session }) => {
      session.destroy()
    })
    expect(logout.setCookie).toContain('Max-Age=0')
    expect((await visit(makeManager(inner), { cookie: login.cookie })).before).toEqual({})
  })

  it.each([
    { when: 'synchronously', write: fail },
    { when: 'asynchronously', write: failAsync },
  ])('that fails to write $when causes a 503 and sets no cookie', async ({ write }) => {
    const requests: ServerRequest[] = []
    const visitor = visit(makeManager({ ...working, write }), {}, (request) => {
      requests.push(request)
      setUser(request)
    })
    await expect(visitor).rejects.toMatchObject(unavailable)
    expect(requests[0]?.response.headers).toBeUndefined()
  })

  it.each([
    { when: 'synchronously', remove: fail },
    { when: 'asynchronously', remove: failAsync },
  ])('that fails to remove $when causes a 503 and still clears the cookie', async ({ remove }) => {
    const inner = createMemoryStore()
    const { cookie } = await visit(makeManager(inner), {}, setUser)
    const requests: ServerRequest[] = []
    const visitor = visit(makeManager({ ...inner, remove }), { cookie }, (request) => {
      requests.push(request)
      request.session.destroy()
    })
    await expect(visitor).rejects.toMatchObject(unavailable)
    expect(requests[0]?.response.headers?.first('Set-Cookie')).toContain('Max-Age=0')
  })
})
