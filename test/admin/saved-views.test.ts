/** The saved views of the admin page's lists, over HTTP on both engines. */
import { describe, expect, it } from '@jest/globals'
import { deskOn, engines } from './desk-fixture.js'

const path = '/admin/api/views/tickets'

describe.each(engines)('saved views on %s', (engine) => {
  const desk = deskOn(engine)

  it('belong to an account and a list, in the order of their names', async () => {
    const ann = desk.admin()
    const open = await ann.post(path, { name: ' Open ', query: 'orderBy=-due&status=open' })
    expect(open).toMatchObject({
      status: 200,
      body: { name: 'Open', query: 'orderBy=-due&status=open' },
    })
    await ann.post(path, { name: 'Mine', query: 'orgId=1' })
    expect((await ann.get(path)).body).toMatchObject([{ name: 'Mine' }, { name: 'Open' }])
    expect((await ann.get('/admin/api/views/labels')).body).toEqual([])
    expect((await desk.editor().get(path)).body).toEqual([])
    const { id } = open.body as { id: string }
    expect((await desk.editor().delete(`${path}/${id}`)).status).toBe(404)
    expect((await desk.editor().patch(`${path}/${id}`, { name: 'Stolen' })).status).toBe(404)
    expect((await ann.delete(`/admin/api/views/labels/${id}`)).status).toBe(404)
  })

  it('are replaced by their name, renamed and deleted', async () => {
    const ann = desk.admin()
    const first = await ann.post(path, { name: 'Open', query: 'status=open' })
    const { id } = first.body as { id: string }
    const again = await ann.post(path, { name: 'Open', query: 'status=waiting' })
    expect(again.body).toEqual({ id, name: 'Open', query: 'status=waiting' })
    await ann.post(path, { name: 'Other', query: '' })
    expect(await ann.patch(`${path}/${id}`, { name: 'Other' })).toMatchObject({
      status: 409,
      body: { error: 'There is already a view "Other".' },
    })
    expect((await ann.patch(`${path}/${id}`, { name: 'Waiting' })).status).toBe(204)
    expect((await ann.get(path)).body).toMatchObject([{ name: 'Other' }, { id, name: 'Waiting' }])
    expect((await ann.delete(`${path}/${id}`)).status).toBe(204)
    expect((await ann.delete(`${path}/${id}`)).status).toBe(404)
    expect((await ann.get(path)).body).toMatchObject([{ name: 'Other' }])
  })

  it('are at most 50, have a name, and need a role of the page', async () => {
    const ann = desk.admin()
    for (let index = 1; index <= 50; index++)
      await ann.post(path, { name: `View ${index}`, query: '' })
    expect((await ann.post(path, { name: 'View 50', query: 'status=open' })).status).toBe(200)
    expect(await ann.post(path, { name: 'One more', query: '' })).toMatchObject({
      status: 409,
      body: { error: 'A list has at most 50 saved views. Delete one first.' },
    })
    for (const body of [{ name: ' ', query: '' }, { name: 'a\nb', query: '' }, { name: 'x' }])
      expect((await ann.post(path, body)).status).toBe(400)
    expect((await ann.get('/admin/api/views/people')).status).toBe(404)
    expect((await desk.app.app.inject({ url: path })).status).toBe(401)
    expect((await desk.app.as({ sub: 'eve', roles: ['guest'] }).get(path)).status).toBe(403)
    expect((await desk.app.as({ roles: ['admin'] }).get(path)).status).toBe(403)
  })
})
