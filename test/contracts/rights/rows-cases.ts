/** Results of `rows` that show no row. */
import type { Claims } from '../../../src/index.js'

class Filter {
  owner = 'ann'
}

/** Results that are not a filter, with a part of the logged reason. */
export const invalidResults: [string, () => unknown, string][] = [
  ['a promise', () => Promise.resolve(true), 'returned a promise'],
  ['a rejection', () => Promise.reject(new Error('lost')), 'returned a promise'],
  ['a Map', () => new Map([['owner', 'ann']]), 'returned a Map'],
  ['an empty object', () => ({}), 'without a condition'],
  ['an object of a class', () => new Filter(), 'returned a Filter'],
  ['a list', () => [{ owner: 'ann' }], 'returned a Array'],
  ['nothing', () => undefined, 'returned undefined'],
  ['a text', () => 'owner', 'returned a string'],
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

/** Claims of a token from which a rule for rows may not make a filter. */
export const claimFilters: [string, Claims, (user: Claims) => unknown][] = [
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
