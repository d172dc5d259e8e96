/**
 * The access rules of a record through the admin API, which also requires a role. Source: specification, Admin page;
 * decisions, Records: access rules.
 */
import { describe, expect, it } from '@jest/globals'
import { openAdminMany, openAdminRows } from './admin-doors.js'
import type { OpenDoor } from './door.js'
import { outcome, wantedOf, withoutKey, type Line, type Wanted } from './line.js'
import { reads } from './reads.js'
import { callers, type CallerName, type Ground } from './world.js'
import { writes } from './writes.js'

const doors: readonly [string, OpenDoor][] = [
  ['rows of the admin page', openAdminRows],
  ['files and many rows of the admin page', openAdminMany],
]

export function describeAdmin(ground: Ground): void {
  describe.each(doors)('by %s', (_door, open) => {
    const ask = async ([, asked, wanted]: Line, isWrite: boolean): Promise<void> => {
      let before = isWrite ? await ground.snapshot() : undefined
      for (const caller of callers) {
        const answer = await asked(open(ground.app, ground.tokens.get(caller)))
        const given = withoutKey(outcome(answer))
        expect([caller, given]).toEqual([caller, withoutKey(expected(wanted, caller, given))])
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

function expected(wanted: Wanted, caller: CallerName, given: unknown): unknown {
  // The route does not exist, or it refuses the record.
  if (wanted.others === 'none')
    return ['none', 'forbidden', 'unauthenticated'].includes(given as string) ? given : 'none'
  if (caller === 'anonymous' || caller === 'revoked') return 'unauthenticated'
  return wantedOf(wanted, caller, 'admin')
}
