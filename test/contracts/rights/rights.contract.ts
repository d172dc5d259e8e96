/**
 * Every rule of a record by every door, for everybody who may ask. Source: decisions, Second storey: rights. Tables say
 * what is asked and what each caller gets; a door is an adapter in `doors.ts`.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { alike } from './alike.js'
import { describeAnswers } from './answers.js'
import { openDoors } from './doors.js'
import { outcome, wantedOf, withoutKey } from './line.js'
import { reads } from './reads.js'
import { describeStreams } from './streams.js'
import { describeTies } from './ties.js'
import { describeView } from './view.js'
import { callers, Ground } from './world.js'
import { writes } from './writes.js'

export function describeRights(name: string, url: () => Promise<string>): void {
  describe(`${name}: the rights contract`, () => {
    const ground = new Ground()
    beforeAll(async () => {
      await ground.open(await url())
    })
    afterAll(() => ground.close())
    beforeEach(() => ground.clear())

    describe.each(openDoors)('by %s', (door, open) => {
      it.each(reads)('reading, %s', async (_rule, ask, wanted) => {
        for (const caller of callers) {
          const answer = await ask(open(ground.app, ground.tokens.get(caller)))
          expect([caller, outcome(answer)]).toEqual([caller, wantedOf(wanted, caller, door)])
        }
      })

      it.each(writes)('writing, %s', async (_rule, ask, wanted) => {
        for (const caller of callers) {
          await ground.clear()
          const before = await ground.snapshot()
          const answer = await ask(open(ground.app, ground.tokens.get(caller)))
          expect([caller, withoutKey(outcome(answer))]).toEqual([
            caller,
            withoutKey(wantedOf(wanted, caller, door)),
          ])
          if (answer.verdict !== 'done')
            expect([caller, await ground.snapshot()]).toEqual([caller, before])
        }
      })

      it.each(alike)(
        '%s is answered alike for a hidden and a missing row',
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

      describeTies(ground, open)
      describeAnswers(ground, open)
    })

    describeStreams(ground)
    describeView(ground)
  })
}
