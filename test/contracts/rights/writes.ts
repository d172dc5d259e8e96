/** The write operations of the rights suite, and what each caller gets. */
import { onlyFor, id, noToken, type Case, type Expectation } from './cases.js'

/** Ann and Bob may write invoices but not read them. */
const invoiceWriters: Expectation = {
  ...onlyFor({ ann: 1, bob: 1, admin: 1, key: 1 }, id(1)),
  blind: ['ann', 'bob'],
}

const done = { place: 1 }

export const writes: readonly Case[] = [
  [
    'rows with a key of two fields: an update',
    (client) => client.update('Chapter', 1, { text: 'x' }),
    { ...noToken, ann: done, admin: done, key: done, rest: 'missing' },
  ],
  [
    'rows with a key of two fields: a delete',
    (client) => client.delete('Chapter', 1),
    { ...noToken, ann: true, admin: true, key: true, rest: 'missing' },
  ],
  [
    'rows with a key of two fields: a row for another',
    (client) => client.create('Chapter', { book: 1, place: 3, text: 'x', owner: 'ann' }),
    { ...noToken, ann: done, admin: done, key: done, rest: 'forbidden' },
  ],
  [
    'rows with a key of two fields: a row given away',
    (client) => client.update('Chapter', 2, { owner: 'ann' }),
    { ...noToken, bob: 'forbidden', admin: done, key: done, rest: 'missing' },
  ],
  [
    'rows: an update',
    (client) => client.update('Account', 1, { iban: 'X' }),
    { ...noToken, ann: id(1), admin: id(1), key: id(1), rest: 'missing' },
  ],
  [
    'rows: a delete',
    (client) => client.delete('Account', 1),
    { ...noToken, ann: 'conflict', admin: 'conflict', key: 'conflict', rest: 'missing' },
  ],
  [
    'rows: a row for another',
    (client) => client.create('Account', { iban: 'X', owner: 'ann' }),
    { ...noToken, ann: id(3), admin: id(3), key: id(3), rest: 'forbidden' },
  ],
  [
    'rows: a row given away',
    (client) => client.update('Account', 2, { owner: 'ann' }),
    { ...noToken, bob: 'forbidden', admin: id(2), key: id(2), rest: 'missing' },
  ],
  [
    'rows: a key',
    (client) => client.create('Post', { title: 'x', accountId: 1 }),
    { ...noToken, ann: id(3), admin: id(3), key: id(3), rest: 'conflict' },
  ],
  [
    'rows: a key that changes',
    (client) => client.update('Post', 2, { accountId: 1 }),
    { ...noToken, ann: id(2), admin: id(2), key: id(2), rest: 'conflict' },
  ],
  [
    'rows: a key that does not change',
    (client) => client.update('Post', 1, { accountId: 1, title: 'y' }),
    { ...noToken, rest: id(1) },
  ],
  [
    'rows by another: a key',
    (client) => client.create('Task', { text: 'x', projectId: 1 }),
    { ...noToken, ann: id(3), key: id(3), rest: 'conflict' },
  ],
  [
    '@Secured: a write',
    (client) => client.update('Vault', 1, { word: 'tin' }),
    onlyFor({ admin: 1, key: 1 }, id(1)),
  ],
  [
    '@Secured: a new row',
    (client) => client.create('Vault', { word: 'tin' }),
    onlyFor({ admin: 1, key: 1 }, id(2)),
  ],
  [
    '@Secured by the sign-in: a write',
    (client) => client.update('Till', 1, { word: 'tin' }),
    onlyFor({ ann: 1, key: 1 }, id(1)),
  ],
  [
    '@Secured by the sign-in: a new row',
    (client) => client.create('Till', { word: 'tin' }),
    onlyFor({ ann: 1, key: 1 }, id(2)),
  ],
  [
    '@Secured: a key',
    (client) => client.create('Post', { title: 'x', vaultId: 1 }),
    { ...noToken, rest: id(3) },
  ],
  [
    'writes without reads: an update',
    (client) => client.update('Invoice', 1, { state: 'paid' }),
    invoiceWriters,
  ],
  [
    'writes without reads: an empty update',
    (client) => client.update('Invoice', 1, {}),
    invoiceWriters,
  ],
  [
    'writes without reads: a new row',
    (client) => client.create('Invoice', { code: 'B' }),
    invoiceWriters,
  ],
  [
    'writes without reads: a delete, which has the rule of the record',
    (client) => client.delete('Invoice', 1),
    onlyFor({ admin: 1, key: 1 }, true),
  ],
  [
    'a secured field: an update',
    (client) => client.update('Staff', 1, { salary: 1 }),
    onlyFor({ admin: 1, key: 1 }, id(1)),
  ],
  [
    'a secured field: a new row',
    (client) => client.create('Staff', { name: 'C', salary: 1 }),
    onlyFor({ admin: 1, key: 1 }, id(3)),
  ],
  [
    'a field with an asynchronous guard: an update',
    (client) => client.update('Staff', 1, { bonus: 9 }),
    onlyFor({ ann: 1, key: 1 }, id(1)),
  ],
  [
    'a field with an asynchronous guard: a new row',
    (client) => client.create('Staff', { name: 'C', bonus: 9 }),
    onlyFor({ ann: 1, key: 1 }, id(3)),
  ],
  [
    '@Secured by an asynchronous guard: a write',
    (client) => client.update('Ledger', 1, { word: 'x' }),
    onlyFor({ ann: 1, key: 1 }, id(1)),
  ],
  [
    'a secured field: left to its default',
    (client) => client.create('Staff', { name: 'C' }),
    { ...noToken, rest: id(3) },
  ],
  [
    'hidden: a write',
    (client) => client.update('Staff', 1, { secret: 'x' }),
    { ...noToken, rest: 'invalid' },
  ],
  [
    'readOnly: a write',
    (client) => client.update('Staff', 1, { source: 'x' }),
    { ...noToken, rest: 'invalid' },
  ],
  [
    'writes: a new row',
    (client) => client.create('Notice', { text: 'x' }),
    onlyFor({ admin: 1, key: 1 }, id(3)),
  ],
  [
    'writes: an update',
    (client) => client.update('Notice', 1, { text: 'x' }),
    onlyFor({ admin: 1, key: 1 }, id(1)),
  ],
  ['writes: a delete', (client) => client.delete('Notice', 1), onlyFor({ admin: 1, key: 1 }, true)],
  [
    'writes: false: a new row',
    (client) => client.create('Entry', { text: 'x' }),
    { revoked: 'none', rest: 'none' },
  ],
  [
    'writes: false: an update',
    (client) => client.update('Entry', 1, { text: 'x' }),
    { revoked: 'none', rest: 'none' },
  ],
  [
    'writes: false: a delete',
    (client) => client.delete('Entry', 1),
    { revoked: 'none', rest: 'none' },
  ],
  [
    'writes by operation: a new row',
    (client) => client.create('Visit', { text: 'x' }),
    onlyFor({ ann: 1, bob: 1, guest: 1, key: 1 }, id(2)),
  ],
  [
    'writes by operation: an update',
    (client) => client.update('Visit', 1, { text: 'x' }),
    onlyFor({ ann: 1, bob: 1, key: 1 }, id(1)),
  ],
  [
    'writes by operation: a delete',
    (client) => client.delete('Visit', 1),
    { revoked: 'none', rest: 'none' },
  ],
  [
    'writes by operation: a new row within another',
    (client) => client.create('Ticket', { title: 'x', visit: { create: { text: 'x' } } }),
    onlyFor({ ann: 1, bob: 1, guest: 1, key: 1 }, id(2)),
  ],
  [
    'writes by operation: an update within another',
    (client) => client.update('Ticket', 1, { visit: { update: { text: 'x' } } }),
    onlyFor({ ann: 1, bob: 1, key: 1 }, id(1)),
  ],
  [
    'writes by operation: a delete within another',
    (client) => client.update('Ticket', 1, { visit: { delete: true } }),
    { ...noToken, rest: 'invalid' },
  ],
  [
    'writes of a field: an update',
    (client) => client.update('Ticket', 1, { status: 'done' }),
    onlyFor({ admin: 1, key: 1 }, id(1)),
  ],
  [
    'writes of a field: null',
    (client) => client.update('Ticket', 1, { status: null }),
    onlyFor({ admin: 1, key: 1 }, id(1)),
  ],
  [
    'writes of a field: a new row',
    (client) => client.create('Ticket', { title: 'x', status: 'done' }),
    onlyFor({ admin: 1, key: 1 }, id(2)),
  ],
  [
    'writes of a field: left to its default',
    (client) => client.create('Ticket', { title: 'x' }),
    { ...noToken, rest: id(2) },
  ],
  [
    'writes of a field: another field',
    (client) => client.update('Ticket', 1, { title: 'x' }),
    { ...noToken, rest: id(1) },
  ],
  [
    'writes: false of a field',
    (client) => client.update('Ticket', 1, { source: 'x' }),
    { ...noToken, rest: 'invalid' },
  ],
  [
    'writes of a key: an update',
    (client) => client.update('Ticket', 1, { memberId: 1 }),
    onlyFor({ admin: 1, key: 1 }, id(1)),
  ],
  [
    'writes of a key: a row that takes its place',
    (client) => client.update('Ticket', 1, { member: { create: { login: 'x' } } }),
    onlyFor({ admin: 1, key: 1 }, id(1)),
  ],
  [
    'links to rows of a closed record: all links',
    (client) => client.update('Ticket', 1, { noticeIds: [1] }),
    onlyFor({ admin: 1, key: 1 }, id(1)),
  ],
  [
    'links to rows of a closed record: none',
    (client) => client.update('Ticket', 1, { noticeIds: [] }),
    onlyFor({ admin: 1, key: 1 }, id(1)),
  ],
  [
    'links to rows of a closed record: one more',
    (client) => client.update('Ticket', 1, { notices: { connect: [1] } }),
    onlyFor({ admin: 1, key: 1 }, id(1)),
  ],
  [
    'links to rows of a closed record: one less',
    (client) => client.update('Ticket', 1, { notices: { disconnect: [2] } }),
    onlyFor({ admin: 1, key: 1 }, id(1)),
  ],
  [
    'links to rows of a closed record: of a new row',
    (client) => client.create('Ticket', { title: 'x', noticeIds: [1] }),
    onlyFor({ admin: 1, key: 1 }, id(2)),
  ],
  [
    'links to rows of a closed record: none of a new row',
    (client) => client.create('Ticket', { title: 'x', noticeIds: [] }),
    { ...noToken, rest: id(2) },
  ],
  [
    'links to rows of a closed record: to a row that is created with it',
    (client) => client.create('Ticket', { title: 'x', notices: { create: [{ text: 'y' }] } }),
    onlyFor({ admin: 1, key: 1 }, id(2)),
  ],
  [
    'links from a closed record',
    (client) => client.update('Notice', 1, { ticketIds: [1] }),
    onlyFor({ admin: 1, key: 1 }, id(1)),
  ],
  [
    'writes of links: all links',
    (client) => client.update('Ticket', 1, { pinIds: [1, 2] }),
    onlyFor({ ann: 1, bob: 1, guest: 1, key: 1 }, id(1)),
  ],
  [
    'writes of links: one more',
    (client) => client.update('Ticket', 1, { pins: { connect: [1] } }),
    onlyFor({ ann: 1, bob: 1, guest: 1, key: 1 }, id(1)),
  ],
  [
    'writes: false of the linked record',
    (client) => client.update('Ticket', 1, { entryIds: [1] }),
    { ...noToken, rest: 'invalid' },
  ],
  [
    'writes: false of links',
    (client) => client.update('Ticket', 1, { wishIds: [1] }),
    { ...noToken, rest: 'invalid' },
  ],
  [
    '@NoAuth: a new row',
    (client) => client.create('Wish', { text: 'x' }),
    { ignoresToken: true, rest: id(2) },
  ],
  ['@NoAuth: a delete', (client) => client.delete('Wish', 1), { ignoresToken: true, rest: true }],
  [
    'softDelete: an update',
    (client) => client.update('Draft', 2, { text: 'x' }),
    { ...noToken, ignoresTokenIfOpen: true, rest: 'missing' },
  ],
  [
    'softDelete: a delete',
    (client) => client.delete('Draft', 2),
    { ...noToken, ignoresTokenIfOpen: true, rest: 'missing' },
  ],
  [
    'softDelete: a key',
    (client) => client.create('Post', { title: 'x', draftId: 2 }),
    { ...noToken, rest: 'conflict' },
  ],
  [
    'nothing said: a write',
    (client) => client.update('Member', 1, { login: 'x' }),
    { ...noToken, rest: id(1) },
  ],
]
