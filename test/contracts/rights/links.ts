/** Links of many-to-many relations: a client can only link visible rows, and links to hidden rows stay. */
import { describe, expect, it } from '@jest/globals'
import { withMissingKey } from './cases.js'
import type { OpenClient } from './record-client.js'
import { Member, type CallerName, type Fixture } from './fixture.js'

/** Members 1 (ann) and 2 (bob) are linked to the projects 1 and 2, which only their members see. */
export function describeLinks(fixture: Fixture, open: OpenClient): void {
  const linkedProjects = async (id: number): Promise<number[] | undefined> => {
    const member = await fixture.database.records(Member).find(id, { with: ['projects'] })
    return member?.projects.map((project) => project.id).sort()
  }
  const setProjects = async (
    caller: CallerName,
    id: number,
    projectIds: number[],
  ): Promise<string> => {
    const client = open(fixture.app, fixture.tokens.get(caller))
    return (await client.update('Member', id, { projectIds })).outcome
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
    ])('of a new row: %s names %j', async (caller, projectIds, outcome) => {
      const before = await fixture.database.records(Member).count()
      const client = open(fixture.app, fixture.tokens.get(caller))
      const result = await client.create('Member', { login: 'eve', projectIds })
      expect(result.outcome).toBe(outcome)
      const isDone = outcome === 'done'
      expect(await fixture.database.records(Member).count()).toBe(isDone ? before + 1 : before)
      const [created] = await fixture.database.records(Member).list({ where: { login: 'eve' } })
      if (created !== undefined) expect(await linkedProjects(created.id)).toEqual(projectIds)
    })

    it('to rows that the caller does not see stay', async () => {
      expect([await setProjects('bob', 1, []), await linkedProjects(1)]).toEqual(['done', [1]])
      expect([await setProjects('bob', 1, [2]), await linkedProjects(1)]).toEqual(['done', [1, 2]])
      expect([await setProjects('bob', 1, []), await linkedProjects(1)]).toEqual(['done', [1]])
      expect([await setProjects('ann', 1, []), await linkedProjects(1)]).toEqual(['done', []])
    })

    it('to hidden rows are refused like links to missing rows', async () => {
      for (const [caller, hidden] of [
        ['bob', 1],
        ['ann', 2],
        ['guest', 1],
        ['admin', 2],
      ] as const) {
        const member = caller === 'ann' ? 1 : 2
        expect([await setProjects(caller, member, [hidden]), await linkedProjects(member)]).toEqual(
          ['conflict', [member]],
        )
        expect([await setProjects(caller, member, [99]), await linkedProjects(member)]).toEqual([
          'conflict',
          [member],
        ])
      }
    })

    it('to a hidden and to a missing row give the same response', async () => {
      const client = open(fixture.app, fixture.tokens.get('bob'))
      const ofHidden = await client.update('Member', 2, { projectIds: [1] })
      const ofMissing = await client.update('Member', 2, { projectIds: [99] })
      expect(withMissingKey(ofHidden.text, 1)).toBe(ofMissing.text)
    })
  })
}
