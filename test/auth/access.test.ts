import { describe, expect, it } from '@jest/globals'
import {
  accessRule,
  requireBoth,
  describeDemands,
  satisfies,
  openAccess,
  tokenAccess,
  type AccessRule,
} from '../../src/auth/access.js'

const admin: AccessRule = { ...tokenAccess, roles: ['admin'] }
const editor: AccessRule = { ...tokenAccess, roles: ['editor'] }

describe('accessRule', () => {
  it.each([
    { method: 'GET', open: true },
    { method: 'HEAD', open: true },
    { method: 'POST', open: false },
    { method: 'PUT', open: false },
    { method: 'PATCH', open: false },
    { method: 'DELETE', open: false },
    { method: 'PURGE', open: false },
  ])('leaves $method open: $open, without any decorator', ({ method, open }) => {
    expect(accessRule({ method })).toBe(open ? openAccess : tokenAccess)
  })

  it.each([
    {
      says: 'a method decorator over the class, the documentation and the default',
      input: { method: 'POST', onMethod: openAccess, onClass: admin, docSecure: true },
      rule: openAccess,
    },
    {
      says: "a method's roles in place of its class's",
      input: { method: 'GET', onMethod: editor, onClass: admin },
      rule: editor,
    },
    {
      says: 'a bare method decorator in place of the roles of its class',
      input: { method: 'GET', onMethod: tokenAccess, onClass: admin },
      rule: tokenAccess,
    },
    {
      says: 'a class decorator over the documentation',
      input: { method: 'GET', onClass: openAccess, docSecure: true },
      rule: openAccess,
    },
    {
      says: 'a class decorator over the default',
      input: { method: 'GET', onClass: admin },
      rule: admin,
    },
    {
      says: 'secure: true over the default',
      input: { method: 'GET', docSecure: true },
      rule: tokenAccess,
    },
    {
      says: 'nothing for secure: false on a read',
      input: { method: 'GET', docSecure: false },
      rule: openAccess,
    },
    {
      says: 'nothing for secure: false on a write',
      input: { method: 'POST', docSecure: false },
      rule: tokenAccess,
    },
  ])('accepts $says', ({ input, rule }) => {
    expect(accessRule(input)).toBe(rule)
  })
})

describe('suffices', () => {
  const bothRoles = ['admin', 'audit']
  it.each([
    { needs: [], all: false, claims: {}, passes: true },
    { needs: bothRoles, all: false, claims: { roles: ['audit'] }, passes: true },
    { needs: bothRoles, all: true, claims: { roles: ['audit'] }, passes: false },
    { needs: bothRoles, all: true, claims: { roles: ['x', 'audit', 'admin'] }, passes: true },
    { needs: bothRoles, all: false, claims: {}, passes: false },
    { needs: ['admin'], all: false, claims: { roles: 'admin' }, passes: true },
    { needs: ['admin'], all: false, claims: { roles: 'administrator' }, passes: false },
    { needs: ['admin'], all: false, claims: { roles: { admin: true } }, passes: false },
    { needs: ['admin'], all: false, claims: { roles: [['admin']] }, passes: false },
    { needs: ['admin'], all: false, claims: { roles: ['Admin'] }, passes: false },
    { needs: bothRoles, all: true, claims: null, passes: true },
  ])('returns $passes for $claims where $needs are required, all: $all', (row) => {
    const rule = { ...tokenAccess, roles: row.needs, all: row.all }
    expect(satisfies(rule, row.claims as never, undefined)).toBe(row.passes)
  })
})

describe('fresh and amr', () => {
  const now = Math.floor(Date.now() / 1000)
  const fresh = { ...tokenAccess, fresh: 600 }
  const amr = { ...tokenAccess, amr: ['mfa', 'hwk'] }
  it.each([
    { rule: fresh, claims: { auth_time: now - 590 }, passes: true },
    { rule: fresh, claims: { auth_time: now - 610 }, passes: false },
    { rule: fresh, claims: { auth_time: String(now) }, passes: false },
    // A token from another issuer: its issue time is not the time of the sign-in.
    { rule: fresh, claims: { iat: now }, passes: false },
    { rule: fresh, claims: { auth_time: NaN }, passes: false },
    // Milliseconds instead of seconds, with which no sign-in would ever expire.
    { rule: fresh, claims: { iat: now, auth_time: now * 1000 }, passes: false },
    { rule: fresh, claims: { exp: now + 60, auth_time: now * 1000 }, passes: false },
    { rule: fresh, claims: null, passes: true },
    { rule: amr, claims: { amr: ['pwd', 'mfa'] }, passes: true },
    { rule: amr, claims: { amr: ['hwk'] }, passes: true },
    { rule: amr, claims: { amr: ['pwd'] }, passes: false },
    { rule: amr, claims: { amr: 'mfa' }, passes: false },
    { rule: amr, claims: { amr: [['mfa']] }, passes: false },
    { rule: amr, claims: {}, passes: false },
    { rule: amr, claims: null, passes: true },
  ])('returns $passes for $claims', ({ rule, claims, passes }) => {
    expect(satisfies(rule, claims as never, undefined)).toBe(passes)
    const role = { ...tokenAccess, roles: ['admin'] }
    const admin = claims === null ? null : { ...claims, roles: ['admin'] }
    expect(satisfies(requireBoth(role, rule), admin as never, undefined)).toBe(passes)
    expect(satisfies(requireBoth(rule, role), admin as never, undefined)).toBe(passes)
    expect(satisfies(requireBoth(rule, role), claims as never, undefined)).toBe(claims === null)
  })

  it('are described in words', () => {
    expect(describeDemands(requireBoth(fresh, amr))).toBe(
      'Needs a sign-in that is at most 10 minutes old. Needs a sign-in by mfa or hwk.',
    )
    expect(describeDemands({ ...fresh, fresh: 90 })).toBe(
      'Needs a sign-in that is at most 90 seconds old.',
    )
    expect(describeDemands({ ...fresh, fresh: 3600 })).toBe(
      'Needs a sign-in that is at most 1 hour old.',
    )
    expect(describeDemands(tokenAccess)).toBeUndefined()
  })
})
