/**
 * Every access rule of a record, through every interface and for every caller. Source: decisions, Records: access rules.
 * `reads.ts` and `writes.ts` list the operations and what each caller gets. A client runs them through one interface.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { describeAdmin } from './admin.js'
import { alike } from './alike.js'
import { describeAnswers } from './answers.js'
import { describeDecorated } from './decorated.js'
import { openAgentsDoors, openDoors } from './doors.js'
import { outcome, wantedOf, withoutKey } from './line.js'
import { reads } from './reads.js'
import { describeStreams } from './streams.js'
import { describeTies } from './ties.js'
import { describeView } from './view.js'
import { callers, Ground, guards } from './world.js'
import { writes } from './writes.js'

export function describeRights(name: string, url: () => Promise<string>): void {
  describe(`${name}: the rights contract`, () => {
    const ground = new Ground()
    beforeAll(async () => {
      await ground.open(await url())
    })
    afterAll(() => ground.close())
    beforeEach(() => ground.clear())

    const doors = name === 'SQLite' ? [...openDoors, ...openAgentsDoors] : openDoors
    describe.each(doors)('by %s', (door, open) => {
      it.each(reads)('reading, %s', async (_rule, ask, wanted) => {
        for (const caller of callers) {
          const answer = await ask(open(ground.app, ground.tokens.get(caller)))
          expect([caller, outcome(answer)]).toEqual([caller, wantedOf(wanted, caller, door)])
        }
        ground.unchanged()
      })

      it.each(writes)('writing, %s', async (_rule, ask, wanted) => {
        for (const caller of callers) {
          await ground.clear()
          const before = await ground.cleared()
          const answer = await ask(open(ground.app, ground.tokens.get(caller)))
          expect([caller, withoutKey(outcome(answer))]).toEqual([
            caller,
            withoutKey(wantedOf(wanted, caller, door)),
          ])
          if (answer.verdict !== 'done') {
            expect([caller, await ground.snapshot()]).toEqual([caller, before])
            ground.unchanged()
          }
        }
      })

      it.each(alike)(
        '%s gives the same response for a hidden and a missing row',
        async (_what, ask, hidden) => {
          for (const caller of ['anonymous', 'bob', 'guest', 'revoked'] as const) {
            const token = ground.tokens.get(caller)
            await ground.clear()
            const ofHidden = await ask(open(ground.app, token), hidden)
            await ground.clear()
            const ofMissing = await ask(open(ground.app, token), 99)
            const told = ofHidden.text.replaceAll(`Account ${hidden}.`, 'Account 99.')
            expect([caller, told]).toEqual([caller, ofMissing.text])
          }
        },
      )

      it('a guard that throws shows and writes nothing', async () => {
        const { app } = ground
        const door = open(app, ground.tokens.get('ann'))
        const before = await ground.snapshot()
        guards.fail = true
        try {
          const asked = [
            door.list('Staff', ['id'], { filter: { path: 'bonus', operator: 'gte', value: 2 } }),
            door.list('Staff', ['id'], { orderBy: 'bonus' }),
            door.update('Staff', 1, { bonus: 9 }),
            door.create('Staff', { name: 'C', bonus: 9 }),
            door.list('Ledger', ['id']),
          ]
          // An error of the application itself, which the tables do not contain.
          for (const one of await Promise.allSettled(asked))
            expect(one).toMatchObject({
              status: 'rejected',
              reason: { message: expect.stringMatching(/internal.server.error/i) },
            })
        } finally {
          guards.fail = false
        }
        expect(await ground.snapshot()).toEqual(before)
      })

      describeTies(ground, open)
      describeAnswers(ground, open)
    })

    describeDecorated(ground)
    describeAdmin(ground)
    describeStreams(ground)
    describeView(ground)
  })
}
