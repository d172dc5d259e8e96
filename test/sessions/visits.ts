/** Helpers for session tests: a simulated request, and stores and logs that record their calls. */
import { expect } from '@jest/globals'
import type { Log, SessionStore } from '../../src/index.js'
import { silentLog } from '../silent-log.js'
import { createMemoryStore } from '../../src/auth/session-stores.js'
import { createSessionManager, type SessionManager } from '../../src/auth/sessions.js'
import { fakeRequest, type ServerRequest } from '../http/fake-request.js'

interface Visit {
  /** The `Cookie` header. */
  readonly cookie?: string | undefined
  readonly https?: boolean
}

/** Simulates one request: opens the session, runs `use`, saves the session. */
export async function visit(
  manager: SessionManager,
  { cookie, https = false }: Visit,
  use: (request: ServerRequest) => void | Promise<void> = () => undefined,
) {
  const headers: [string, string][] = cookie === undefined ? [] : [['Cookie', cookie]]
  if (https) headers.push(['X-Forwarded-Proto', 'https'])
  const request = fakeRequest({ headers }, { trustProxy: true })
  await manager.open(request)
  const before: unknown = JSON.parse(JSON.stringify(request.session))
  await use(request)
  await manager.save(request)
  const added = request.response.headers
  const setCookie = added?.first('Set-Cookie')
  expect(added?.hasOnly('Set-Cookie')).toBe(setCookie === undefined ? undefined : true)
  return { before, setCookie, cookie: setCookie?.split(';')[0] }
}

export { createMemoryStore }
export { Visitor } from '../../src/http/visitor.js'

/** A store that records its calls. */
export function countingStore(
  inner = createMemoryStore(),
): SessionStore & { readonly calls: string[] } {
  const calls: string[] = []
  return {
    calls,
    read: (name, now) => {
      calls.push('read')
      return inner.read(name, now)
    },
    write: (name, data, expiresAt, exists) => {
      calls.push('write')
      return inner.write(name, data, expiresAt, exists)
    },
    remove: (name) => {
      calls.push('remove')
      return inner.remove(name)
    },
  }
}

/** A store with asynchronous methods. */
export function asyncStore(inner = createMemoryStore()): SessionStore {
  return {
    read: async (name, now) => inner.read(name, now),
    write: async (name, data, expiresAt, exists) => inner.write(name, data, expiresAt, exists),
    remove: async (name) => inner.remove(name),
  }
}

export function makeManager(
  store: SessionStore = createMemoryStore(),
  settings: { log?: Log; idle?: number; now?: () => number } = {},
) {
  return createSessionManager({ store, log: silentLog, ...settings })
}

/** A log that records its error messages. */
export function errorLog(): Log & { readonly errors: string[] } {
  const errors: string[] = []
  return { ...silentLog, errors, error: (_details, message) => errors.push(message) }
}

export const setUser = ({ session }: ServerRequest): void => {
  session.user = { id: 7, name: 'Ada' }
}
