/** Source: decisions, Tokens. */
import { describe, expect, it } from '@jest/globals'
import { countingStore, makeManager, visit, Visitor } from './visits.js'
import { fakeRequest, type ServerRequest } from '../http/fake-request.js'

describe('the session object', () => {
  const opened = async (): Promise<ServerRequest> => {
    const request = fakeRequest()
    await makeManager().open(request)
    return request
  }

  it('has no data initially, and its methods are not enumerable', async () => {
    const { session } = await opened()
    expect(Object.keys(session)).toEqual([])
    expect({ ...session }).toEqual({})
    expect(JSON.stringify(session)).toBe('{}')
    const names: string[] = []
    for (const name in session) names.push(name)
    expect(names).toEqual([])
  })

  it('has no inherited properties', async () => {
    const { session } = await opened()
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      expect(session[name]).toBeUndefined()
    }
  })

  it('stores any key as data', async () => {
    const manager = makeManager()
    const { cookie } = await visit(manager, {}, ({ session }) => {
      session.__proto__ = { admin: true }
      session['constructor' as string] = 'c'
      session['1'] = 'one'
    })
    await visit(manager, { cookie }, ({ session }) => {
      expect(Object.keys(session)).toEqual(['1', '__proto__', 'constructor'])
      expect(session.admin).toBeUndefined()
      expect(({} as { admin?: unknown }).admin).toBeUndefined()
    })
  })

  it('does not allow its methods to be replaced', async () => {
    const { session } = await opened()
    expect(() => {
      session.destroy = () => undefined
    }).toThrow(TypeError)
  })

  it('throws when its data cannot be serialized', async () => {
    await expect(
      visit(makeManager(), {}, ({ session }) => {
        session.total = 10n
      }),
    ).rejects.toThrow('BigInt')
  })

  it('can be replaced with a custom object, which is not saved', async () => {
    const store = countingStore()
    const { setCookie } = await visit(makeManager(store), {}, (request) => {
      const session = { user: 1, regenerate: () => undefined, destroy: () => undefined }
      request.visitor = new Visitor(session, false)
    })
    expect(setCookie).toBeUndefined()
    expect(store.calls).toEqual([])
  })
})
