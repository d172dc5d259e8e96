/** Concurrent transactions within a tenant behave as on PostgreSQL. Over tenants, they are refused or named. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { silentLog } from '../../silent-log.js'
import { openEmptyCitus } from './coordinator.js'
import { Depot, Item, type Answer } from './depot.js'

let depot: Depot
const warnings: string[] = []

beforeAll(async () => {
  const log = { ...silentLog, warn: (_: object, message: string) => void warnings.push(message) }
  depot = await Depot.open(await openEmptyCitus(), log)
})
afterAll(() => depot.close())
beforeEach(async () => {
  await depot.database.records(Item).deleteWhere({ tenantId: 'a' })
})

/** Sends a request several times at once. Each is sent again while its response asks for it. */
const race = (count: number, ...request: Parameters<Depot['send']>): Promise<Answer[]> =>
  Promise.all(Array.from({ length: count }, () => depot.sendUntilDone(...request)))

const statusesOf = (answers: readonly Answer[]): Record<number, number> => {
  const counts: Record<number, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

describe('concurrent transactions of a tenant', () => {
  it.each(['/items/take', '/items/take-locked'])('take no more than there is: %s', async (path) => {
    const id = await depot.addItem('a', { stock: 24 })
    const answers = await race(32, 'a', 'POST', path, { tenantId: 'a', id })
    expect(statusesOf(answers)).toEqual({ 200: 24, 409: 8 })
    const item = await depot.database.records(Item).find(id, { tenantId: 'a' })
    expect(item?.stock).toBe(0)
  })

  it('reserve a code once', async () => {
    const answers = await race(16, 'a', 'POST', '/items/reserve', { tenantId: 'a', code: 'x' })
    expect(statusesOf(answers)).toEqual({ 200: 1, 409: 15 })
    expect(await depot.database.records(Item).count({ tenantId: 'a', code: 'x' })).toBe(1)
  })

  it('change a version once', async () => {
    const id = await depot.addItem('a')
    const path = `/items/${id}`
    const { headers } = await depot.send('a', 'GET', path)
    const condition = { 'if-match': String(headers.get('etag')) }
    const answers = await race(16, 'a', 'PATCH', path, { note: 'mine' }, condition)
    expect(statusesOf(answers)).toEqual({ 200: 1, 412: 15 })
  })

  it('store a unique value once', async () => {
    const answers = await race(16, 'a', 'POST', '/items', { tenantId: 'a', name: 'Only' })
    expect(statusesOf(answers)).toEqual({ 201: 1, 409: 15 })
    const refused = answers.find(({ status }) => status === 409)
    expect(refused?.body).toMatchObject({ errors: [{ path: 'name' }] })
  })

  it('with the same values in two tenants do not meet', async () => {
    const pairs = await Promise.all(
      ['a', 'b'].map((tenantId) => race(8, tenantId, 'POST', '/items', { tenantId, name: 'Same' })),
    )
    for (const answers of pairs) expect(statusesOf(answers)).toEqual({ 201: 1, 409: 7 })
  })
})

describe('a transaction over two tenants', () => {
  const work = async (): Promise<void> => {
    await depot.addItem('a')
    await depot.addItem('b')
  }

  it('is refused if it must be serializable', async () => {
    const refused = depot.database.transaction(work, { isolation: 'serializable' })
    await expect(refused).rejects.toThrow('it must be serializable and uses tenantId a and b')
    expect(await depot.database.records(Item).count({ tenantId: 'a' })).toBe(0)
  })

  it('continues by default, and the log names its route once', async () => {
    warnings.length = 0
    for (let time = 0; time < 2; time++)
      expect((await depot.send('a', 'POST', '/items/pair')).status).toBe(200)
    expect(await depot.database.records(Item).count({ tenantId: 'a' })).toBe(2)
    expect(warnings).toEqual([expect.stringContaining('POST /items/pair')])
    expect(warnings[0]).toContain('uses tenantId a and b')
  })
})
