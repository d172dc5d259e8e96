/** Saving, deleting, changing many rows, history and actions of the admin page. Source: specification, Admin page. */
import { describe, expect, it } from '@jest/globals'
import { AdminEntry } from 'filigree/admin'
import { Comment, Device, Label, Plan, Ticket } from './desk.js'
import { deskOn, engines } from './desk-fixture.js'

describe.each(engines)('changes by the admin page on %s', (engine) => {
  const desk = deskOn(engine)
  const { admin, editor } = desk
  const api = '/admin/api'

  const entries = (record: string) =>
    desk.database.records(AdminEntry).list({ where: { record }, orderBy: { id: 'asc' } })

  describe('saving', () => {
    const save = (was: object, values: object, id: number | string = 1, who = editor()) =>
      who.post(`${api}/save/tickets/${id}`, { was, values })

    it('stores what nobody else has changed', async () => {
      const answer = await save({ subject: 'Lamp' }, { subject: 'Lamps' })
      expect(answer.body).toMatchObject({ id: 1, subject: 'Lamps' })
      const other = await save({ status: 'open' }, { status: 'closed' })
      expect(other.body).toMatchObject({ subject: 'Lamps', status: 'closed' })
    })

    it('tells theirs, without what the caller may not read, and stores nothing', async () => {
      const answer = await save({ subject: 'Light' }, { subject: 'Mine', status: 'closed' })
      expect(answer.status).toBe(409)
      expect(answer.body).toMatchObject({ code: 'CHANGED', theirs: { subject: 'Lamp' } })
      expect(answer.text).not.toMatch(/pay of|hidden words|salary/)
      const [refused] = desk.app.log.filter(({ message }) => message === 'request refused')
      expect(refused?.details).toMatchObject({
        status: 409,
        reason: 'changed since it was read: subject',
      })
      expect(await desk.database.records(Ticket).find(1)).toMatchObject({ subject: 'Lamp' })
    })

    it('compares links', async () => {
      expect((await save({ labelIds: [] }, { labelIds: [2, 1] })).status).toBe(200)
      expect((await save({ labelIds: [] }, { labelIds: [1] })).body).toMatchObject({
        theirs: { labelIds: [1, 2] },
      })
      expect((await save({ labelIds: [2, 1] }, { labelIds: [1] })).status).toBe(200)
    })

    it('compares bytes as clients send them', async () => {
      const stored = await save({ picture: null }, { picture: '+/8=' })
      expect(stored).toMatchObject({ status: 200, body: { picture: '+/8=' } })
      expect((await save({ picture: '+/8=' }, { subject: 'Lamps' })).status).toBe(200)
      expect(await save({ picture: '' }, { subject: 'Light' })).toMatchObject({
        status: 409,
        body: { theirs: { picture: '+/8=', subject: 'Lamps' } },
      })
    })

    it('lets one of two win who save at once', async () => {
      const answers = await Promise.all(
        ['one', 'two', 'three'].map((subject) => save({ subject: 'Lamp' }, { subject })),
      )
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409])
    })

    it.each([
      [{ secret: 'hidden words' }, {}, 400],
      [{ salary: 'pay of Lamp' }, {}, 400],
      [{}, { secret: 'x' }, 400],
      [{}, { salary: 'x' }, 403],
      [{}, { views: 7 }, 400],
      [{}, { id: 7 }, 400],
      [{}, { createdAt: '2020-01-01T00:00:00Z' }, 400],
      [{}, { subject: '' }, 400],
      [{}, { orgId: 2 }, 403],
    ])('refuses %j %j', async (was, values, status) => {
      expect((await save(was, values)).status).toBe(status)
      expect(await desk.database.records(Ticket).find(1)).toMatchObject({ views: 0, orgId: 1 })
    })

    it('knows only rows that the caller sees', async () => {
      for (const id of [3, 99, 'x', '__proto__', '1e0', '01'])
        expect((await save({}, { subject: 'Mine' }, id)).status).toBe(404)
      expect(
        (await editor().post(`${api}/save/constructor/1`, { was: {}, values: {} })).status,
      ).toBe(404)
    })

    it('deletes what nobody else has changed', async () => {
      const remove = (was: object) => editor().post(`${api}/remove/tickets/1`, { was })
      expect((await remove({ subject: 'Light' })).body).toMatchObject({ code: 'CHANGED' })
      expect((await remove({ subject: 'Lamp' })).status).toBe(204)
      expect((await remove({ subject: 'Lamp' })).status).toBe(404)
    })
  })

  describe('many rows', () => {
    const bulk = (body: object, who = editor()) => who.post(`${api}/bulk/tickets`, body)

    it('are changed and deleted together', async () => {
      const changed = await bulk({ ids: [1, '2', 2], values: { status: 'closed' } })
      expect(changed.body).toEqual({ count: 2 })
      expect(await desk.database.records(Ticket).count({ status: 'closed' })).toBe(2)
      expect((await bulk({ ids: [1, 2], remove: true })).body).toEqual({ count: 2 })
      expect(await desk.database.records(Ticket).count()).toBe(1)
    })

    it('are all left where one of them is not there for the caller', async () => {
      expect((await bulk({ ids: [1, 3], values: { status: 'closed' } })).status).toBe(404)
      expect((await bulk({ ids: [1, 3], remove: true })).status).toBe(404)
      expect((await bulk({ ids: ['__proto__'], remove: true })).status).toBe(404)
      expect(await desk.database.records(Ticket).count({ status: 'open' })).toBe(3)
    })

    it('are all left where one of them has a fault, which names its row', async () => {
      const answer = await bulk({ ids: [1, 2], values: { priority: 70 } })
      expect(answer.status).toBe(400)
      expect(answer.body).toMatchObject({ errors: [{ path: '1.priority' }] })
      const moved = await bulk({ ids: [1, 2], values: { orgId: 2 } })
      expect(moved.status).toBe(403)
      expect((await bulk({ ids: [1], values: { views: 3 } })).status).toBe(400)
    })

    it.each([[{ ids: [] }], [{ ids: [1] }], [{ ids: [{}], remove: true }], [{ ids: 1 }]])(
      'are not %j',
      async (body) => {
        expect((await bulk(body)).status).toBe(400)
      },
    )

    it('are previewed by the same change, rolled back', async () => {
      await desk.database.records(Ticket).update(2, { status: 'waiting' })
      const preview = { preview: true, values: { status: 'closed', labelIds: [1] } }
      const { body } = await bulk({ ids: [1, 2, 3], ...preview }, admin())
      expect(body).toEqual({
        count: 3,
        changes: [
          { field: 'status', from: 'open', to: 'closed', count: 2 },
          { field: 'status', from: 'waiting', to: 'closed', count: 1 },
        ],
        deleted: 0,
      })
      const removal = await bulk({ ids: [1, 2], preview: true, remove: true })
      expect(removal.body).toEqual({ count: 2, changes: [], deleted: 2 })
      const faulty = await bulk({ ids: [1, 2], preview: true, values: { priority: 70 } })
      expect(faulty).toMatchObject({ status: 400, body: { errors: [{ path: '1.priority' }] } })
      expect(await desk.database.records(Ticket).count({ status: 'closed' })).toBe(0)
      expect(await desk.database.records(Ticket).count()).toBe(3)
      const kinds = (await entries('Ticket')).map(({ kind }) => kind)
      expect(kinds).toEqual(['create', 'create', 'create', 'update'])
    })

    it('are previewed without fields that the caller may not read', async () => {
      const values = { salary: 'more', subject: 'Same' }
      expect((await bulk({ ids: [1], preview: true, values })).status).toBe(403)
      const { body } = await bulk({ ids: [1], preview: true, values }, admin())
      expect(body.changes).toContainEqual({
        field: 'salary',
        from: 'pay of Lamp',
        to: 'more',
        count: 1,
      })
      const named = await bulk({ ids: [1], preview: true, values: { subject: 'Same' } })
      expect(named.text).not.toMatch(/salary|secret|pay of/)
    })

    it('leave out rows that are gone, where the request says so', async () => {
      const values = { status: 'closed' }
      const answer = await bulk({ ids: [1, 3, 99], skipMissing: true, values })
      expect(answer.body).toEqual({ count: 1 })
      expect(await desk.database.records(Ticket).count({ status: 'closed' })).toBe(1)
      expect((await bulk({ ids: [1, 99], skipMissing: true, remove: true })).body).toEqual({
        count: 1,
      })
    })

    it('are summarised by number where the values differ', async () => {
      for (let index = 0; index < 12; index++)
        await desk.database.records(Device).create({ name: `Pen ${index}`, orgId: 1 })
      const ids = (await desk.database.records(Device).list({ limit: 20 })).map(({ id }) => id)
      const run = { ids, preview: true }
      const { body } = await editor().post(`${api}/actions/devices/rename`, run)
      expect(body).toEqual({ count: 12, changes: [{ field: 'name', count: 12 }], deleted: 0 })
      expect(await desk.database.records(Device).count({ name: 'Pen 3' })).toBe(1)
    })

    it('are at most 5,000', async () => {
      const ids = Array.from({ length: 5001 }, (_, index) => index)
      expect((await bulk({ ids, remove: true })).status).toBe(400)
    })

    it('are none of who may not write', async () => {
      await desk.database.records(Plan).create({ code: 'a' })
      const writerless = desk.app.as({ sub: 'p', roles: ['admin'] })
      expect((await writerless.post(`${api}/bulk/plans`, { ids: [1], remove: true })).status).toBe(
        403,
      )
    })
  })

  describe('history', () => {
    const history = (id: number, who = admin(), query = '') =>
      who.get(`${api}/history/tickets/${id}${query}`)

    it('tells who changed what, by every door', async () => {
      await admin().patch('/tickets/1', { subject: 'By REST' })
      await editor().patch(`${api}/rows/tickets/1`, { status: 'closed' })
      await admin().graphql('mutation { updateTicket(id: 1, input: { priority: 3 }) { id } }')
      await desk.database.records(Ticket).updateWhere({ id: 1 }, { subject: 'By program' })
      const { rows } = (await history(1)).body as { rows: object[] }
      expect(rows).toMatchObject([
        { by: 'program', changes: [{ field: 'subject', from: 'By REST', to: 'By program' }] },
        { by: 'ann', changes: [{ field: 'priority', from: 0, to: 3 }] },
        { by: 'ed', changes: [{ field: 'status', from: 'open', to: 'closed' }] },
        { by: 'ann', kind: 'update', changes: [{ field: 'subject', from: 'Lamp', to: 'By REST' }] },
        { by: 'program', kind: 'create' },
      ])
    })

    it('keeps creations and deletions, and no hidden field', async () => {
      await desk.database.records(Ticket).insertMany([{ subject: 'Many', orgId: 1 }])
      await desk.database.records(Ticket).deleteWhere({ subject: 'Many' })
      const [, , , created, deleted] = await entries('Ticket')
      expect(created).toMatchObject({ kind: 'create', row: '4' })
      expect(deleted).toMatchObject({ kind: 'delete', row: '4' })
      expect(JSON.stringify(await entries('Ticket'))).not.toContain('hidden words')
    })

    it('is of the same transaction', async () => {
      const failing = desk.database.transaction(async () => {
        await desk.database.records(Label).create({ name: 'green' })
        throw new Error('no')
      })
      await expect(failing).rejects.toThrow('no')
      expect(await entries('Label')).toHaveLength(2)
      // What fails alone leaves nothing in the transaction around it.
      await desk.database.transaction(async () => {
        await desk.database
          .records(Label)
          .create({ name: 'red' })
          .catch(() => undefined)
        await desk.database.records(Label).create({ name: 'white' })
      })
      expect((await entries('Label')).map(({ changes }) => changes[0]?.to)).toEqual([
        'red',
        'blue',
        'white',
      ])
    })

    it('is as its reader may see it', async () => {
      await admin().patch('/tickets/1', { salary: 'more' })
      await admin().patch('/tickets/1', { salary: 'most', subject: 'Lamps' })
      const mine = await history(1, editor())
      expect(mine.text).not.toMatch(/salary|more|most|pay of/)
      expect(mine.body.rows).toHaveLength(2)
      expect((await history(1)).text).toContain('most')
      expect((await history(3, editor())).status).toBe(404)
      expect((await admin().get('/admin-entries')).status).toBe(404)
    })

    it('tells of deleted rows to who sees every row, and to nobody else', async () => {
      await editor().delete(`${api}/rows/tickets/1`)
      const gone = await history(1)
      expect(gone.status).toBe(200)
      expect(gone.body.rows).toMatchObject([{ row: '1', by: 'ed', kind: 'delete' }, {}])
      expect(gone.text).toContain('pay of Lamp')
      expect(gone.text).not.toMatch(/hidden words|secret/)
      expect((await history(1, editor())).status).toBe(404)
      expect((await history(99)).status).toBe(404)
    })

    it('of a whole record is that of the rows that its reader sees', async () => {
      const all = (who = admin(), query = '') => who.get(`${api}/history/tickets${query}`)
      await editor().patch(`${api}/rows/tickets/1`, { status: 'closed' })
      await admin().patch(`${api}/rows/tickets/3`, { subject: 'Of Beta' })
      await admin().patch(`${api}/rows/tickets/2`, { salary: 'more' })
      await admin().delete(`${api}/rows/tickets/2`)
      await desk.database.records(Label).delete(1)
      const rowsOf = async (asked: ReturnType<typeof all>) =>
        ((await asked).body as { rows: { row: string; kind: string }[] }).rows.map(
          ({ row, kind }) => `${kind} ${row}`,
        )
      const creations = ['create 3', 'create 2', 'create 1']
      const changes = ['delete 2', 'update 2', 'update 3', 'update 1']
      expect(await rowsOf(all())).toEqual([...changes, ...creations])
      expect(await rowsOf(all(admin(), '?kind=delete'))).toEqual(['delete 2'])
      expect(await rowsOf(all(editor()))).toEqual(['update 1', 'create 1'])
      expect((await all(editor())).text).not.toMatch(/Beta|Table|Chair|salary|more|pay of/)
      expect(await rowsOf(all(editor(), '?kind=delete'))).toEqual([])
      for (const query of ['?kind=x', '?kind=delete&kind=update', '?after=-1'])
        expect((await all(admin(), query)).status).toBe(400)
      expect((await editor().get(`${api}/history/plans`)).status).toBe(403)
      expect((await editor().get(`${api}/history/devices`)).body).toEqual({ rows: [] })
      for (const orgId of [1, 2]) await desk.database.records(Device).create({ name: 'Pen', orgId })
      expect((await editor().get(`${api}/history/devices`)).body.rows).toHaveLength(1)
      expect((await admin().get(`${api}/history/constructor`)).status).toBe(404)
    })

    it('comes in pages', async () => {
      for (let index = 0; index < 60; index++)
        await desk.database.records(Ticket).update(1, { priority: index % 2 })
      const first = (await history(1)).body
      const second = (await history(1, admin(), `?after=${first.next}`)).body
      expect([first.rows.length, second.rows.length]).toEqual([50, 10])
      expect(second.next).toBeUndefined()
      expect((await history(1, admin(), '?after=x')).status).toBe(400)
    })
  })

  describe('actions', () => {
    const run = (name: string, ids: unknown[], body?: unknown, who = editor()) =>
      who.post(`${api}/actions/tickets/${name}`, { ids, body })

    it('run once a row, in one transaction', async () => {
      const answer = await run('close', [1, 2], { reason: 'done' })
      expect(answer.body).toEqual({ count: 2 })
      expect(await desk.database.records(Ticket).count({ status: 'closed' })).toBe(2)
      expect((await entries('Ticket')).slice(-2)).toMatchObject([
        { kind: 'update', by: 'ed' },
        { kind: 'action', action: 'Close', by: 'ed', row: '2' },
      ])
    })

    it('leave nothing where one of them refuses', async () => {
      const answer = await run('close', [1, 2], { reason: 'stop' })
      expect(answer.status).toBe(409)
      expect(answer.text).toContain('This one stays open.')
      expect(await desk.database.records(Ticket).count({ status: 'closed' })).toBe(0)
      expect(await desk.database.records(Comment).count()).toBe(0)
    })

    it('store what they change on the row', async () => {
      expect((await run('raise', [1])).status).toBe(200)
      expect(await desk.database.records(Ticket).find(1)).toMatchObject({ priority: 1 })
      expect((await run('raise', [1, 2])).status).toBe(400)
    })

    it('are previewed, with what they change in the row and what they delete', async () => {
      const close = { ids: [1, 2], preview: true, body: { reason: 'done' } }
      const { body } = await admin().post(`${api}/actions/tickets/close`, close)
      expect(body).toEqual({
        count: 2,
        changes: [{ field: 'status', from: 'open', to: 'closed', count: 2 }],
        deleted: 0,
      })
      const purge = await admin().post(`${api}/actions/tickets/purge`, { ids: [3], preview: true })
      expect(purge.body).toEqual({ count: 1, changes: [], deleted: 1 })
      expect(await desk.database.records(Ticket).count({ status: 'open' })).toBe(3)
      expect(await desk.database.records(Comment).count()).toBe(0)
    })

    it('check their form', async () => {
      const answer = await run('close', [1], { reason: 'x' })
      expect(answer.body).toMatchObject({ errors: [{ path: 'reason', code: 'minLength' }] })
      expect((await run('close', [1])).status).toBe(400)
    })

    it('are for those only who may run them, on rows that they see', async () => {
      for (const name of ['purge', 'rowsOf', 'constructor', 'keepsWriteInHistory', 'toString'])
        expect((await run(name, [1])).status).toBe(404)
      expect((await run('close', [1, 3], { reason: 'done' })).status).toBe(404)
      expect((await run('purge', [3], undefined, admin())).status).toBe(200)
      expect(await desk.database.records(Ticket).count({ status: 'closed' })).toBe(0)
    })
  })
})
