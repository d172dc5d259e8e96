/** Results of `rows` that are not a filter: no row is visible, and a token's claims never become a filter. */
import { describe, expect, it } from '@jest/globals'
import { Auth, type Claims } from '../../../src/index.js'
import type { OpenDoor } from './door.js'
import { outcome } from './line.js'
import { Note, noteRows, type Ground } from './world.js'

class Filter {
  owner = 'ann'
}

const wrong: [string, () => unknown, string][] = [
  ['a promise', () => Promise.resolve(true), 'answered a promise'],
  ['a rejection', () => Promise.reject(new Error('lost')), 'answered a promise'],
  ['a Map', () => new Map([['owner', 'ann']]), 'answered a Map'],
  ['an empty object', () => ({}), 'without a condition'],
  ['an object of a class', () => new Filter(), 'answered a Filter'],
  ['a list', () => [{ owner: 'ann' }], 'answered a Array'],
  ['nothing', () => undefined, 'answered undefined'],
  ['a text', () => 'owner', 'answered a string'],
  ['an unknown field', () => ({ ownr: 'ann' }), 'cannot be used'],
  ['an empty test', () => ({ owner: {} }), 'without a condition'],
  ['an empty and', () => ({ and: [] }), 'without a condition'],
  [
    'a throw',
    () => {
      throw new Error('broken')
    },
    'threw',
  ],
]

const claimed: [string, Claims, (user: Claims) => unknown][] = [
  ['an object for a value', { sub: 'x', team: { ne: 'x' } }, ({ team }) => ({ owner: team })],
  ['a list for a value', { sub: 'x', team: ['ann'] }, ({ team }) => ({ owner: team })],
  ['a list for and', { sub: 'x', team: [{ owner: 'ann' }] }, ({ team }) => ({ and: team })],
  [
    'a part of a list',
    { sub: 'x', team: [{ ne: 'x' }] },
    ({ team }) => ({ owner: (team as unknown[])[0] }),
  ],
  ['the claims themselves', { sub: 'x', owner: 'ann' }, (user) => user],
]

/** Note 1 belongs to ann, and post 1, which is public, refers to it. */
export function describeAnswers(ground: Ground, open: OpenDoor): void {
  const expectNothing = async (token: string): Promise<void> => {
    const door = open(ground.app, token)
    const before = await ground.snapshot()
    expect({
      list: outcome(await door.list('Note', ['id'])),
      count: outcome(await door.count('Note')),
      find: outcome(await door.find('Note', 1, ['id'])),
      filter: outcome(
        await door.list('Post', ['id'], {
          filter: { path: 'note.owner', operator: 'like', value: '%' },
        }),
      ),
      create: outcome(await door.create('Note', { text: 'x', owner: 'ann' })),
      update: outcome(await door.update('Note', 1, { text: 'x' })),
      delete: outcome(await door.delete('Note', 1)),
      key: outcome(await door.create('Post', { title: 'x', noteId: 1 })),
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
    expect(await ground.snapshot()).toEqual(before)
  }

  describe('rows', () => {
    it.each(wrong)('that returns %s shows and writes nothing, and logs the reason', async (...line) => {
      const [, answer, told] = line
      noteRows.ask = answer
      ground.faults.length = 0
      await expectNothing(ground.tokens.get('ann') ?? '')
      const said = ground.faults.filter((line) => line.startsWith('Note: rows '))
      expect(said.join()).toContain(told)
    })

    it.each(claimed)(
      'that uses %s of a token shows nothing',
      async (_what, claims, answer) => {
        noteRows.ask = (user) => user !== null && answer(user)
        await expectNothing(await ground.app.get(Auth).getToken(claims))
      },
    )

    it('that uses a list of names of a token shows the rows with those names', async () => {
      noteRows.ask = (user) => user !== null && { owner: { in: user.teams } }
      const token = await ground.app.get(Auth).getToken({ sub: 'x', teams: ['ann', 'zoe'] })
      const door = open(ground.app, token)
      expect(outcome(await door.list('Note', ['id']))).toEqual([{ id: '1' }])
      expect(await ground.database.records(Note).count()).toBe(1)
    })
  })
}
