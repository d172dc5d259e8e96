/** The write operations of the rights suite, and what each caller gets. */
import { closed, id, noToken, type Line } from './line.js'

export const writes: readonly Line[] = [
  [
    'rows: an update',
    (door) => door.update('Account', 1, { iban: 'X' }),
    { ...noToken, ann: id(1), admin: id(1), key: id(1), others: 'missing' },
  ],
  [
    'rows: a delete',
    (door) => door.delete('Account', 1),
    { ...noToken, ann: 'conflict', admin: 'conflict', key: 'conflict', others: 'missing' },
  ],
  [
    'rows: a row for another',
    (door) => door.create('Account', { iban: 'X', owner: 'ann' }),
    { ...noToken, ann: id(3), admin: id(3), key: id(3), others: 'forbidden' },
  ],
  [
    'rows: a row given away',
    (door) => door.update('Account', 2, { owner: 'ann' }),
    { ...noToken, bob: 'forbidden', admin: id(2), key: id(2), others: 'missing' },
  ],
  [
    'rows: a key',
    (door) => door.create('Post', { title: 'x', accountId: 1 }),
    { ...noToken, ann: id(3), admin: id(3), key: id(3), others: 'conflict' },
  ],
  [
    'rows: a key that changes',
    (door) => door.update('Post', 2, { accountId: 1 }),
    { ...noToken, ann: id(2), admin: id(2), key: id(2), others: 'conflict' },
  ],
  [
    'rows: a key that does not change',
    (door) => door.update('Post', 1, { accountId: 1, title: 'y' }),
    { ...noToken, others: id(1) },
  ],
  [
    'rows by another: a key',
    (door) => door.create('Task', { text: 'x', projectId: 1 }),
    { ...noToken, ann: id(3), key: id(3), others: 'conflict' },
  ],
  [
    '@Secured: a write',
    (door) => door.update('Vault', 1, { word: 'tin' }),
    closed({ admin: 1, key: 1 }, id(1)),
  ],
  [
    '@Secured: a new row',
    (door) => door.create('Vault', { word: 'tin' }),
    closed({ admin: 1, key: 1 }, id(2)),
  ],
  [
    '@Secured by the sign-in: a write',
    (door) => door.update('Till', 1, { word: 'tin' }),
    closed({ ann: 1, key: 1 }, id(1)),
  ],
  [
    '@Secured by the sign-in: a new row',
    (door) => door.create('Till', { word: 'tin' }),
    closed({ ann: 1, key: 1 }, id(2)),
  ],
  [
    '@Secured: a key',
    (door) => door.create('Post', { title: 'x', vaultId: 1 }),
    { ...noToken, others: id(3) },
  ],
  [
    'a secured field: an update',
    (door) => door.update('Staff', 1, { salary: 1 }),
    closed({ admin: 1, key: 1 }, id(1)),
  ],
  [
    'a secured field: a new row',
    (door) => door.create('Staff', { name: 'C', salary: 1 }),
    closed({ admin: 1, key: 1 }, id(3)),
  ],
  [
    'a field with an asynchronous guard: an update',
    (door) => door.update('Staff', 1, { bonus: 9 }),
    closed({ ann: 1, key: 1 }, id(1)),
  ],
  [
    'a field with an asynchronous guard: a new row',
    (door) => door.create('Staff', { name: 'C', bonus: 9 }),
    closed({ ann: 1, key: 1 }, id(3)),
  ],
  [
    '@Secured by an asynchronous guard: a write',
    (door) => door.update('Ledger', 1, { word: 'x' }),
    closed({ ann: 1, key: 1 }, id(1)),
  ],
  [
    'a secured field: left to its default',
    (door) => door.create('Staff', { name: 'C' }),
    { ...noToken, others: id(3) },
  ],
  [
    'hidden: a write',
    (door) => door.update('Staff', 1, { secret: 'x' }),
    { ...noToken, others: 'invalid' },
  ],
  [
    'readOnly: a write',
    (door) => door.update('Staff', 1, { source: 'x' }),
    { ...noToken, others: 'invalid' },
  ],
  [
    'writes: a new row',
    (door) => door.create('Notice', { text: 'x' }),
    closed({ admin: 1, key: 1 }, id(2)),
  ],
  [
    'writes: an update',
    (door) => door.update('Notice', 1, { text: 'x' }),
    closed({ admin: 1, key: 1 }, id(1)),
  ],
  ['writes: a delete', (door) => door.delete('Notice', 1), closed({ admin: 1, key: 1 }, true)],
  [
    'writes: false: a new row',
    (door) => door.create('Entry', { text: 'x' }),
    { revoked: 'none', others: 'none' },
  ],
  [
    'writes: false: an update',
    (door) => door.update('Entry', 1, { text: 'x' }),
    { revoked: 'none', others: 'none' },
  ],
  [
    'writes: false: a delete',
    (door) => door.delete('Entry', 1),
    { revoked: 'none', others: 'none' },
  ],
  [
    'writes by operation: a new row',
    (door) => door.create('Visit', { text: 'x' }),
    closed({ ann: 1, bob: 1, guest: 1, key: 1 }, id(2)),
  ],
  [
    'writes by operation: an update',
    (door) => door.update('Visit', 1, { text: 'x' }),
    closed({ ann: 1, bob: 1, key: 1 }, id(1)),
  ],
  [
    'writes by operation: a delete',
    (door) => door.delete('Visit', 1),
    { revoked: 'none', others: 'none' },
  ],
  [
    'writes by operation: a new row within another',
    (door) => door.create('Ticket', { title: 'x', visit: { create: { text: 'x' } } }),
    closed({ ann: 1, bob: 1, guest: 1, key: 1 }, id(2)),
  ],
  [
    'writes by operation: an update within another',
    (door) => door.update('Ticket', 1, { visit: { update: { text: 'x' } } }),
    closed({ ann: 1, bob: 1, key: 1 }, id(1)),
  ],
  [
    'writes by operation: a delete within another',
    (door) => door.update('Ticket', 1, { visit: { delete: true } }),
    { ...noToken, others: 'invalid' },
  ],
  [
    'writes of a field: an update',
    (door) => door.update('Ticket', 1, { status: 'done' }),
    closed({ admin: 1, key: 1 }, id(1)),
  ],
  [
    'writes of a field: null',
    (door) => door.update('Ticket', 1, { status: null }),
    closed({ admin: 1, key: 1 }, id(1)),
  ],
  [
    'writes of a field: a new row',
    (door) => door.create('Ticket', { title: 'x', status: 'done' }),
    closed({ admin: 1, key: 1 }, id(2)),
  ],
  [
    'writes of a field: left to its default',
    (door) => door.create('Ticket', { title: 'x' }),
    { ...noToken, others: id(2) },
  ],
  [
    'writes of a field: another field',
    (door) => door.update('Ticket', 1, { title: 'x' }),
    { ...noToken, others: id(1) },
  ],
  [
    'writes: false of a field',
    (door) => door.update('Ticket', 1, { source: 'x' }),
    { ...noToken, others: 'invalid' },
  ],
  [
    'writes of a key: an update',
    (door) => door.update('Ticket', 1, { memberId: 1 }),
    closed({ admin: 1, key: 1 }, id(1)),
  ],
  [
    'writes of a key: a row that takes its place',
    (door) => door.update('Ticket', 1, { member: { create: { login: 'x' } } }),
    closed({ admin: 1, key: 1 }, id(1)),
  ],
  [
    '@NoAuth: a new row',
    (door) => door.create('Wish', { text: 'x' }),
    { plain: true, others: id(2) },
  ],
  ['@NoAuth: a delete', (door) => door.delete('Wish', 1), { plain: true, others: true }],
  [
    'softDelete: an update',
    (door) => door.update('Draft', 2, { text: 'x' }),
    { ...noToken, plainIfOpen: true, others: 'missing' },
  ],
  [
    'softDelete: a delete',
    (door) => door.delete('Draft', 2),
    { ...noToken, plainIfOpen: true, others: 'missing' },
  ],
  [
    'softDelete: a key',
    (door) => door.create('Post', { title: 'x', draftId: 2 }),
    { ...noToken, others: 'conflict' },
  ],
  [
    'nothing said: a write',
    (door) => door.update('Member', 1, { login: 'x' }),
    { ...noToken, others: id(1) },
  ],
]
