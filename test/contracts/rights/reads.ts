/** The read operations of the rights suite, and what each caller gets. */
import { onlyFor, id, ids, list, forCallers, type Case } from './cases.js'

const places = (...all: number[]) => all.map((place) => ({ place }))

export const reads: readonly Case[] = [
  [
    'rows with a key of two fields: a list',
    (client) => client.list('Chapter', ['place'], { orderBy: 'place' }),
    { ann: places(1), bob: places(2), admin: places(1, 2), key: places(1, 2), rest: [] },
  ],
  [
    'rows with a key of two fields: a count',
    (client) => client.count('Chapter', { filter: { path: 'place', operator: 'gte', value: 1 } }),
    { ann: 1, bob: 1, admin: 2, key: 2, rest: 0 },
  ],
  [
    'rows with a key of two fields: one row',
    (client) => client.find('Chapter', 1, ['place', 'text']),
    ...forCallers({ ann: 1, admin: 1, key: 1 }, { place: 1, text: 'A' }, 'missing'),
  ],
  [
    'rows: a list',
    list('Account'),
    { ann: ids(1), bob: ids(2), admin: ids(1, 2), key: ids(1, 2), rest: [] },
  ],
  [
    'rows: a count',
    (client) => client.count('Account'),
    { ann: 1, bob: 1, admin: 2, key: 2, rest: 0 },
  ],
  [
    'rows: one row',
    (client) => client.find('Account', 1, ['id', 'iban']),
    ...forCallers({ ann: 1, admin: 1, key: 1 }, { id: '1', iban: 'DE-A' }, 'missing'),
  ],
  [
    'rows: a filter through a relation',
    list('Post', 'account.iban', 'like', 'DE-A%'),
    ...forCallers({ ann: 1, admin: 1, key: 1 }, ids(1), []),
  ],
  [
    'rows: a count through a relation',
    (client) =>
      client.count('Post', { filter: { path: 'account.iban', operator: 'eq', value: 'DE-B' } }),
    ...forCallers({ bob: 1, admin: 1, key: 1 }, 1, 0),
  ],
  [
    'rows: an order through a relation',
    (client) => client.list('Post', ['id'], { orderBy: '-account.iban' }),
    { bob: ids(2, 1), admin: ids(2, 1), key: ids(2, 1), rest: ids(1, 2) },
  ],
  [
    'rows: a filter back through a list',
    list('Account', 'posts.account.iban', 'like', 'DE%'),
    { ann: ids(1), bob: ids(2), admin: ids(1, 2), key: ids(1, 2), rest: [] },
  ],
  [
    'rows by the rows of another',
    list('Task'),
    { ann: ids(1), bob: ids(2), key: ids(1, 2), rest: [] },
  ],
  [
    'rows by links: a filter through them',
    list('Member', 'projects.name', 'like', 'p%'),
    { ann: ids(1), bob: ids(2), key: ids(1, 2), rest: [] },
  ],
  ['@Secured: a list', list('Vault'), onlyFor({ admin: 1, key: 1 }, ids(1))],
  [
    '@Secured: one row',
    (client) => client.find('Vault', 1, ['id']),
    onlyFor({ admin: 1, key: 1 }, id(1)),
  ],
  [
    '@Secured: a row that is not there',
    (client) => client.find('Vault', 9, ['id']),
    onlyFor({ admin: 1, key: 1 }, 'missing'),
  ],
  ['@Secured by the sign-in: a list', list('Till'), onlyFor({ ann: 1, key: 1 }, ids(1))],
  [
    '@Secured by the sign-in: one row',
    (client) => client.find('Till', 1, ['id']),
    onlyFor({ ann: 1, key: 1 }, id(1)),
  ],
  [
    '@Secured by the sign-in: a count',
    (client) => client.count('Till'),
    onlyFor({ ann: 1, key: 1 }, 1),
  ],
  ['@Secured: a count', (client) => client.count('Vault'), onlyFor({ admin: 1, key: 1 }, 1)],
  [
    '@Secured: a filter through a relation',
    list('Post', 'vault.word', 'like', 'g%'),
    onlyFor({ admin: 1, key: 1 }, ids(1, 2)),
  ],
  [
    '@Secured: an order through a relation',
    (client) => client.list('Post', ['id'], { orderBy: 'vault.word' }),
    onlyFor({ admin: 1, key: 1 }, ids(1, 2)),
  ],
  ['@Secured by a guard: a list', list('Shift'), onlyFor({ ann: 1, key: 1 }, ids(1))],
  [
    '@Secured by a guard: a filter through a relation',
    list('Post', 'shift.word', 'eq', 'night'),
    onlyFor({ ann: 1, key: 1 }, ids(1, 2)),
  ],
  [
    '@Secured by an asynchronous guard: a list',
    list('Ledger'),
    onlyFor({ ann: 1, key: 1 }, ids(1)),
  ],
  [
    '@Secured by an asynchronous guard: one row',
    (client) => client.find('Ledger', 1, ['id']),
    onlyFor({ ann: 1, key: 1 }, id(1)),
  ],
  [
    '@Secured by an asynchronous guard: a filter through a relation',
    list('Post', 'ledger.word', 'eq', 'debt'),
    onlyFor({ ann: 1, key: 1 }, ids(1, 2)),
  ],
  [
    '@Secured by an asynchronous guard: a count through a relation',
    (client) =>
      client.count('Post', { filter: { path: 'ledger.word', operator: 'eq', value: 'debt' } }),
    onlyFor({ ann: 1, key: 1 }, 2),
  ],
  [
    'a field with an asynchronous guard: its value',
    (client) => client.list('Staff', ['name', 'bonus']),
    ...forCallers(
      { ann: 1, key: 1 },
      [
        { name: 'Ada', bonus: 1 },
        { name: 'Bea', bonus: 2 },
      ],
      [
        { name: 'Ada', bonus: null },
        { name: 'Bea', bonus: null },
      ],
    ),
  ],
  [
    'a field with an asynchronous guard: a filter',
    list('Staff', 'bonus', 'gte', 2),
    onlyFor({ ann: 1, key: 1 }, ids(2)),
  ],
  [
    'a field with an asynchronous guard: a count',
    (client) => client.count('Staff', { filter: { path: 'bonus', operator: 'gte', value: 2 } }),
    onlyFor({ ann: 1, key: 1 }, 1),
  ],
  [
    'a field with an asynchronous guard: an order',
    (client) => client.list('Staff', ['id'], { orderBy: '-bonus' }),
    onlyFor({ ann: 1, key: 1 }, ids(2, 1)),
  ],
  [
    'a field with an asynchronous guard: an order through a relation',
    (client) => client.list('Post', ['id'], { orderBy: '-staff.bonus' }),
    onlyFor({ ann: 1, key: 1 }, ids(1, 2)),
  ],
  [
    'a field with an asynchronous guard: a filter through a relation',
    list('Post', 'staff.bonus', 'gte', 2),
    onlyFor({ ann: 1, key: 1 }, ids(1, 2)),
  ],
  [
    'a secured field: its value',
    (client) => client.list('Staff', ['name', 'salary']),
    ...forCallers(
      { admin: 1, key: 1 },
      [
        { name: 'Ada', salary: 5000 },
        { name: 'Bea', salary: 7000 },
      ],
      [
        { name: 'Ada', salary: null },
        { name: 'Bea', salary: null },
      ],
    ),
  ],
  [
    'a secured field: the value of one row',
    (client) => client.find('Staff', 1, ['name', 'salary']),
    ...forCallers(
      { admin: 1, key: 1 },
      { name: 'Ada', salary: 5000 },
      { name: 'Ada', salary: null },
    ),
  ],
  [
    'a secured field: a filter',
    list('Staff', 'salary', 'gte', 6000),
    onlyFor({ admin: 1, key: 1 }, ids(2)),
  ],
  [
    'a secured field: a count',
    (client) => client.count('Staff', { filter: { path: 'salary', operator: 'gte', value: 6000 } }),
    onlyFor({ admin: 1, key: 1 }, 1),
  ],
  [
    'a secured field: an order',
    (client) => client.list('Staff', ['id'], { orderBy: '-salary' }),
    onlyFor({ admin: 1, key: 1 }, ids(2, 1)),
  ],
  [
    'a secured field: an order through a relation',
    (client) => client.list('Post', ['id'], { orderBy: '-staff.salary' }),
    onlyFor({ admin: 1, key: 1 }, ids(1, 2)),
  ],
  [
    'a secured field: a filter through a relation',
    list('Post', 'staff.salary', 'gte', 6000),
    onlyFor({ admin: 1, key: 1 }, ids(1, 2)),
  ],
  ['hidden: a filter', list('Staff', 'secret', 'eq', 'shh'), { rest: 'invalid' }],
  [
    'hidden: an order',
    (client) => client.list('Staff', ['id'], { orderBy: 'secret' }),
    { rest: 'invalid' },
  ],
  [
    'hidden: an order through a relation',
    (client) => client.list('Post', ['id'], { orderBy: 'staff.secret' }),
    { rest: 'invalid' },
  ],
  [
    'hidden: a filter through a relation',
    list('Post', 'staff.secret', 'eq', 'shh'),
    { rest: 'invalid' },
  ],
  ['softDelete: a list', list('Draft'), { ignoresToken: true, rest: ids(1, 3) }],
  [
    'softDelete: one row',
    (client) => client.find('Draft', 2, ['id']),
    { ignoresToken: true, rest: 'missing' },
  ],
  ['writes: reading', list('Notice'), { rest: ids(1, 2) }],
  ['writes: false: reading', list('Entry'), { rest: ids(1) }],
  ['@NoAuth: reading', list('Wish'), { ignoresToken: true, rest: ids(1) }],
]
