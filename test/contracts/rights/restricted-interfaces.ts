/**
 * The access rules of a record through interfaces that restrict access further: the admin API requires a role, and the
 * decorator of a `crud` controller has to allow the request too. `@NoAuth` opens only routes that need a token because of
 * their HTTP method. Source: specification, Admin page; decisions, Records: access rules.
 */
import { describe, it } from '@jest/globals'
import { openAdminMany, openAdminRows } from './admin-clients.js'
import { expectedFor, expectForCallers, type Expectation } from './cases.js'
import { openCrud } from './crud-clients.js'
import type { CallerName, DecoratedAt, Fixture } from './fixture.js'
import { reads } from './reads.js'
import type { RecordClient } from './record-client.js'
import { writes } from './writes.js'

type RestrictedPath = Exclude<DecoratedAt, '' | '/open'>

/** The callers that each decorator allows. */
const allowedCallers: Readonly<Record<RestrictedPath, readonly CallerName[]>> = {
  '/token': ['ann', 'bob', 'guest', 'admin', 'key'],
  '/role': ['guest', 'key'],
  '/guard': ['ann', 'key'],
}

export function describeRestrictedInterfaces(fixture: Fixture): void {
  const describeCases = (
    open: (token: string | undefined) => RecordClient,
    expectedOf: (expectation: Expectation, caller: CallerName, actual: unknown) => unknown,
  ): void => {
    it.each(reads)('reading, %s', (_rule, operation, expectation) =>
      expectForCallers(fixture, open, operation, false, (caller, actual) =>
        expectedOf(expectation, caller, actual),
      ),
    )
    it.each(writes)('writing, %s', (_rule, operation, expectation) =>
      expectForCallers(fixture, open, operation, true, (caller, actual) =>
        expectedOf(expectation, caller, actual),
      ),
    )
  }

  describe.each([
    ['@Secured', '/token'],
    ["@Secured('guest')", '/role'],
    ['@Secured by a guard', '/guard'],
    ['@NoAuth', '/open'],
  ] as const)('by crud of a controller with %s', (_decorator, at) => {
    describeCases(
      (token) => openCrud(fixture.app, token, at),
      (expectation, caller) =>
        at === '/open' ? expectedIfOpen(expectation, caller) : expectedAt(at, expectation, caller),
    )
  })

  describe.each([
    ['rows of the admin page', openAdminRows],
    ['files and many rows of the admin page', openAdminMany],
  ])('by %s', (_client, open) => {
    describeCases((token) => open(fixture.app, token), expectedForAdmin)
  })
}

/** The result by the rule of the record, for callers that the controller allows. */
function expectedAt(at: RestrictedPath, expectation: Expectation, caller: CallerName): unknown {
  // The route does not exist for any caller.
  if (expectation.rest === 'none') return 'none'
  if (caller === 'anonymous' || caller === 'revoked') return 'unauthenticated'
  return allowedCallers[at].includes(caller)
    ? expectedFor(expectation, caller, 'crud')
    : 'forbidden'
}

/** The HTTP method needs no token any more, and the rule of the record applies. */
function expectedIfOpen(expectation: Expectation, caller: CallerName): unknown {
  const byVerb = expectation.anonymous === 'unauthenticated' && expectation.requiredByRule !== true
  if (byVerb && caller === 'anonymous') return expectation.rest
  if (expectation.ignoresTokenIfOpen === true && caller === 'revoked') return expectation.rest
  return expectedFor(expectation, caller, 'crud')
}

function expectedForAdmin(expectation: Expectation, caller: CallerName, actual: unknown): unknown {
  // The route does not exist, or it refuses the record.
  if (expectation.rest === 'none')
    return ['none', 'forbidden', 'unauthenticated'].includes(actual as string) ? actual : 'none'
  if (caller === 'anonymous' || caller === 'revoked') return 'unauthenticated'
  return expectedFor(expectation, caller, 'admin')
}
