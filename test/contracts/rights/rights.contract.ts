/**
 * Every access rule of a record, through every interface and for every caller. Source: decisions, Records: access rules.
 * `reads.ts` and `writes.ts` list the operations and what each caller gets. A client runs them through one interface.
 */
import { describe, expect, it, afterAll, beforeAll, beforeEach } from '@jest/globals'
import { Post, Staff, Fixture, callers, guards } from './fixture.js'
import type { Result, RecordClient, OpenClient } from './record-client.js'
import { list, valueOrOutcome, expectedFor, ignoringRows, withMissingKey } from './cases.js'
import { openCrud, openCrudAggregates } from './crud-clients.js'
import { openGraphql, openBulk, openRelay } from './graphql-clients.js'
import { openQuery, openTools } from './mcp-clients.js'
import { describeRowsResults } from './rows-results.js'
import { describeRestrictedInterfaces } from './restricted-interfaces.js'
import { reads } from './reads.js'
import { describeSubscriptions } from './subscriptions.js'
import { describeGroups } from './groups.js'
import { describeLinks } from './links.js'
import { writes } from './writes.js'
import { anonymousRecords } from '../../records/open-database.js'

/** A client's view refuses hidden fields itself, so an interface that does not check them shows nothing either. */
function describeView(fixture: Fixture): void {
  const staff = () => anonymousRecords(fixture.database, Staff)
  const posts = () => anonymousRecords(fixture.database, Post)

  describe('through a client view without further checks, a hidden field in', () => {
    it.each<[string, () => Promise<unknown>]>([
      ['a filter', () => staff().list({ where: { secret: 'shh' } })],
      ['a filter in a group', () => staff().list({ where: { or: [{ secret: 'shh' }] } })],
      ['a filter that is denied', () => staff().count({ not: { secret: 'shh' } })],
      ['a filter through a relation', () => posts().list({ where: { staff: { secret: 'shh' } } })],
      ['a filter by a relation', () => posts().list({ where: { privateStaff: { name: 'Ada' } } })],
      ['an order', () => staff().list({ orderBy: { secret: 'asc' } })],
      ['a group', () => staff().aggregate({ groupBy: ['secret'], count: true })],
      [
        'a group through a relation',
        () => posts().aggregate({ groupBy: ['staff.secret'], count: true }),
      ],
      ['an aggregate', () => staff().aggregate({ max: ['secret'] })],
      ['a condition of groups', () => staff().aggregate({ where: { secret: 'shh' }, count: true })],
    ])('%s is refused like an unknown field', async (_what, read) => {
      const reading = (async () => read())()
      await expect(reading).rejects.toMatchObject({ status: 400, code: 'VALIDATION' })
    })
  })
}

/** Operations whose response must not show whether a row is hidden or missing. */
const indistinguishable: readonly (readonly [
  string,
  (client: RecordClient, id: number) => Promise<Result>,
  number,
])[] = [
  ['one row', (client, one) => client.find('Account', one, ['id']), 1],
  ['an update', (client, one) => client.update('Account', one, { iban: 'X' }), 1],
  ['an empty update', (client, one) => client.update('Account', one, {}), 1],
  ['a delete', (client, one) => client.delete('Account', one), 1],
  ['a key of a new row', (client, one) => client.create('Post', { title: 'x', accountId: one }), 1],
  ['a key of an old row', (client, one) => client.update('Post', 2, { accountId: one }), 1],
  [
    'a key of a row by another',
    (client, one) => client.create('Task', { text: 'x', projectId: one }),
    1,
  ],
  [
    'a key in addition to an invalid one',
    (client, one) => client.create('Post', { title: 'x', accountId: one, vaultId: 77 }),
    1,
  ],
  ['a filter by key', (client, one) => list('Post', 'account.id', 'eq', one)(client), 1],
  ['one row that is softly deleted', (client, one) => client.find('Draft', one, ['id']), 2],
  [
    'a key of one that is softly deleted',
    (client, one) => client.create('Post', { title: 'x', draftId: one }),
    2,
  ],
]

/** Writes of Ann, who may not read invoices. */
const blindWrites: readonly (readonly [string, (client: RecordClient) => Promise<Result>])[] = [
  ['an update', (client) => client.update('Invoice', 1, { state: 'paid' })],
  ['an empty update', (client) => client.update('Invoice', 1, {})],
  ['a new row', (client) => client.create('Invoice', { code: 'B' })],
  ['a unique value of another row', (client) => client.create('Invoice', { code: 'A' })],
  ['an invalid value', (client) => client.update('Invoice', 1, { state: null })],
]

/** The clients of the rights suite: each runs the same operations through another interface. */
const clients: readonly [string, OpenClient][] = [
  ['crud', openCrud],
  ['crud, aggregates', openCrudAggregates],
  ['the planner', (app, token) => openGraphql(app, token, '')],
  // A selected field with a resolver makes the executor read all fields.
  ['the executor', (app, token) => openGraphql(app, token, ' slow')],
  ['pages, aggregates and writes of many', openBulk],
  ['global ids', openRelay],
]

/** They use the interfaces above, so testing them on one engine is enough. */
const agentClients: readonly [string, OpenClient][] = [
  ['agents, by route tools', openTools],
  ['agents, by query', openQuery],
]

export function describeRights(name: string, url: () => Promise<string>): void {
  describe(`${name}: the rights contract`, () => {
    const fixture = new Fixture()
    beforeAll(async () => {
      await fixture.open(await url())
    })
    afterAll(() => fixture.close())
    beforeEach(() => fixture.restore())

    const allClients = name === 'SQLite' ? [...clients, ...agentClients] : clients
    describe.each(allClients)('by %s', (clientName, open) => {
      it.each(reads)('reading, %s', async (_rule, operation, expectation) => {
        for (const caller of callers) {
          const result = await operation(open(fixture.app, fixture.tokens.get(caller)))
          expect([caller, valueOrOutcome(result)]).toEqual([
            caller,
            expectedFor(expectation, caller, clientName),
          ])
        }
        fixture.markUnchanged()
      })

      it.each(writes)('writing, %s', async (_rule, operation, expectation) => {
        for (const caller of callers) {
          await fixture.restore()
          const result = await operation(open(fixture.app, fixture.tokens.get(caller)))
          expect([caller, ignoringRows(valueOrOutcome(result))]).toEqual([
            caller,
            ignoringRows(expectedFor(expectation, caller, clientName)),
          ])
          if (result.outcome !== 'done') {
            expect([caller, await fixture.snapshot()]).toEqual([caller, fixture.initialRows])
            fixture.markUnchanged()
          }
        }
      })

      it.each(indistinguishable)(
        '%s gives the same response for a hidden and a missing row',
        async (_what, operation, hidden) => {
          for (const caller of ['anonymous', 'bob', 'guest', 'revoked'] as const) {
            const token = fixture.tokens.get(caller)
            await fixture.restore()
            const ofHidden = await operation(open(fixture.app, token), hidden)
            await fixture.restore()
            const ofMissing = await operation(open(fixture.app, token), 99)
            expect([caller, withMissingKey(ofHidden.text, hidden)]).toEqual([
              caller,
              ofMissing.text,
            ])
          }
        },
      )

      it.each(blindWrites)(
        '%s shows no values to a caller who may not read',
        async (_what, write) => {
          const { text } = await write(open(fixture.app, fixture.tokens.get('ann')))
          expect(text).not.toMatch(/private-memo|unpaid/)
        },
      )

      it('a guard that throws shows and writes nothing', async () => {
        const { app } = fixture
        const client = open(app, fixture.tokens.get('ann'))
        const before = await fixture.snapshot()
        guards.fail = true
        try {
          const operations = [
            client.list('Staff', ['id'], { filter: { path: 'bonus', operator: 'gte', value: 2 } }),
            client.list('Staff', ['id'], { orderBy: 'bonus' }),
            client.update('Staff', 1, { bonus: 9 }),
            client.create('Staff', { name: 'C', bonus: 9 }),
            client.list('Ledger', ['id']),
          ]
          // An error of the application itself, which the tables do not contain.
          for (const settled of await Promise.allSettled(operations))
            expect(settled).toMatchObject({
              status: 'rejected',
              reason: { message: expect.stringMatching(/internal.server.error/i) },
            })
        } finally {
          guards.fail = false
        }
        expect(await fixture.snapshot()).toEqual(before)
      })

      describeGroups(fixture, open)
      describeLinks(fixture, open)
      describeRowsResults(fixture, open)
    })

    describeRestrictedInterfaces(fixture)
    describeSubscriptions(fixture)
    describeView(fixture)
  })
}
