/**
 * The rule of a record together with the decorator of its `crud` controller: both must allow the request, and `@NoAuth`
 * opens only routes that need a token because of their HTTP method. Source: decisions, Records: access rules.
 */
import { describe, expect, it } from '@jest/globals'
import { openCrud } from './crud-doors.js'
import { outcome, wantedOf, withoutKey, type Line, type Wanted } from './line.js'
import { reads } from './reads.js'
import { callers, type CallerName, type DecoratedAt, type Ground } from './world.js'
import { writes } from './writes.js'

type Closed = Exclude<DecoratedAt, '' | '/open'>

/** The callers that each decorator allows. */
const admitted: Readonly<Record<Closed, readonly CallerName[]>> = {
  '/token': ['ann', 'bob', 'guest', 'admin', 'key'],
  '/role': ['guest', 'key'],
  '/guard': ['ann', 'key'],
}

export function describeDecorated(ground: Ground): void {
  describe.each([
    ['@Secured', '/token'],
    ["@Secured('guest')", '/role'],
    ['@Secured by a guard', '/guard'],
    ['@NoAuth', '/open'],
  ] as const)('by crud of a controller with %s', (_decorator, at) => {
    const ask = async ([, asked, wanted]: Line, isWrite: boolean): Promise<void> => {
      let before = isWrite ? await ground.snapshot() : undefined
      for (const caller of callers) {
        const answer = await asked(openCrud(ground.app, ground.tokens.get(caller), at))
        const expected = at === '/open' ? opened(wanted, caller) : narrowed(wanted, caller, at)
        expect([caller, withoutKey(outcome(answer))]).toEqual([caller, withoutKey(expected)])
        if (!isWrite) continue
        if (answer.verdict !== 'done')
          expect([caller, await ground.snapshot()]).toEqual([caller, before])
        else {
          await ground.clear()
          before = await ground.snapshot()
        }
      }
    }
    it.each(reads)('reading, %s', (...line) => ask(line, false))
    it.each(writes)('writing, %s', (...line) => ask(line, true))
  })
}

/** The result by the rule of the record, for callers that the controller allows. */
function narrowed(wanted: Wanted, caller: CallerName, at: Closed): unknown {
  // The route does not exist for any caller.
  if (wanted.others === 'none') return 'none'
  if (caller === 'anonymous' || caller === 'revoked') return 'unauthenticated'
  return admitted[at].includes(caller) ? wantedOf(wanted, caller, 'crud') : 'forbidden'
}

/** The HTTP method needs no token any more, and the rule of the record applies. */
function opened(wanted: Wanted, caller: CallerName): unknown {
  const byVerb = wanted.anonymous === 'unauthenticated' && wanted.byRule !== true
  if (byVerb && caller === 'anonymous') return wanted.others
  if (wanted.plainIfOpen === true && caller === 'revoked') return wanted.others
  return wantedOf(wanted, caller, 'crud')
}
