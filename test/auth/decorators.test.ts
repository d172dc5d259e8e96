import { describe, expect, it } from '@jest/globals'
import { type Guard, NoAuth, Secured } from '../../src/index.js'
import { openAccess, tokenAccess } from '../../src/auth/access.js'
import { readHandlerAccess, classAccess } from '../../src/auth/decorators.js'

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
    { says: [{ roles: [] }], message: 'needs a list with at least one role' },
    { says: [{ roles: 'admin' }], message: 'needs a list with at least one role' },
    { says: [{}], message: 'needs roles, fresh or amr' },
    { says: [{ fresh: '10 minutes' }], message: '"fresh" is not a length of time' },
    { says: [{ fresh: 0 }], message: '"fresh" is not a length of time' },
    { says: [{ fresh: null }], message: '"fresh" is not a length of time' },
    { says: [{ amr: [] }], message: '"amr" is not text' },
    { says: [{ amr: 7 }], message: '"amr" is not text' },
    { says: [{ amr: ['mfa', ''] }], message: '"amr" is not text' },
    { says: [{ all: true, fresh: '10m' }], message: '"all" needs roles' },
    { says: [{ fersh: '10m' }], message: 'unknown option "fersh". Did you mean "fresh"?' },
    { says: [{ role: ['admin'] }], message: 'unknown option "role". Did you mean "roles"?' },
    { says: [{ roles: ['admin'], all: 'yes' }], message: '"all" must be true or false' },
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
