/** What the admin page must withstand: foreign pages, heavy files, odd names, and what is left after a sign-out. */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { gunzipSync } from 'node:zlib'
import { AdminEntry } from 'filigree/admin'
import { Org, Ticket } from './desk.js'
import { deskOn } from './desk-fixture.js'

describe('attacks on the admin page', () => {
  const desk = deskOn('SQLite')
  const { admin, editor } = desk
  let cookie: string

  beforeEach(async () => {
    const login = await desk.app.app.inject({
      method: 'POST',
      url: '/login',
      json: { name: 'ann', password: 'right' },
    })
    cookie = String(login.headers['set-cookie']).split(';')[0] ?? ''
  })

  const send = (
    method: string,
    path: string,
    json?: unknown,
    headers: Record<string, string> = { 'sec-fetch-site': 'same-origin' },
  ) =>
    desk.app.app.inject({
      ...{ method, url: `/admin/api/${path}`, headers: { cookie, ...headers } },
      ...(json === undefined ? {} : { json }),
    })

  const writes: [string, string, unknown][] = [
    ['POST', 'save/tickets/1', { was: {}, values: { subject: 'Mine' } }],
    ['POST', 'remove/tickets/1', { was: {} }],
    ['POST', 'bulk/tickets', { ids: [1], remove: true }],
    ['POST', 'actions/tickets/purge', { ids: [1] }],
    ['POST', 'rows/tickets', { subject: 'Mine', orgId: 1 }],
    ['PATCH', 'rows/tickets/1', { subject: 'Mine' }],
    ['DELETE', 'rows/tickets/1', undefined],
    ['POST', 'sign-out', undefined],
  ]

  it.each(writes)(
    '%s %s by cookie is taken from our own pages alone',
    async (method, path, json) => {
      for (const headers of [
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site' },
        { origin: 'https://evil.example' },
        { origin: 'null' },
        { host: 'evil.example', origin: 'https://evil.example' },
      ] as Record<string, string>[])
        expect((await send(method, path, json, headers)).status).toBe(403)
      expect(
        await desk.database.records(Ticket).count({ subject: { in: ['Lamp', 'Chair'] } }),
      ).toBe(2)
      expect((await send('GET', 'schema')).status).toBe(200)
    },
  )

  it('takes a file by cookie from our own pages alone', async () => {
    const post = (site: string) =>
      desk.app.app.inject({
        method: 'POST',
        url: '/admin/api/csv/tickets',
        headers: { cookie, 'sec-fetch-site': site, 'content-type': 'text/csv' },
        body: 'subject,orgId\nMine,1\n',
      })
    expect((await post('cross-site')).status).toBe(403)
    expect((await post('same-origin')).status).toBe(200)
  })

  it('leaves nothing after a sign-out', async () => {
    const list = await send('GET', 'rows/tickets')
    expect(list.headers['cache-control']).toContain('no-store')
    for (const path of [
      'schema',
      'rows/tickets/1',
      'csv/tickets',
      'history/tickets/1',
      'rows/nothing',
    ])
      expect(String((await send('GET', path)).headers['cache-control'])).toContain('no-store')
    const out = await send('POST', 'sign-out')
    expect(out.status).toBe(204)
    expect(String(out.headers['set-cookie'])).toMatch(/app_token=;.*Max-Age=0/)
    for (const path of ['schema', 'rows/tickets', 'csv/tickets', 'history/tickets/1'])
      expect((await send('GET', path)).status).toBe(401)
  })

  it('serves its scripts and styles, and no other file', async () => {
    for (const [name, type] of [
      ['admin.js', 'text/javascript; charset=utf-8'],
      ['chart.js', 'text/javascript; charset=utf-8'],
      ['admin.css', 'text/css; charset=utf-8'],
    ] as const) {
      const { status, headers } = await desk.app.app.inject({ url: `/admin/assets/${name}` })
      expect([status, headers['content-type']]).toEqual([200, type])
      expect(headers['x-content-type-options']).toBe('nosniff')
      const again = { 'if-none-match': headers.etag ?? '' }
      const known = await desk.app.app.inject({ url: `/admin/assets/${name}`, headers: again })
      expect(known.status).toBe(304)
    }
    for (const name of ['admin.ts', '__proto__', '..%2fpackage.json', 'admin.js/x'])
      expect((await desk.app.app.inject({ url: `/admin/assets/${name}` })).status).not.toBe(200)
  })

  it('packs its schema', async () => {
    const { rawBody, headers } = await desk.app.app
      .inject({ url: '/admin/api/schema', headers: { cookie, 'accept-encoding': 'gzip, br' } })
      .then((answer) => ({ ...answer, rawBody: (answer as { bytes?: Uint8Array }).bytes }))
    expect(headers['content-encoding']).toBe('gzip')
    expect(headers.vary).toContain('Accept-Encoding')
    if (rawBody !== undefined) expect(gunzipSync(rawBody).toString()).toContain('"name":"Ticket"')
  })

  it.each([
    ['a line of 10 MB', `subject,orgId\n${'x'.repeat(10_000_000)},1\n`],
    ['a quote that is never closed', `subject,orgId\n"${'x\n'.repeat(2_000_000)}`],
    ['quotes alone', `subject,orgId\n${'"'.repeat(2_000_001)}`],
    ['commas alone', `subject,orgId\n${','.repeat(2_000_000)}`],
    ['empty lines alone', `subject,orgId\n${'\n'.repeat(4_000_000)}`],
    ['a line of names without an end', 'a,'.repeat(1_000_000)],
    ['faults in 100,000 rows', `subject,orgId\n${'x,1\n'.repeat(100_000)}`],
    ['NUL', 'subject,orgId\nab\0cd,1\n'],
    ['no text', Buffer.from([0xc3, 0x28, 0xff])],
  ])('a file of %s is answered soon, and writes nothing', async (what, file) => {
    const started = await desk.app.app.inject({
      method: 'POST',
      url: '/admin/api/csv/tickets',
      headers: { cookie, 'sec-fetch-site': 'same-origin', 'content-type': 'text/csv' },
      body: file,
    })
    expect([what, started.status]).toEqual([what, 400])
    expect(started.body.length).toBeLessThan(20_000)
    expect(await desk.database.records(Ticket).count()).toBe(3)
  })

  it('takes no file beyond 16 MB, and no more than 100,000 rows', async () => {
    const post = (body: string) =>
      admin().post('/admin/api/csv/orgs', body, { headers: { 'content-type': 'text/csv' } })
    expect((await post('x'.repeat(17_000_000))).status).toBe(413)
  })

  it.each([
    ['GET', 'rows/__proto__'],
    ['GET', 'csv/__proto__'],
    ['GET', 'csv/constructor'],
    ['GET', 'history/hasOwnProperty/1'],
    ['GET', 'history/tickets/__proto__'],
    ['GET', 'history/tickets/1%20or%201=1'],
    ['GET', 'history/adminEntries/1'],
    ['GET', 'rows/adminEntries'],
    ['POST', 'bulk/__proto__'],
    ['POST', 'actions/tickets/__proto__'],
    ['POST', 'actions/tickets/constructor'],
    ['POST', 'save/tickets/__proto__'],
  ])('%s %s is nothing', async (method, path) => {
    const json = { ids: [1], remove: true }
    const body = path.startsWith('actions')
      ? { ids: [1] }
      : path.startsWith('save')
        ? { was: {}, values: {} }
        : json
    const answer = await send(method, path, method === 'GET' ? undefined : body)
    expect(answer.status).toBe(404)
  })

  it('tells nothing by what was compared', async () => {
    const ask = (was: object) => editor().post('/admin/api/save/tickets/1', { was, values: {} })
    for (const was of [{ secret: 'hidden words' }, { salary: 'pay of Lamp' }, { toString: null }]) {
      const [right, wrong] = [await ask(was), await ask({ [Object.keys(was)[0] ?? '']: 'x' })]
      expect([right.status, wrong.status]).toEqual([400, 400])
      expect(right.text).toBe(wrong.text)
    }
  })

  it('shows the history of a row to none but its readers, whatever id another record has', async () => {
    await admin().patch('/admin/api/rows/orgs/1', { name: 'Alphas' })
    const entries = await desk.database.records(AdminEntry).list()
    expect(entries.every(({ record }) => record !== 'Org')).toBe(true)
    const { body } = await editor().get('/admin/api/history/orgs/1')
    expect(body).toEqual({ rows: [] })
    expect((await editor().get('/admin/api/history/plans/1')).status).toBe(403)
    const graphql = await admin().graphql('{ adminEntries { id } }')
    expect(graphql.errors).toBeDefined()
  })

  it('does not do the work of 100,000 ids', async () => {
    const ids = Array.from({ length: 100_000 }, (_, index) => index + 1)
    for (const path of ['bulk/tickets', 'actions/tickets/purge']) {
      const body = path.startsWith('bulk') ? { ids, remove: true } : { ids }
      expect((await admin().post(`/admin/api/${path}`, body)).status).toBe(400)
    }
    expect(await desk.database.records(Ticket).count()).toBe(3)
  })

  it('lets pickers and lists find only what the caller sees', async () => {
    const { body } = await editor().get(
      '/admin/api/rows/tickets?fields=id,subject&subject.startsWith=T',
    )
    expect(body).toEqual([])
    const comments = await editor().get('/admin/api/rows/comments?ticket.subject=Table')
    expect(comments.body).toEqual([])
    expect(await desk.database.records(Org).count()).toBe(2)
  })
})
