/** The search of the jump dialog, over HTTP on both engines. */
import { describe, expect, it } from '@jest/globals'
import { deskOn, engines } from './desk-fixture.js'

describe.each(engines)('the jump dialog on %s', (engine) => {
  const desk = deskOn(engine)

  it('finds rows of all records by a part of the title', async () => {
    expect((await desk.admin().get('/admin/api/jump?text=A')).body).toEqual([
      { record: 'tickets', key: 1, title: 'Lamp' },
      { record: 'tickets', key: 2, title: 'Chair' },
      { record: 'tickets', key: 3, title: 'Table' },
      { record: 'orgs', key: 1, title: 'Alpha' },
      { record: 'orgs', key: 2, title: 'Beta' },
    ])
    expect((await desk.admin().get('/admin/api/jump?text=%25')).body).toEqual([])
  })

  it('finds only rows that the caller may read', async () => {
    const { body } = await desk.editor().get('/admin/api/jump?text=a')
    expect((body as { title: string }[]).map(({ title }) => title)).toEqual([
      ...['Lamp', 'Chair', 'Alpha', 'Beta'],
    ])
    const guest = desk.app.as({ sub: 'eve', roles: ['guest'] })
    expect((await guest.get('/admin/api/jump?text=a')).status).toBe(403)
    for (const query of ['', '?text=', `?text=${'x'.repeat(101)}`])
      expect((await desk.admin().get(`/admin/api/jump${query}`)).status).toBe(400)
  })
})
