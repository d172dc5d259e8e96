/** Results of `rows` that are not a filter: no row is visible, and a token's claims never become a filter. */
import { describe, expect, it } from '@jest/globals'
import { Auth } from '../../../src/index.js'
import type { OpenClient } from './record-client.js'
import { valueOrOutcome } from './cases.js'
import { Note, noteRows, type Fixture } from './fixture.js'
import { claimFilters, invalidResults } from './rows-cases.js'

/** Note 1 belongs to ann, and post 1, which is public, refers to it. */
export function describeRowsResults(fixture: Fixture, open: OpenClient): void {
  const expectNothing = async (token: string): Promise<void> => {
    const client = open(fixture.app, token)
    const before = await fixture.snapshot()
    expect({
      list: valueOrOutcome(await client.list('Note', ['id'])),
      count: valueOrOutcome(await client.count('Note')),
      find: valueOrOutcome(await client.find('Note', 1, ['id'])),
      filter: valueOrOutcome(
        await client.list('Post', ['id'], {
          filter: { path: 'note.owner', operator: 'like', value: '%' },
        }),
      ),
      create: valueOrOutcome(await client.create('Note', { text: 'x', owner: 'ann' })),
      update: valueOrOutcome(await client.update('Note', 1, { text: 'x' })),
      delete: valueOrOutcome(await client.delete('Note', 1)),
      key: valueOrOutcome(await client.create('Post', { title: 'x', noteId: 1 })),
    }).toEqual({
      list: [],
      count: 0,
      find: 'missing',
      filter: [],
      create: 'forbidden',
      update: 'missing',
      delete: 'missing',
      key: 'conflict',
    })
    expect(await fixture.snapshot()).toEqual(before)
  }

  describe('rows', () => {
    it.each(invalidResults)(
      'that returns %s shows and writes nothing, and logs the reason',
      async (...testCase) => {
        const [, result, reason] = testCase
        noteRows.rows = result
        fixture.loggedErrors.length = 0
        await expectNothing(fixture.tokens.get('ann') ?? '')
        const errors = fixture.loggedErrors.filter((testCase) => testCase.startsWith('Note: rows '))
        expect(errors.join()).toContain(reason)
      },
    )

    it.each(claimFilters)(
      'that uses %s of a token shows nothing',
      async (_what, claims, result) => {
        noteRows.rows = (user) => user !== null && result(user)
        await expectNothing(await fixture.app.get(Auth).getToken(claims))
      },
    )

    it('that uses a list of names of a token shows the rows with those names', async () => {
      noteRows.rows = (user) => user !== null && { owner: { in: user.teams } }
      const token = await fixture.app.get(Auth).getToken({ sub: 'x', teams: ['ann', 'zoe'] })
      const client = open(fixture.app, token)
      expect(valueOrOutcome(await client.list('Note', ['id']))).toEqual([{ id: '1' }])
      expect(await fixture.database.records(Note).count()).toBe(1)
    })
  })
}
