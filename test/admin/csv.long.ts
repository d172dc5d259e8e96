/** CSV out of the admin page's lists and in. Source: specification, Admin page 9. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Database } from 'filigree'
import { testApplication, type TestApplication } from 'filigree/testing'
import { sql } from 'kysely'
import { startPostgres, type PostgresServer } from '../records/postgres-server.js'
import { readSql } from '../records/run-sql.js'
import { Contract, Desk, Device, fill, Label, Org, Ticket } from './desk.js'
import { deskOn, engines } from './desk-fixture.js'

describe.each(engines)('CSV of the admin page on %s', (engine) => {
  const desk = deskOn(engine)
  const { admin, editor } = desk

  const out = (query = '', who = editor()) => who.get(`/admin/api/csv/tickets${query}`)
  const send = (file: string | Buffer, query = '', who = editor(), record = 'tickets') =>
    who.post(`/admin/api/csv/${record}${query}`, file, { headers: { 'content-type': 'text/csv' } })

  it('has all rows of the filter, and only what the caller may see', async () => {
    const answer = await out('?orderBy=-subject&limit=1&fields=id,subject,org.name,salary')
    expect(answer.status).toBe(200)
    expect(answer.headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': 'attachment; filename="tickets.csv"',
    })
    expect(answer.headers['cache-control']).toContain('no-store')
    expect(answer.text).toBe('id,subject\r\n1,Lamp\r\n2,Chair\r\n')
    expect((await out('?subject=Lamp')).text.split('\r\n')).toHaveLength(3)
    expect((await out()).text).not.toMatch(/salary|secret|pay of|hidden|Table/)
    expect((await out('', admin())).text).toContain('pay of Table')
    expect((await out('?salary=x')).status).toBe(403)
    expect((await out('?orderBy=salary')).status).toBe(403)
    expect((await out('?secret=x')).status).toBe(400)
  })

  it('has more rows than a page', async () => {
    const rows = Array.from({ length: 1203 }, (_, index) => ({
      name: `label ${index % 7} ${index}`,
    }))
    await desk.database.records(Label).insertMany(rows)
    const { text } = await admin().get('/admin/api/csv/labels?orderBy=-name')
    const lines = text.trimEnd().split('\r\n')
    expect(new Set(lines).size).toBe(1206)
  })

  it('defuses formulas, and takes the apostrophe away again', async () => {
    const subjects = [
      ...['=1+1', '+x', '-2', '-x', '@a', '\tb', "'=c", 'a,"b"\nc', ' d ', '+49 30'],
      ...['\n=1', '＝1+1', '＋x', '－x', '＠a', "'＝c", 'x;=1+1', 'x\t=1+1'],
    ]
    for (const subject of subjects)
      await desk.database.records(Ticket).create({ subject, orgId: 1 })
    const { text } = await out('?fields=id,subject&id.gt=3')
    const lines = [
      "'=1+1",
      "'+x",
      '-2',
      "'-x",
      "'@a",
      `"'\tb"`,
      "''=c",
      '"a,""b""\nc"',
      '" d "',
      "'+49 30",
      `"'\n=1"`,
      ...["'＝1+1", "'＋x", "'－x", "'＠a", "''＝c", '"x;=1+1"', '"x\t=1+1"'],
    ]
    for (const [index, line] of lines.entries()) expect(text).toContain(`${index + 4},${line}\r\n`)
    expect((await send(text)).body).toEqual({ count: subjects.length })
    for (const [index, subject] of subjects.entries())
      expect(await desk.database.records(Ticket).find(index + 4)).toMatchObject({ subject })
  })

  it('takes back the file that it gave', async () => {
    const { text } = await out()
    expect((await send(text, '?check=true')).body).toEqual({
      ...{ rows: 2, faults: [], seconds: 1, hooks: false },
    })
    expect((await send(text.replace('Lamp', 'Lamps'))).body).toEqual({ count: 2 })
    expect(await desk.database.records(Ticket).find(1)).toMatchObject({
      subject: 'Lamps',
      views: 0,
    })
    const odd = text.replace(/,0(,[^,]*,[^,]*,)\r\n/, ',7$1\r\n')
    const { faults } = (await send(odd, '?check=true')).body
    expect(faults.map(({ path }: { path: string }) => path)).toEqual([
      'views',
      'updatedAt',
      'updatedAt',
    ])
  })

  it('has the keys of linked rows, and links by them', async () => {
    const save = { was: {}, values: { labelIds: [2, 1] } }
    expect((await editor().post('/admin/api/save/tickets/1', save)).status).toBe(200)
    const { text } = await out('?fields=id,labelIds')
    expect(text).toMatch(/^id,labelIds\r\n1,"(1;2|2;1)"\r\n2,\r\n$/)
    expect((await send(text)).body).toEqual({ count: 2 })
    const file = 'id,subject,orgId,labelIds\n1,Lamp,1,2\n2,Chair,1,"2, 1"\n,Sofa,1,1;\n'
    expect((await send(file)).body).toEqual({ count: 3 })
    expect((await out('?fields=labelIds&orderBy=id')).text).toMatch(
      /^labelIds\r\n2\r\n"(1;2|2;1)"\r\n1\r\n$/,
    )
    expect((await send('id,labelIds\n1,\n')).body).toEqual({ count: 1 })
    expect((await out('?fields=labelIds&id=1')).text).toBe('labelIds\r\n\r\n')
    expect((await send(`id,labelIds\n1,"${'2;'.repeat(100_000)}"\n`)).body).toEqual({ count: 1 })
    expect((await out('?fields=labelIds&id=1')).text).toBe('labelIds\r\n2\r\n')
    const keys = Array.from({ length: 1001 }, (_, index) => index + 1).join(';')
    expect(await send(`id,labelIds\n1,${keys}\n`)).toMatchObject({
      status: 400,
      body: { faults: [{ row: 2, message: expect.stringContaining('at most 1000') }] },
    })
    const faulty = await send('id,labelIds\n1,red\n1,99\n2,=1+1\n', '?check=true')
    expect(faulty.body.faults).toMatchObject([
      { row: 2, path: 'labelIds' },
      { row: 3 },
      { row: 4, path: 'labelIds' },
    ])
  })

  it('makes rows from what spreadsheets write', async () => {
    const file =
      '\ufeffsubject;status;priority;orgId;body\r\n"Bed; big";open;3;1;"two\r\nlines"\r\n\r\nSofa;;;1;\n'
    expect((await send(file)).body).toEqual({ count: 2 })
    expect(await desk.database.records(Ticket).list({ where: { id: { gt: 3 } } })).toMatchObject([
      { subject: 'Bed; big', priority: 3, body: 'two\r\nlines' },
      { subject: 'Sofa', status: 'open', priority: 0, body: null },
    ])
    const wide = Buffer.from('\ufeffsubject,orgId\nStühle,1\n', 'utf16le')
    expect((await send(wide)).body).toEqual({ count: 1 })
    // The file is converted in parts of 256 KiB. The first boundary lies in a pair of surrogates here.
    const faces = `Bed,1,${'\u{1f600}'.repeat(1000)}\n`.repeat(80)
    const many = Buffer.from(`\ufeffsubject,orgId,body\n${faces}`, 'utf16le')
    expect((await send(many, '?check=true')).body).toMatchObject({ rows: 80, faults: [] })
    expect((await send(many.subarray(0, -1), '?check=true')).body.faults).toMatchObject([
      { message: expect.stringContaining('not UTF-8') },
    ])
  })

  it('tells each fault with its row, and writes nothing', async () => {
    const file =
      'id,subject,status,priority,orgId\n,Bed,open,1,1\n,x,shut,many,1\n1,Lamps,open,1,1\n3,Mine,open,1,1\n,Sofa,open,1,2\n,Rug,open,1,1,1\n'
    const faults = [
      { row: 3, path: 'priority', message: expect.stringContaining('an integer') },
      { row: 3, path: 'subject', message: expect.stringContaining('at least') },
      { row: 3, path: 'status', message: expect.stringContaining('one of') },
      { row: 5, path: 'id' },
      { row: 6, path: '' },
      { row: 7, path: '' },
    ]
    for (const query of ['?check=true', '']) {
      const answer = await send(file, query)
      expect(answer.status).toBe(query === '' ? 400 : 200)
      expect(answer.body.faults).toMatchObject(faults)
    }
    const rules = await send('subject,status,orgId\nx,shut,1\n', '?check=true')
    expect(rules.body.faults).toMatchObject([
      { row: 2, path: 'subject' },
      { row: 2, path: 'status' },
    ])
    expect(await desk.database.records(Ticket).count()).toBe(3)
    expect(await desk.database.records(Ticket).find(1)).toMatchObject({ subject: 'Lamp' })
  })

  it('finds two alike in one file', async () => {
    const answer = await send('name\ngreen\ngreen\nred\n', '?check=true', admin(), 'labels')
    expect(answer.body.faults.map(({ row }: { row: number }) => row)).toEqual([3, 4])
    expect(await desk.database.records(Label).count()).toBe(2)
  })

  it('finds two alike in one file, however far apart', async () => {
    const names = Array.from({ length: 130 }, (_, index) => `shade ${index}`)
    const file = `name\n${[...names, 'shade 3'].join('\n')}\n`
    for (const query of ['?check=true', '']) {
      const { body } = await send(file, query, admin(), 'labels')
      expect(body.faults).toMatchObject([{ row: 132, path: 'name' }])
      expect(body.faults[0].message).toMatch(/^name is already taken/)
    }
    expect(await desk.database.records(Label).count()).toBe(2)
    const label = await desk.database.records(Label).create({ name: 'shade' })
    const twice = `id,name\n${`${label.id},shade\n`.repeat(60)}`
    expect((await send(twice, '?check=true', admin(), 'labels')).body.faults).toEqual([])
  })

  it('lets other writers in while a file is checked', async () => {
    const names = Array.from({ length: 400 }, (_, index) => `shade ${index}`)
    const order: string[] = []
    const check = send(`name\n${names.join('\n')}\n`, '?check=true', admin(), 'labels').then(
      ({ body }) => {
        expect(body).toMatchObject({ rows: 400, faults: [] })
        order.push('check')
      },
    )
    await admin().post('/admin/api/csv/labels', 'name\nfirst\n', {
      headers: { 'content-type': 'text/csv' },
    })
    order.push('import')
    await check
    expect(order).toEqual(['import', 'check'])
    expect(await desk.database.records(Label).count()).toBe(3)
  })

  const placesOf = (faults: readonly { readonly row: number; readonly path: string }[]) =>
    faults.map(({ row, path }) => ({ row, path }))

  it('finds the same errors in a check as in an import', async () => {
    const [devices, labels] = ['devices', 'labels']
    const [org] = await desk.database.records(Org).list({ limit: 1 })
    const orgId = org?.id ?? 0
    const device = await desk.database.records(Device).create({ name: 'Printer', orgId })
    const missing = '00000000-0000-4000-8000-00000000000a'
    const contract = await desk.database.records(Contract).create({ code: 'A-1', fee: '1' })
    const files = [
      [
        devices,
        `id,name,orgId,parentId\n,Scanner,99,\n,Modem,${orgId},${missing}\n${device.id},P,${orgId},\n${missing},Fax,${orgId},\n`,
      ],
      [devices, `id,orgId\n${device.id},99\n`],
      [labels, 'id,name\n1,blue\n2,blue\n,red\n'],
      [labels, 'id,name\n1,black\n,red\n2,black\n'],
      ['contracts', `id,version,code,fee\n${contract.id},7,A-2,1\n,,A-3,-1\n,,bad,1\n`],
      ['tickets', 'id,subject,orgId,labelIds\n1,Lamp,1,99\n,Sofa,1,1;98\n,Bed,1,2\n'],
    ] as const
    for (const [record, file] of files) {
      const checked = await send(file, '?check=true', admin(), record)
      const { status, body } = await send(file, '', admin(), record)
      expect({ record, status }).toEqual({ record, status: 400 })
      expect(placesOf(checked.body.faults)).toEqual(placesOf(body.faults))
    }
    const renamed = 'id,name\n1,black\n,red\n'
    expect((await send(renamed, '?check=true', admin(), labels)).body.faults).toEqual([])
    expect((await send(renamed, '', admin(), labels)).body).toEqual({ count: 2 })
  })

  const linesOf = ({ text }: { text: string }): Record<string, unknown>[] =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)

  it('streams its progress, and the result at the end', async () => {
    const names = Array.from({ length: 130 }, (_, index) => `shade ${index}`)
    const file = `name\n${names.join('\n')}\n`
    const check = await send(file, '?check=true&progress=true', admin(), 'labels')
    expect(check.headers['content-type']).toBe('application/x-ndjson; charset=utf-8')
    const lines = linesOf(check)
    expect(lines[0]).toEqual({ rows: 0, share: 0 })
    expect(lines.at(-1)).toMatchObject({ rows: 130, faults: [] })
    const shares = lines.slice(0, -1).map(({ share }) => Number(share))
    expect(shares).toEqual([...shares].sort((one, other) => one - other))
    expect(shares.at(-1)).toBe(1)
    expect(await desk.database.records(Label).count()).toBe(2)
    const written = await send(file, '?progress=true', admin(), 'labels')
    expect(linesOf(written).at(-1)).toEqual({ count: 130 })
    const again = await send(file, '?progress=true', admin(), 'labels')
    expect(linesOf(again).at(-1)).toMatchObject({ code: 'VALIDATION', faults: { length: 50 } })
    expect(await desk.database.records(Label).count()).toBe(132)
    const refused = await send('code\nx\n', '?progress=true', admin(), 'plans')
    expect(linesOf(refused).at(-1)).toMatchObject({ status: 403 })
  })

  it('accepts the labels of the page as names of columns', async () => {
    const file = 'Subject,ORG,Priority,Labels\nBed,1,3,2\n'
    expect((await send(file)).body).toEqual({ count: 1 })
    expect(
      await desk.database.records(Ticket).list({ where: { subject: 'Bed' }, with: ['labels'] }),
    ).toMatchObject([{ orgId: 1, priority: 3, labels: [{ name: 'blue' }] }])
    expect((await send('subject,Subject,orgId\na,b,1\n', '?check=true')).body.faults).toMatchObject(
      [{ row: 1, path: 'subject' }],
    )
  })

  it('bounds what one row may cost', async () => {
    const quotes = `subject,orgId\n"${'""'.repeat(600_000)}",1\n`
    const commas = `subject,orgId\n${','.repeat(1_000_000)}\n`
    const long = `subject,orgId\n${'x'.repeat(1_100_000)},1\n`
    const blank = `subject,orgId\n${'\n'.repeat(100_001)}`
    for (const [file, message] of [
      [quotes, 'bytes'],
      [commas, '1000 cells'],
      [long, 'bytes'],
    ] as const)
      expect((await send(file, '?check=true')).body.faults).toMatchObject([
        { row: 2, message: expect.stringContaining(message) },
      ])
    expect((await send(blank, '?check=true')).body.faults).toMatchObject([
      { row: 100_002, message: expect.stringContaining('100000 rows') },
    ])
  })

  it.each([
    ['secret,subject\nx,y\n', 'secret'],
    ['salary,subject\nx,y\n', 'salary'],
    ['subject,subject\nx,y\n', 'subject'],
    ['__proto__,subject\nx,y\n', '__proto__'],
    ['views,subject,orgId\n7,Bed,1\n', 'views'],
    ['subject,orgId\n"Bed,1\n', ''],
    ['subject,orgId\n"Bed"s,1\n', ''],
    ['', ''],
  ])('refuses %j', async (file, path) => {
    const answer = await send(file, '?check=true')
    expect(answer.body.faults[0]).toMatchObject({ path })
    expect((await send(file)).status).toBe(400)
    expect(await desk.database.records(Ticket).count()).toBe(3)
  })

  it('takes text/csv alone, of who may write', async () => {
    const json = await editor().post('/admin/api/csv/tickets', { a: 1 })
    expect(json.status).toBe(415)
    const plain = await desk.app
      .as({ sub: 'x', roles: ['user'] })
      .post('/admin/api/csv/tickets', 'a', { headers: { 'content-type': 'text/csv' } })
    expect(plain.status).toBe(403)
    expect((await send('code\nx\n', '', admin(), 'plans')).status).toBe(403)
  })
})

describe.each(engines)('a check of CSV beside a transaction, on %s', (engine) => {
  let server: PostgresServer | undefined
  let folder: string
  let app: TestApplication
  beforeAll(async () => {
    if (engine === 'PostgreSQL') server = await startPostgres()
    folder = await mkdtemp(join(tmpdir(), 'filigree-csv-'))
    // A database in memory has one connection, which a transaction keeps.
    const database = (await server?.createDatabase()) ?? `sqlite:${join(folder, 'app.db')}`
    app = await testApplication(Desk, { database, auth: { cookie: true } })
  })
  afterAll(async () => {
    await app.close()
    await server?.close()
    await rm(folder, { recursive: true })
  })

  it('checks a file while another transaction writes, and takes no keys', async () => {
    const database = app.get(Database)
    await fill(database)
    const labels = database.records(Label)
    const first = await labels.create({ name: 'first' })
    const who = app.as({ sub: 'ann', roles: ['admin'] })
    expect((await who.get('/admin/api/csv/labels')).status).toBe(200)
    let finish = (): void => undefined
    const finished = new Promise<void>((resolve) => (finish = resolve))
    let writer: Promise<unknown> | undefined
    await new Promise<void>((resolve, reject) => {
      writer = database.transaction(async () => {
        await labels.update(first.id, { name: 'changing' })
        resolve()
        await finished
      })
      writer.catch(reject)
    })
    const names = Array.from({ length: 120 }, (_, index) => `shade ${index}`)
    const file = `name\n${names.join('\n')}\nred\nx\nshade 5\n`
    const { body } = await who.post('/admin/api/csv/labels?check=true', file, {
      headers: { 'content-type': 'text/csv' },
    })
    finish()
    await writer
    expect(body.rows).toBe(123)
    expect(body.faults).toMatchObject([
      { row: 122, path: 'name', message: 'name is already taken' },
      { row: 123, path: 'name' },
      { row: 124, path: 'name' },
    ])
    expect((await labels.create({ name: 'second' })).id).toBe(first.id + 1)
    expect(await labels.count()).toBe(4)
  })
})

/** A conflict between two transactions, as the database reports it: once, at the row with this number. */
const conflictAt = (table: string, row: number): readonly string[] => [
  'create sequence written_rows',
  `create function meet_conflict() returns trigger language plpgsql as $$ begin
    if nextval('written_rows') = ${row} then
      raise exception 'could not serialize access' using errcode = '40001';
    end if;
    return new;
  end $$`,
  `create trigger meet_conflict before insert on ${table} for each row execute function meet_conflict()`,
]

describe('a batch of CSV that meets a conflict, on PostgreSQL', () => {
  const desk = deskOn('PostgreSQL')
  const names = Array.from({ length: 120 }, (_, index) => `label ${index}`)
  const send = (path: string, text: string, who = desk.editor()) =>
    who.post(`/admin/api/csv/${path}`, text, { headers: { 'content-type': 'text/csv' } })
  const meetConflict = async (table: string, work: () => Promise<void>): Promise<void> => {
    for (const text of conflictAt(table, 75)) await sql.raw(text).execute(desk.database.kysely)
    try {
      await work()
      const [[calls] = []] = await readSql(desk.database, 'select last_value from written_rows')
      // The rows of the batch were written twice.
      expect(Number(calls)).toBeGreaterThan(names.length)
    } finally {
      for (const what of [
        `trigger meet_conflict on ${table}`,
        'function meet_conflict',
        'sequence written_rows',
      ])
        await sql.raw(`drop ${what}`).execute(desk.database.kysely)
    }
  }

  it('runs again in an import, which writes each row once', async () => {
    await meetConflict('label', async () => {
      const { body } = await send('labels', ['name', ...names].join('\r\n'), desk.admin())
      expect(body).toEqual({ count: 120 })
    })
    expect(await desk.database.records(Label).count()).toBe(122)
  })
})
