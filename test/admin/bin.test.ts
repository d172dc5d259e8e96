/** The bin of the admin page, over HTTP on both engines. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { Database } from 'filigree'
import { testApplication, type TestApplication } from 'filigree/testing'
import { startBothEngines } from '../records/both-engines.js'
import { BinDesk, Note } from './bin-desk.js'

const path = '/admin/api/bin/notes'
const engines = await startBothEngines()

describe.each(engines)('the bin: %s', (_name, address) => {
  let app: TestApplication
  beforeAll(async () => {
    app = await testApplication(BinDesk, { database: await address(), auth: { cookie: true } })
  })
  afterAll(() => app.close())
  const ann = () => app.as({ sub: 'ann', roles: ['admin'] })
  const ed = () => app.as({ sub: 'ed', roles: ['editor'] })
  const reader = () => app.as({ sub: 'ed', roles: ['reader'] })
  const notes = () => app.get(Database).records(Note)

  beforeEach(async () => {
    await app.reset({ emptyTables: true })
    for (const [title, owner] of [
      ['Milk', 'ann'],
      ['Bread', 'ed'],
      ['final', 'ann'],
    ] as const)
      await notes().create({ title, owner })
    const { status } = await ann().post('/admin/api/bulk/notes', { ids: [1, 2, 3], remove: true })
    expect(status).toBe(200)
  })

  it('has the deleted rows that the caller could see, without hidden fields', async () => {
    const { body } = await ann().get(path)
    const { rows } = body as { rows: { row: object; deletedAt: string }[] }
    expect(rows.map(({ row }) => row)).toEqual(
      expect.arrayContaining([
        { id: 1, title: 'Milk', owner: 'ann' },
        { id: 2, title: 'Bread', owner: 'ed' },
        { id: 3, title: 'final', owner: 'ann' },
      ]),
    )
    expect(rows[0]?.deletedAt).toMatch(/^\d{4}-\d\d-\d\dT/)
    expect((await ed().get(path)).body).toMatchObject({ rows: [{ row: { title: 'Bread' } }] })
  })

  it('is in the schema of callers who may delete, and closed to others', async () => {
    const binOf = async (as: ReturnType<typeof ann>): Promise<unknown[]> => {
      const { body } = await as.get('/admin/api/schema')
      return (body as { records: { bin?: true }[] }).records.map(({ bin }) => bin)
    }
    expect(await binOf(ann())).toEqual([true, undefined])
    expect(await binOf(reader())).toEqual([undefined, undefined])
    expect((await reader().get(path)).status).toBe(403)
    expect((await reader().post(path, { ids: [2] })).status).toBe(403)
    expect((await ann().get('/admin/api/bin/labels')).status).toBe(404)
    expect((await app.app.inject({ url: path })).status).toBe(401)
  })

  it('restores rows, all or none, with hooks, unique values and the history', async () => {
    expect((await ed().post(path, { ids: [1, 2] })).status).toBe(404)
    expect(await ann().post(path, { ids: [1, 3] })).toMatchObject({
      status: 409,
      body: { error: '3: It stays deleted.' },
    })
    expect(await notes().count()).toBe(0)
    expect((await ann().post(path, { ids: [1, 2] })).body).toEqual({ count: 2 })
    expect(await notes().count()).toBe(2)
    expect((await ann().post(path, { ids: [1] })).status).toBe(404)
    const { body } = await ann().get('/admin/api/history/notes/1')
    const { rows } = body as { rows: { kind: string; by: string; changes: unknown[] }[] }
    expect(rows.map(({ kind, by, changes }) => [kind, by, changes.length])).toEqual([
      ['restore', 'ann', 0],
      ['delete', 'ann', 2],
      ['create', 'program', 2],
    ])
    await notes().delete(1)
    await notes().create({ title: 'Milk', owner: 'ed' })
    expect(await ann().post(path, { ids: [1] })).toMatchObject({
      status: 409,
      body: { error: 'title is already taken' },
    })
  })
})
