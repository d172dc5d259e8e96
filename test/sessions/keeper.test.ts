/** Source: decisions, Sessions. */
import { hash } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { silentLog, type Log } from '../../src/http/log.js'
import { HttpRequest } from '../../src/http/request.js'
import { createIncoming, StandInResponse } from '../../src/http/stand-in.js'
import { createSessionKeeper, type SessionKeeper } from '../../src/sessions/keeper.js'
import { createMemoryStore } from '../../src/sessions/memory-store.js'
import type { SessionStore } from '../../src/sessions/session-store.js'

interface Visit {
  /** The `Cookie` header. */
  readonly cookie?: string | undefined
  readonly https?: boolean
}

/** One visitor's way: opens the session, lets `use` handle it, saves. */
async function visit(
  keeper: SessionKeeper,
  { cookie, https = false }: Visit,
  use: (request: HttpRequest) => void | Promise<void> = () => undefined,
) {
  const headers: [string, string][] = cookie === undefined ? [] : [['Cookie', cookie]]
  if (https) headers.push(['X-Forwarded-Proto', 'https'])
  const incoming = createIncoming({ method: 'GET', url: '/', headers, body: undefined })
  const request = new HttpRequest(incoming, new StandInResponse(), { trustProxy: true })
  await keeper.open(request)
  const before: unknown = JSON.parse(JSON.stringify(request.session))
  await use(request)
  await keeper.save(request)
  const added = request.responseHeaders ?? []
  const setCookie = added[0] === 'Set-Cookie' ? added[1] : undefined
  expect(added.length).toBe(setCookie === undefined ? 0 : 2)
  return { before, setCookie, cookie: setCookie?.split(';')[0] }
}

/** A store that counts what it is asked. */
function countingStore(inner = createMemoryStore()): SessionStore & { readonly calls: string[] } {
  const calls: string[] = []
  return {
    calls,
    read: (name, now) => {
      calls.push('read')
      return inner.read(name, now)
    },
    write: (name, data, expiresAt, known) => {
      calls.push('write')
      return inner.write(name, data, expiresAt, known)
    },
    remove: (name) => {
      calls.push('remove')
      return inner.remove(name)
    },
  }
}

/** A store that answers later. */
function laterStore(inner = createMemoryStore()): SessionStore {
  return {
    read: async (name, now) => inner.read(name, now),
    write: async (name, data, expiresAt, known) => inner.write(name, data, expiresAt, known),
    remove: async (name) => inner.remove(name),
  }
}

function make(
  store: SessionStore = createMemoryStore(),
  settings: { log?: Log; idle?: number; now?: () => number } = {},
) {
  return createSessionKeeper({ store, log: silentLog, ...settings })
}

/** A log that keeps its error messages. */
function errorLog(): Log & { readonly errors: string[] } {
  const errors: string[] = []
  return { ...silentLog, errors, error: (_details, message) => errors.push(message) }
}

const setUser = ({ session }: HttpRequest): void => {
  session.user = { id: 7, name: 'Ada' }
}

describe.each([
  { kind: 'at once', open: createMemoryStore },
  { kind: 'later', open: laterStore },
])('a session in a store that answers $kind', ({ open }) => {
  it('comes back with its cookie', async () => {
    const keeper = make(open())
    const { setCookie, cookie, before } = await visit(keeper, {}, setUser)
    expect(before).toEqual({})
    expect(setCookie).toMatch(/^app_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/)
    const second = await visit(keeper, { cookie: `theme=dark; ${cookie}; x=y` })
    expect(second).toEqual({ before: { user: { id: 7, name: 'Ada' } }, setCookie: undefined })
  })

  it('is saved when something deep inside has changed', async () => {
    const keeper = make(open())
    const { cookie } = await visit(keeper, {}, ({ session }) => {
      session.cart = { lines: [{ qty: 1 }] }
    })
    await visit(keeper, { cookie }, ({ session }) => {
      const { lines } = session.cart as { lines: { qty: number }[] }
      lines[0]!.qty = 2
    })
    expect((await visit(keeper, { cookie })).before).toEqual({ cart: { lines: [{ qty: 2 }] } })
  })

  it('moves under a new id and keeps its data', async () => {
    const keeper = make(open())
    const { cookie } = await visit(keeper, {}, setUser)
    const moved = await visit(keeper, { cookie }, ({ session }) => {
      session.regenerate()
      session.n = 1
    })
    expect(moved.cookie).toMatch(/^app_session=[\w-]{43}$/)
    expect(moved.cookie).not.toBe(cookie)
    expect((await visit(keeper, { cookie })).before).toEqual({})
    expect((await visit(keeper, { cookie: moved.cookie })).before).toMatchObject({ n: 1 })
  })

  it('is gone when it is destroyed, in the store and in the browser', async () => {
    const keeper = make(open())
    const { cookie } = await visit(keeper, {}, setUser)
    const { setCookie } = await visit(keeper, { cookie }, ({ session }) => {
      session.destroy()
      expect(Object.keys(session)).toEqual([])
    })
    expect(setCookie).toMatch(/^app_session=; Max-Age=0; Path=\/; HttpOnly; SameSite=Lax$/)
    expect((await visit(keeper, { cookie })).before).toEqual({})
  })

  it('starts anew when something is written after it was destroyed', async () => {
    const keeper = make(open())
    const { cookie } = await visit(keeper, {}, setUser)
    const next = await visit(keeper, { cookie }, ({ session }) => {
      session.destroy()
      session.notice = 'goodbye'
    })
    expect(next.cookie).not.toBe(cookie)
    expect((await visit(keeper, { cookie })).before).toEqual({})
    expect((await visit(keeper, { cookie: next.cookie })).before).toEqual({ notice: 'goodbye' })
  })

  it('does not come back when another request destroys it meanwhile', async () => {
    const keeper = make(open())
    const { cookie } = await visit(keeper, {}, setUser)
    await visit(keeper, { cookie }, async ({ session }) => {
      await visit(keeper, { cookie }, (other) => {
        other.session.destroy()
      })
      session.n = 1
    })
    expect((await visit(keeper, { cookie })).before).toEqual({})
  })
})

describe('laziness', () => {
  it('sets no cookie and asks nothing of the store for an untouched session', async () => {
    const store = countingStore()
    expect((await visit(make(store), {})).setCookie).toBeUndefined()
    expect(store.calls).toEqual([])
  })

  it('creates nothing by reading, regenerating or destroying what is empty', async () => {
    const store = countingStore()
    const { setCookie } = await visit(make(store), {}, ({ session }) => {
      expect(session.user).toBeUndefined()
      session.regenerate()
      session.destroy()
    })
    expect(setCookie).toBeUndefined()
    expect(store.calls).toEqual([])
  })

  it('writes nothing when the data is what it was', async () => {
    const store = countingStore()
    const keeper = make(store)
    const { cookie } = await visit(keeper, {}, setUser)
    store.calls.length = 0
    await visit(keeper, { cookie }, setUser)
    expect(store.calls).toEqual(['read'])
  })

  it('is synchronous with a store that is', () => {
    const keeper = make()
    const incoming = createIncoming({ method: 'GET', url: '/', headers: [], body: undefined })
    const request = new HttpRequest(incoming, new StandInResponse(), { trustProxy: false })
    expect(keeper.open(request)).toBeUndefined()
    setUser(request)
    expect(keeper.save(request)).toBeUndefined()
    expect(request.responseHeaders?.[0]).toBe('Set-Cookie')
  })
})

describe('the cookie', () => {
  it('is Secure over https, also when it is cleared', async () => {
    const keeper = make()
    const { setCookie, cookie } = await visit(keeper, { https: true }, setUser)
    expect(setCookie).toMatch(/; Secure/)
    const cleared = await visit(keeper, { cookie, https: true }, ({ session }) => {
      session.destroy()
    })
    expect(cleared.setCookie).toMatch(/^app_session=; .*Secure/)
  })

  it('holds 256 random bits, and the store only their hash', async () => {
    const names: string[] = []
    const inner = createMemoryStore()
    const keeper = make({
      ...inner,
      write: (name, ...rest) => {
        names.push(name)
        return inner.write(name, ...rest)
      },
    })
    const ids = new Set<string>()
    for (let visitor = 0; visitor < 50; visitor++) {
      const { cookie } = await visit(keeper, {}, setUser)
      ids.add(cookie?.split('=')[1] ?? '')
    }
    expect(ids.size).toBe(50)
    expect(names).toEqual([...ids].map((id) => hash('sha256', id, 'base64url')))
    for (const id of ids) expect(Buffer.from(id, 'base64url')).toHaveLength(32)
  })

  it.each([
    { id: 'unknown', cookie: `app_session=${'A'.repeat(43)}`, asks: true },
    { id: 'empty', cookie: 'app_session=', asks: false },
    { id: 'short', cookie: 'app_session=abc', asks: false },
    { id: 'too long by one', cookie: `app_session=${'A'.repeat(44)}`, asks: false },
    { id: 'oversized', cookie: `app_session=${'A'.repeat(8000)}`, asks: false },
    { id: 'path-like', cookie: `app_session=../${'A'.repeat(40)}`, asks: false },
    { id: 'path-like and escaped', cookie: `app_session=..%2F${'A'.repeat(40)}`, asks: false },
    { id: 'with NUL', cookie: `app_session=%00${'A'.repeat(42)}`, asks: false },
    { id: 'with quotes', cookie: `app_session="${'A'.repeat(43)}' OR 1=1"`, asks: false },
    { id: 'badly escaped', cookie: `app_session=%ZZ${'A'.repeat(40)}`, asks: false },
    { id: 'named __proto__', cookie: 'app_session=__proto__; __proto__=x', asks: false },
    { id: 'of another name', cookie: `App_Session=${'A'.repeat(43)}`, asks: false },
  ])('that is $id gives a fresh empty session, and is never adopted', async ({ cookie, asks }) => {
    const store = countingStore()
    const keeper = make(store)
    const visitor = await visit(keeper, { cookie })
    expect(visitor).toEqual({ before: {}, setCookie: undefined, cookie: undefined })
    expect(store.calls).toEqual(asks ? ['read'] : [])
    const written = await visit(keeper, { cookie }, setUser)
    expect(written.cookie).toMatch(/^app_session=[\w-]{43}$/)
    expect(cookie).not.toContain(written.cookie)
    expect((await visit(keeper, { cookie })).before).toEqual({})
  })

  it('that was altered gives a fresh session', async () => {
    const keeper = make()
    const { cookie = '' } = await visit(keeper, {}, setUser)
    const altered = cookie.slice(0, -2) + (cookie.at(-2) === 'A' ? 'B' : 'A') + cookie.slice(-1)
    expect((await visit(keeper, { cookie: altered })).before).toEqual({})
  })

  it('that holds the stored hash is no way in', async () => {
    const keeper = make()
    const { cookie = '' } = await visit(keeper, {}, setUser)
    const stolen = `app_session=${hash('sha256', cookie.split('=')[1] ?? '', 'base64url')}`
    expect((await visit(keeper, { cookie: stolen })).before).toEqual({})
  })
})

describe('idle life', () => {
  it.each([
    { idle: undefined, seconds: 7200 },
    { idle: 60, seconds: 60 },
  ])('is $seconds s for idle: $idle', async ({ idle, seconds }) => {
    let now = Date.UTC(2026, 10, 20)
    const keeper = make(createMemoryStore(), { now: () => now, ...(idle ? { idle } : {}) })
    const { cookie } = await visit(keeper, {}, setUser)
    now += seconds * 1000 - 1
    expect((await visit(keeper, { cookie })).before).not.toEqual({})
    now += 1
    expect((await visit(keeper, { cookie })).before).toEqual({})
  })

  it('is extended by a change and not by reading', async () => {
    let now = Date.UTC(2026, 10, 20)
    const keeper = make(createMemoryStore(), { now: () => now })
    const { cookie } = await visit(keeper, {}, setUser)
    now += 7_000_000
    await visit(keeper, { cookie }, ({ session }) => {
      session.n = 1
    })
    now += 7_000_000
    await visit(keeper, { cookie })
    now += 200_000
    expect((await visit(keeper, { cookie })).before).toEqual({})
  })

  it('lets the store drop what is over, every few minutes', async () => {
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
    const keeper = make(store, { now: () => now, log })
    for (const step of [0, 299_999, 1, 1000, 300_000]) {
      now += step
      await visit(keeper, {}, setUser)
    }
    expect(swept).toHaveLength(2)
    await new Promise((resolve) => setImmediate(resolve))
    expect(log.errors).toEqual(Array(2).fill('old sessions cannot be dropped'))
  })
})

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
      const { cookie } = await visit(make(inner), {}, setUser)
      const log = errorLog()
      const visitor = await visit(make({ ...inner, read }, { log }), { cookie }, ({ session }) => {
        session.views = 1
      })
      expect(visitor).toMatchObject({ before: {}, setCookie: undefined })
      expect(log.errors).toEqual(['a session cannot be read; the request has an empty one'])
      expect((await visit(make(inner), { cookie })).before).toMatchObject({ user: { id: 7 } })
    },
  )

  it('that cannot read lets a login and a logout take effect', async () => {
    const inner = createMemoryStore()
    const { cookie } = await visit(make(inner), {}, setUser)
    const flaky = make({ ...inner, read: fail })
    const login = await visit(flaky, { cookie }, (request) => {
      setUser(request)
      request.session.regenerate()
    })
    expect((await visit(make(inner), { cookie: login.cookie })).before).not.toEqual({})
    const logout = await visit(flaky, { cookie: login.cookie }, ({ session }) => {
      session.destroy()
    })
    expect(logout.setCookie).toContain('Max-Age=0')
    expect((await visit(make(inner), { cookie: login.cookie })).before).toEqual({})
  })

  it.each([
    { when: 'at once', write: fail },
    { when: 'later', write: failLater },
  ])('that cannot write, failing $when, sets no cookie', async ({ write }) => {
    const log = errorLog()
    const keeper = make({ ...working, write }, { log })
    expect((await visit(keeper, {}, setUser)).setCookie).toBeUndefined()
    expect(log.errors).toEqual(['a session cannot be saved'])
  })

  it.each([
    { when: 'at once', remove: fail },
    { when: 'later', remove: failLater },
  ])('that cannot remove, failing $when, still clears the cookie', async ({ remove }) => {
    const inner = createMemoryStore()
    const { cookie } = await visit(make(inner), {}, setUser)
    const log = errorLog()
    const keeper = make({ ...inner, remove }, { log })
    const { setCookie } = await visit(keeper, { cookie }, ({ session }) => {
      session.destroy()
    })
    expect(setCookie).toContain('Max-Age=0')
    expect(log.errors).toEqual(['a session cannot be saved'])
  })
})

describe('the mapping', () => {
  const opened = async (): Promise<HttpRequest> => {
    const incoming = createIncoming({ method: 'GET', url: '/', headers: [], body: undefined })
    const request = new HttpRequest(incoming, new StandInResponse(), { trustProxy: false })
    await make().open(request)
    return request
  }

  it('has no data to begin with: its methods are none', async () => {
    const { session } = await opened()
    expect(Object.keys(session)).toEqual([])
    expect({ ...session }).toEqual({})
    expect(JSON.stringify(session)).toBe('{}')
    const names: string[] = []
    for (const name in session) names.push(name)
    expect(names).toEqual([])
  })

  it('has nothing under the names of prototypes', async () => {
    const { session } = await opened()
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      expect(session[name]).toBeUndefined()
    }
  })

  it('keeps any key as data', async () => {
    const keeper = make()
    const { cookie } = await visit(keeper, {}, ({ session }) => {
      session.__proto__ = { admin: true }
      session['constructor' as string] = 'c'
      session['1'] = 'one'
    })
    await visit(keeper, { cookie }, ({ session }) => {
      expect(Object.keys(session)).toEqual(['1', '__proto__', 'constructor'])
      expect(session.admin).toBeUndefined()
      expect(({} as { admin?: unknown }).admin).toBeUndefined()
    })
  })

  it('does not let its methods be replaced', async () => {
    const { session } = await opened()
    expect(() => {
      session.destroy = () => undefined
    }).toThrow(TypeError)
  })

  it('says so when its data cannot be kept', async () => {
    await expect(
      visit(make(), {}, ({ session }) => {
        session.total = 10n
      }),
    ).rejects.toThrow('BigInt')
  })

  it('leaves an object alone that somebody put in its place', async () => {
    const store = countingStore()
    const { setCookie } = await visit(make(store), {}, (request) => {
      request.session = { user: 1, regenerate: () => undefined, destroy: () => undefined }
    })
    expect(setCookie).toBeUndefined()
    expect(store.calls).toEqual([])
  })
})
