/** A client's view refuses hidden fields itself, so an interface that does not check them shows nothing either. */
import { describe, expect, it } from '@jest/globals'
import { anonymous } from '../../../src/records/rights/caller.js'
import { ClientRecords } from '../../../src/records/clients/client-records.js'
import { Post, Staff, type Ground } from './world.js'

export function describeView(ground: Ground): void {
  const staff = (): ClientRecords<Staff> =>
    new ClientRecords(ground.database, ground.database.records(Staff), anonymous)
  const posts = (): ClientRecords<Post> =>
    new ClientRecords(ground.database, ground.database.records(Post), anonymous)

  describe('through a client view without further checks, a hidden field in', () => {
    it.each<[string, () => Promise<unknown>]>([
      ['a filter', () => staff().list({ where: { secret: 'shh' } })],
      ['a filter in a group', () => staff().list({ where: { or: [{ secret: 'shh' }] } })],
      ['a filter that is denied', () => staff().count({ not: { secret: 'shh' } })],
      ['a filter through a relation', () => posts().list({ where: { staff: { secret: 'shh' } } })],
      ['a filter by a relation', () => posts().list({ where: { kept: { name: 'Ada' } } })],
      ['an order', () => staff().list({ orderBy: { secret: 'asc' } })],
      ['a group', () => staff().aggregate({ groupBy: ['secret'], count: true })],
      ['an aggregate', () => staff().aggregate({ max: ['secret'] })],
      ['a condition of groups', () => staff().aggregate({ where: { secret: 'shh' }, count: true })],
    ])('%s is refused like an unknown field', async (_what, ask) => {
      const asked = (async () => ask())()
      await expect(asked).rejects.toMatchObject({ status: 400, code: 'VALIDATION' })
    })
  })
}
