/** The read operations of the rights suite, and what each caller gets. */
import { closed, id, ids, list, same, type Line } from './line.js'

export const reads: readonly Line[] = [
  [
    'rows: a list',
    list('Account'),
    { ann: ids(1), bob: ids(2), admin: ids(1, 2), key: ids(1, 2), others: [] },
  ],
  [
    'rows: a count',
    (door) => door.count('Account'),
    { ann: 1, bob: 1, admin: 2, key: 2, others: 0 },
  ],
  [
    'rows: one row',
    (door) => door.find('Account', 1, ['id', 'iban']),
    ...same({ ann: 1, admin: 1, key: 1 }, { id: '1', iban: 'DE-A' }, 'missing'),
  ],
  [
    'rows: a filter through a relation',
    list('Post', 'account.iban', 'like', 'DE-A%'),
    ...same({ ann: 1, admin: 1, key: 1 }, ids(1), []),
  ],
  [
    'rows: a count through a relation',
    (door) =>
      door.count('Post', { filter: { path: 'account.iban', operator: 'eq', value: 'DE-B' } }),
    ...same({ bob: 1, admin: 1, key: 1 }, 1, 0),
  ],
  [
    'rows: an order through a relation',
    (door) => door.list('Post', ['id'], { orderBy: '-account.iban' }),
    { bob: ids(2, 1), admin: ids(2, 1), key: ids(2, 1), others: ids(1, 2) },
  ],
  [
    'rows: a filter back through a list',
    list('Account', 'posts.account.iban', 'like', 'DE%'),
    { ann: ids(1), bob: ids(2), admin: ids(1, 2), key: ids(1, 2), others: [] },
  ],
  [
    'rows by the rows of another',
    list('Task'),
    { ann: ids(1), bob: ids(2), key: ids(1, 2), others: [] },
  ],
  [
    'rows by links: a filter through them',
    list('Member', 'projects.name', 'like', 'p%'),
    { ann: ids(1), bob: ids(2), key: ids(1, 2), others: [] },
  ],
  ['@Secured: a list', list('Vault'), closed({ admin: 1, key: 1 }, ids(1))],
  [
    '@Secured: one row',
    (door) => door.find('Vault', 1, ['id']),
    closed({ admin: 1, key: 1 }, id(1)),
  ],
  [
    '@Secured: a row that is not there',
    (door) => door.find('Vault', 9, ['id']),
    closed({ admin: 1, key: 1 }, 'missing'),
  ],
  ['@Secured by the sign-in: a list', list('Till'), closed({ ann: 1, key: 1 }, ids(1))],
  [
    '@Secured by the sign-in: one row',
    (door) => door.find('Till', 1, ['id']),
    closed({ ann: 1, key: 1 }, id(1)),
  ],
  ['@Secured by the sign-in: a count', (door) => door.count('Till'), closed({ ann: 1, key: 1 }, 1)],
  ['@Secured: a count', (door) => door.count('Vault'), closed({ admin: 1, key: 1 }, 1)],
  [
    '@Secured: a filter through a relation',
    list('Post', 'vault.word', 'like', 'g%'),
    closed({ admin: 1, key: 1 }, ids(1, 2)),
  ],
  [
    '@Secured: an order through a relation',
    (door) => door.list('Post', ['id'], { orderBy: 'vault.word' }),
    closed({ admin: 1, key: 1 }, ids(1, 2)),
  ],
  ['@Secured by a guard: a list', list('Shift'), closed({ ann: 1, key: 1 }, ids(1))],
  [
    '@Secured by a guard: a filter through a relation',
    list('Post', 'shift.word', 'eq', 'night'),
    closed({ ann: 1, key: 1 }, ids(1, 2)),
  ],
  [
    '@Secured by an asynchronous guard: a list',
    list('Ledger'),
    closed({ ann: 1, key: 1 }, ids(1)),
  ],
  [
    '@Secured by an asynchronous guard: one row',
    (door) => door.find('Ledger', 1, ['id']),
    closed({ ann: 1, key: 1 }, id(1)),
  ],
  [
    '@Secured by an asynchronous guard: a filter through a relation',
    list('Post', 'ledger.word', 'eq', 'debt'),
    closed({ ann: 1, key: 1 }, ids(1, 2)),
  ],
  [
    '@Secured by an asynchronous guard: a count through a relation',
    (door) =>
      door.count('Post', { filter: { path: 'ledger.word', operator: 'eq', value: 'debt' } }),
    closed({ ann: 1, key: 1 }, 2),
  ],
  [
    'a field with an asynchronous guard: its value',
    (door) => door.list('Staff', ['name', 'bonus']),
    ...same(
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
    closed({ ann: 1, key: 1 }, ids(2)),
  ],
  [
    'a field with an asynchronous guard: a count',
    (door) => door.count('Staff', { filter: { path: 'bonus', operator: 'gte', value: 2 } }),
    closed({ ann: 1, key: 1 }, 1),
  ],
  [
    'a field with an asynchronous guard: an order',
    (door) => door.list('Staff', ['id'], { orderBy: '-bonus' }),
    closed({ ann: 1, key: 1 }, ids(2, 1)),
  ],
  [
    'a field with an asynchronous guard: an order through a relation',
    (door) => door.list('Post', ['id'], { orderBy: '-staff.bonus' }),
    closed({ ann: 1, key: 1 }, ids(1, 2)),
  ],
  [
    'a field with an asynchronous guard: a filter through a relation',
    list('Post', 'staff.bonus', 'gte', 2),
    closed({ ann: 1, key: 1 }, ids(1, 2)),
  ],
  [
    'a secured field: its value',
    (door) => door.list('Staff', ['name', 'salary']),
    ...same(
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
    (door) => door.find('Staff', 1, ['name', 'salary']),
    ...same({ admin: 1, key: 1 }, { name: 'Ada', salary: 5000 }, { name: 'Ada', salary: null }),
  ],
  [
    'a secured field: a filter',
    list('Staff', 'salary', 'gte', 6000),
    closed({ admin: 1, key: 1 }, ids(2)),
  ],
  [
    'a secured field: a count',
    (door) => door.count('Staff', { filter: { path: 'salary', operator: 'gte', value: 6000 } }),
    closed({ admin: 1, key: 1 }, 1),
  ],
  [
    'a secured field: an order',
    (door) => door.list('Staff', ['id'], { orderBy: '-salary' }),
    closed({ admin: 1, key: 1 }, ids(2, 1)),
  ],
  [
    'a secured field: an order through a relation',
    (door) => door.list('Post', ['id'], { orderBy: '-staff.salary' }),
    closed({ admin: 1, key: 1 }, ids(1, 2)),
  ],
  [
    'a secured field: a filter through a relation',
    list('Post', 'staff.salary', 'gte', 6000),
    closed({ admin: 1, key: 1 }, ids(1, 2)),
  ],
  ['hidden: a filter', list('Staff', 'secret', 'eq', 'shh'), { others: 'invalid' }],
  [
    'hidden: an order',
    (door) => door.list('Staff', ['id'], { orderBy: 'secret' }),
    { others: 'invalid' },
  ],
  [
    'hidden: an order through a relation',
    (door) => door.list('Post', ['id'], { orderBy: 'staff.secret' }),
    { others: 'invalid' },
  ],
  [
    'hidden: a filter through a relation',
    list('Post', 'staff.secret', 'eq', 'shh'),
    { others: 'invalid' },
  ],
  ['softDelete: a list', list('Draft'), { plain: true, others: ids(1, 3) }],
  [
    'softDelete: one row',
    (door) => door.find('Draft', 2, ['id']),
    { plain: true, others: 'missing' },
  ],
  ['writes: reading', list('Notice'), { others: ids(1) }],
  ['writes: false: reading', list('Entry'), { others: ids(1) }],
  ['@NoAuth: reading', list('Wish'), { plain: true, others: ids(1) }],
]
