import { describe, expect, it } from '@jest/globals'
import type { AccessRule } from '../../src/auth/access.js'
import { type Guard, NoAuth, Secured } from '../../src/index.js'
import {
  accessRule,
  classAccess,
  describeDemands,
  openAccess,
  readHandlerAccess,
  combineRules,
  satisfies,
  tokenAccess,
} from './fixtures.js'

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
    expect(satisfies(combineRules(role, rule), admin as never, undefined)).toBe(passes)
    expect(satisfies(combineRules(rule, role), admin as never, undefined)).toBe(passes)
    expect(satisfies(combineRules(rule, role), claims as never, undefined)).toBe(claims === null)
  })

  it('are described in words', () => {
    expect(describeDemands(combineRules(fresh, amr))).toBe(
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

const guard: Guard = (claims, request) => claims?.sub === request.params.id

class Plain {
  @Secured bare(): void {}
  @Secured() called(): void {}
  @Secured('admin') role(): void {}
  @Secured('admin', 'editor') anyRole(): void {}
  @Secured({ roles: ['admin', 'audit'], all: true }) allRoles(): void {}
  @Secured({ roles: ['admin'] }) listed(): void {}
  @Secured(guard) guarded(): void {}
  @NoAuth open(): void {}
  @NoAuth() openCalled(): void {}
  silent(): void {}
}

describe('Secured and NoAuth', () => {
  it.each([
    { member: 'bare', note: tokenAccess },
    { member: 'called', note: tokenAccess },
    { member: 'role', note: { ...tokenAccess, roles: ['admin'] } },
    { member: 'anyRole', note: { ...tokenAccess, roles: ['admin', 'editor'] } },
    { member: 'allRoles', note: { ...tokenAccess, roles: ['admin', 'audit'], all: true } },
    { member: 'listed', note: { ...tokenAccess, roles: ['admin'] } },
    { member: 'guarded', note: { ...tokenAccess, guard } },
    { member: 'open', note: openAccess },
    { member: 'openCalled', note: openAccess },
  ])('record the access rule of $member', ({ member, note }) => {
    expect(readHandlerAccess(Plain, member)).toEqual({ onMethod: note, problems: [] })
  })

  it('record nothing for a method without a decorator', () => {
    expect(readHandlerAccess(Plain, 'silent')).toEqual({ problems: [] })
  })

  it('on the class apply to every method', () => {
    @Secured('admin')
    class Closed {
      @NoAuth hook(): void {}
      list(): void {}
    }
    const onClass = { ...tokenAccess, roles: ['admin'] }
    expect(readHandlerAccess(Closed, 'hook')).toEqual({
      onMethod: openAccess,
      onClass,
      problems: [],
    })
    expect(readHandlerAccess(Closed, 'list')).toEqual({ onClass, problems: [] })
    expect(classAccess(Closed)).toEqual({ rule: onClass, problems: [] })
  })

  it('reads a bare decorator on a class', () => {
    @NoAuth
    class Open {}
    expect(classAccess(Open)).toEqual({ rule: openAccess, problems: [] })
  })

  it('of a base class apply until the subclass has its own', () => {
    @Secured
    class Base {
      @Secured('admin') one(): void {}
      @Secured('admin') two(): void {}
    }
    @NoAuth
    class Derived extends Base {
      @NoAuth override two(): void {}
    }
    expect(readHandlerAccess(Derived, 'one').onMethod?.roles).toEqual(['admin'])
    expect(readHandlerAccess(Derived, 'two')).toEqual({
      onMethod: openAccess,
      onClass: openAccess,
      problems: [],
    })
    expect(readHandlerAccess(Base, 'two').onMethod?.roles).toEqual(['admin'])
  })
})

describe('readHandlerAccess', () => {
  it('reports both decorators on one handler, which stays closed', () => {
    class Torn {
      @Secured @NoAuth save(): void {}
    }
    expect(readHandlerAccess(Torn, 'save')).toEqual({
      onMethod: tokenAccess,
      problems: [
        {
          code: 'ACCESS_CONTRADICTION',
          message: 'Torn.save is both @Secured and @NoAuth.',
          remedy: 'Remove one of them.',
        },
      ],
    })
  })

  it('reports both decorators on one class', () => {
    @NoAuth
    @Secured
    class Torn {
      list(): void {}
    }
    expect(readHandlerAccess(Torn, 'list').problems.map(({ message }) => message)).toEqual([
      'Torn is both @Secured and @NoAuth.',
    ])
  })

  it('reports one decorator written twice', () => {
    class Twice {
      @Secured('a') @Secured('b') save(): void {}
    }
    expect(readHandlerAccess(Twice, 'save').problems[0]).toMatchObject({
      code: 'ACCESS_CONTRADICTION',
      message: 'Twice.save has @Secured more than once.',
    })
  })

  it.each([
    { says: [''], message: 'takes roles as non-empty text' },
    { says: ['admin', 7], message: 'takes roles as non-empty text' },
    { says: [null], message: 'takes roles as non-empty text' },
    { says: [{ roles: [] }], message: 'Write a list with at least one role' },
    { says: [{ roles: 'admin' }], message: 'Write a list with at least one role' },
    { says: [{}], message: 'needs roles, fresh or amr' },
    { says: [{ fresh: '10 minutes' }], message: 'fresh cannot be used. Write a length of time' },
    { says: [{ fresh: 0 }], message: 'fresh cannot be 0. Write a length of time' },
    { says: [{ fresh: null }], message: 'fresh cannot be used. Write a length of time' },
    { says: [{ amr: [] }], message: 'amr cannot be used. Write text' },
    { says: [{ amr: 7 }], message: 'amr cannot be 7. Write text' },
    { says: [{ amr: ['mfa', ''] }], message: 'amr cannot be used. Write text' },
    { says: [{ all: true, fresh: '10m' }], message: '"all" needs roles' },
    { says: [{ fersh: '10m' }], message: 'unknown option "fersh". Did you mean "fresh"?' },
    { says: [{ role: ['admin'] }], message: 'unknown option "role". Did you mean "roles"?' },
    {
      says: [{ roles: ['admin'], all: 'yes' }],
      message: 'all cannot be used. Write true or false.',
    },
    { says: [guard, guard], message: 'takes roles as non-empty text' },
  ])('reports @Secured with $says', ({ says, message }) => {
    const secure = Secured as (...args: unknown[]) => MethodDecorator
    class Odd {
      @secure(...says)
      save(): void {}
    }
    const { onMethod, problems } = readHandlerAccess(Odd, 'save')
    expect(onMethod?.open).toBe(false)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatchObject({ code: 'ACCESS_DECLARATION' })
    expect(problems[0]?.message).toMatch(/^Odd\.save: @Secured/)
    expect(problems[0]?.message).toContain(message)
  })

  it('reports arguments of @NoAuth', () => {
    const noAuth = NoAuth as (...args: unknown[]) => MethodDecorator
    class Odd {
      @noAuth('admin')
      save(): void {}
    }
    expect(readHandlerAccess(Odd, 'save').problems[0]?.message).toBe(
      'Odd.save: @NoAuth takes no arguments.',
    )
  })

  it('reports a decorator on a field and on a static method', () => {
    class Misplaced {
      @Secured handler = (): void => undefined
      @Secured static make(): void {}
    }
    expect(readHandlerAccess(Misplaced, 'handler').problems[0]?.message).toBe(
      'Misplaced.handler: @Secured is on a field, which is not a handler.',
    )
    expect(readHandlerAccess(Misplaced, 'make').problems[0]?.message).toBe(
      'Misplaced.make: @Secured is on a static method, which is not a handler.',
    )
  })
})
