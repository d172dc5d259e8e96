/** Links of many-to-many relations: a client can only link visible rows, and links to hidden rows stay. */
import { describe, expect, it } from '@jest/globals'
import type { OpenDoor } from './door.js'
import { Member, type CallerName, type Ground } from './world.js'

/** Members 1 (ann) and 2 (bob) are linked to the projects 1 and 2, which only their members see. */
export function describeTies(ground: Ground, open: OpenDoor): void {
  const tied = async (id: number): Promise<number[] | undefined> => {
    const member = await ground.database.records(Member).find(id, { with: ['projects'] })
    return member?.projects.map((project) => project.id).sort()
  }
  const retie = async (caller: CallerName, id: number, projectIds: number[]): Promise<string> => {
    const door = open(ground.app, ground.tokens.get(caller))
    return (await door.update('Member', id, { projectIds })).verdict
  }

  describe('links', () => {
    it.each<[CallerName, number[], string]>([
      ['bob', [2], 'done'],
      ['bob', [1], 'conflict'],
      ['bob', [99], 'conflict'],
      ['bob', [2, 1], 'conflict'],
      ['key', [1, 2], 'done'],
      ['admin', [1], 'conflict'],
      ['anonymous', [2], 'unauthenticated'],
      ['revoked', [1], 'unauthenticated'],
    ])('of a new row: %s names %j', async (caller, projectIds, verdict) => {
      const before = await ground.database.records(Member).count()
      const door = open(ground.app, ground.tokens.get(caller))
      const answer = await door.create('Member', { login: 'eve', projectIds })
      expect(answer.verdict).toBe(verdict)
      const isDone = verdict === 'done'
      expect(await ground.database.records(Member).count()).toBe(isDone ? before + 1 : before)
      const [made] = await ground.database.records(Member).list({ where: { login: 'eve' } })
      if (made !== undefined) expect(await tied(made.id)).toEqual(projectIds)
    })

    it('to rows that the caller does not see stay', async () => {
      expect([await retie('bob', 1, []), await tied(1)]).toEqual(['done', [1]])
      expect([await retie('bob', 1, [2]), await tied(1)]).toEqual(['done', [1, 2]])
      expect([await retie('bob', 1, []), await tied(1)]).toEqual(['done', [1]])
      expect([await retie('ann', 1, []), await tied(1)]).toEqual(['done', []])
    })

    it('to hidden rows are refused like links to missing rows', async () => {
      for (const [caller, hidden] of [
        ['bob', 1],
        ['ann', 2],
        ['guest', 1],
        ['admin', 2],
      ] as const) {
        const member = caller === 'ann' ? 1 : 2
        expect([await retie(caller, member, [hidden]), await tied(member)]).toEqual([
          'conflict',
          [member],
        ])
        expect([await retie(caller, member, [99]), await tied(member)]).toEqual([
          'conflict',
          [member],
        ])
      }
    })

    it('to a hidden and to a missing row give the same response', async () => {
      const door = open(ground.app, ground.tokens.get('bob'))
      const ofHidden = await door.update('Member', 2, { projectIds: [1] })
      const ofMissing = await door.update('Member', 2, { projectIds: [99] })
      expect(ofHidden.text).toBe(ofMissing.text)
    })
  })
}
