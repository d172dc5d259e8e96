/** Groups by fields of related records: the rules of each record on the way apply, as in an order by the same field. */
import { expect, it } from '@jest/globals'
import type { OpenClient } from './record-client.js'
import { callers, type Fixture } from './fixture.js'

const paths = [
  'account.iban',
  'staff.name',
  'staff.salary',
  'staff.bonus',
  'staff.secret',
  'vault.word',
  'shift.word',
  'ledger.word',
]

export function describeGroups(fixture: Fixture, open: OpenClient): void {
  it.each(paths)('groups by %s follow the rules of an order by it', async (path) => {
    for (const caller of callers) {
      const token = fixture.tokens.get(caller)
      const one = open(fixture.app, token)
      // This interface has no aggregates.
      if (one.groups === undefined) return
      const ordered = await one.list('Post', ['id'], { orderBy: path })
      const grouped = await one.groups('Post', path)
      // GraphQL has no key of a group for a hidden field, so there is nothing to send.
      if (grouped.outcome === 'none')
        expect([caller, ordered.outcome]).not.toEqual([caller, 'done'])
      else expect([caller, grouped.outcome]).toEqual([caller, ordered.outcome])
    }
  })

  it('groups by a field of a record show only values of rows that the caller may see', async () => {
    const seen = new Set<number>()
    for (const caller of callers) {
      const one = open(fixture.app, fixture.tokens.get(caller))
      if (one.groups === undefined) return
      const accounts = await one.list('Account', ['iban'])
      const grouped = await one.groups('Post', 'account.iban')
      if (accounts.outcome !== 'done' || grouped.outcome !== 'done') continue
      const visible = (accounts.value as { readonly iban: unknown }[]).map(({ iban }) => iban)
      const keys = grouped.value as readonly unknown[]
      expect([null, ...visible]).toEqual(expect.arrayContaining([...keys]))
      seen.add(keys.length)
    }
    // Not all callers see the same accounts.
    expect(seen.size).toBeGreaterThan(1)
  })
}
