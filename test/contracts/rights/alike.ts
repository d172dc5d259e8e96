/** Operations whose response must not show whether a row is hidden or missing. */
import type { Answer, Door } from './door.js'
import { list } from './line.js'

export const alike: readonly (readonly [
  string,
  (door: Door, id: number) => Promise<Answer>,
  number,
])[] = [
  ['one row', (door, one) => door.find('Account', one, ['id']), 1],
  ['an update', (door, one) => door.update('Account', one, { iban: 'X' }), 1],
  ['an empty update', (door, one) => door.update('Account', one, {}), 1],
  ['a delete', (door, one) => door.delete('Account', one), 1],
  ['a key of a new row', (door, one) => door.create('Post', { title: 'x', accountId: one }), 1],
  ['a key of an old row', (door, one) => door.update('Post', 2, { accountId: one }), 1],
  [
    'a key of a row by another',
    (door, one) => door.create('Task', { text: 'x', projectId: one }),
    1,
  ],
  [
    'a key in addition to an invalid one',
    (door, one) => door.create('Post', { title: 'x', accountId: one, vaultId: 77 }),
    1,
  ],
  ['a filter by key', (door, one) => list('Post', 'account.id', 'eq', one)(door), 1],
  ['one row that is softly deleted', (door, one) => door.find('Draft', one, ['id']), 2],
  [
    'a key of one that is softly deleted',
    (door, one) => door.create('Post', { title: 'x', draftId: one }),
    2,
  ],
]
