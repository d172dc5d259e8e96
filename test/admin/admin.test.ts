/** The server's side of the admin page. Source: specification, Admin page. */
import { describe, expect, it } from '@jest/globals'
import { deskOn, engines } from './desk-fixture.js'

describe.each(engines)('the admin page on %s', (engine) => {
  const desk = deskOn(engine)
  const { admin, editor } = desk

  it('serves the page to everybody, with a strict policy and nothing of any row', async () => {
    for (const path of ['/admin', '/admin/tickets/7']) {
      const page = await desk.app.anonymous.get(path)
      expect(page.status).toBe(200)
      expect(page.text).toContain('src="/admin/assets/admin.js"')
      const policy = String(page.headers['content-security-policy'])
      expect(policy).toContain("frame-ancestors 'none'")
      expect(policy).not.toMatch(/unsafe|data:|\*/)
      expect(page.headers['cache-control']).toBe('no-store')
    }
    expect((await desk.app.anonymous.get('/admin/api/none')).status).toBe(404)
  })

  it('describes the sign-in', async () => {
    const { body } = await desk.app.anonymous.get('/admin/api/login')
    const string = expect.objectContaining({ control: 'line', type: 'text', label: 'a string' })
    expect(body).toEqual({
      path: '/login',
      method: 'POST',
      fields: [
        { name: 'name', kind: string, required: true, maxLength: 100 },
        { name: 'password', kind: string, required: true, maxLength: 100 },
      ],
      signOut: '/admin/api/sign-out',
    })
  })

  it('lets nobody in without a role of the page', async () => {
    for (const path of ['schema', 'rows/tickets', 'csv/tickets', 'history/tickets/1']) {
      expect((await desk.app.anonymous.get(`/admin/api/${path}`)).status).toBe(401)
      expect(
        (await desk.app.as({ sub: 'x', roles: ['user'] }).get(`/admin/api/${path}`)).status,
      ).toBe(403)
    }
  })

  it('tells each caller what it may see and do', async () => {
    const all = (await admin().get('/admin/api/schema')).body
    const some = (await editor().get('/admin/api/schema')).body
    expect(all).toMatchObject({
      caller: { sub: 'ann' },
      records: [
        {
          name: 'Ticket',
          path: 'tickets',
          label: 'Tickets',
          one: 'Ticket',
          group: 'Desk',
          help: 'What people ask, and what became of it.',
          key: 'id',
          keyKind: 'int',
          title: 'subject',
          list: ['subject', 'status', 'priority', 'org', 'due'],
          can: 'cud',
          history: true,
        },
        { name: 'Comment' },
        { name: 'Label' },
        { name: 'Device', keyKind: 'uuid' },
        { name: 'Org', search: true },
        { name: 'Plan', version: 'version' },
        { name: 'Contract' },
      ],
    })
    const { records, fields, kinds } = all as unknown as {
      records: { fields: [string, number][] }[]
      fields: { kind: number }[]
      kinds: object[]
    }
    expect(new Set(fields.map((field) => JSON.stringify(field))).size).toBe(fields.length)
    const [, place] = records[0]!.fields.find(([name]) => name === 'priority')!
    expect(fields[place]).toMatchObject({ max: 9, default: 0 })
    expect(kinds[fields[place]!.kind]).toMatchObject({ control: 'integer', label: 'an integer' })
    expect(JSON.stringify(all)).not.toContain('secret')
    expect(JSON.stringify(all)).toContain('salary')
    expect(JSON.stringify(some)).not.toMatch(/secret|salary|Plan|Contract|Purge/)
    expect(JSON.stringify(all)).toContain('Purge')
  })

  it('rejects searches that read all rows of a large table, also of a related one', async () => {
    const { database } = desk
    const { sizes } = database as unknown as { sizes: object }
    const setSizes = (value: object): void => {
      Object.defineProperty(database, 'sizes', { value, configurable: true, writable: true })
    }
    const read = (query: string) => desk.admin().get(`/admin/api/rows/${query}`)
    try {
      setSizes({
        rowsOf: (table: string) => (table === 'org' ? 300_000 : 10),
        bytesOf: () => 0,
        refresh: () => undefined,
        searchLimit: 10_000,
        hasTrigrams: false,
      })
      for (const query of ['orgs?name.ilike=%25a%25', 'tickets?org.name.contains=a']) {
        const { status, text } = await read(query)
        expect([status, text]).toEqual([400, expect.stringContaining('the table has 300000 rows')])
      }
      for (const query of ['orgs?name.like=A%25', 'orgs?search=a', 'tickets?subject.ilike=%25a%25'])
        expect((await read(query)).status).toBe(200)
    } finally {
      setSizes(sizes)
    }
  })

  it('describes fields by their labels and help', async () => {
    const { body } = await admin().get('/admin/api/schema')
    const { records, fields } = body as unknown as {
      records: { name: string; fields: [string, number][]; relations: object[] }[]
      fields: object[]
    }
    const contract = records.find(({ name }) => name === 'Contract')!
    const fieldOf = (name: string) => fields[contract.fields.find(([one]) => one === name)![1]]
    expect(fieldOf('fee')).toMatchObject({ label: 'Yearly fee', help: 'In euros.' })
    expect(fieldOf('orgId')).toMatchObject({ label: 'Organisation', by: 'org' })
    expect(contract.relations).toContainEqual(
      expect.objectContaining({ name: 'org', label: 'Organisation' }),
    )
  })
})
