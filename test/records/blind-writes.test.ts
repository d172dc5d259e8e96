/** Writes by callers who may not read the record. Source: decisions, Records: access rules. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  Controller,
  Database,
  Field,
  type HttpRequest,
  Module,
  Post,
  Record as Row,
  recordsAs,
  Secured,
  type Generated,
} from 'filigree'
import { admin } from 'filigree/admin'
import { idempotent } from 'filigree/idempotent'
import { testApplication, type TestApplication } from 'filigree/testing'
import { OpenLogin } from '../admin/open-login.js'
import { startBothEngines } from './both-engines.js'

@Secured('manager')
@Row({ version: true, writes: { create: 'clerk', update: ['clerk', 'manager'], delete: 'clerk' } })
class Invoice {
  @Field('id') id!: number
  @Field('string', { unique: true }) code!: string
  @Field('string', { default: 'unpaid' }) state!: Generated<string>
  @Field('string', { readOnly: true, default: 'private' }) memo!: Generated<string>
}

/** Nobody may write it without reading it. */
@Secured('manager', 'clerk')
@Row({ writes: 'clerk' })
class Receipt {
  @Field('id') id!: number
  @Field('string') text!: string
}

@Controller('/invoices', { crud: Invoice })
class Invoices {}
@Controller('/receipts', { crud: Receipt })
class Receipts {}
@Controller('/own')
class OwnInvoices {
  static readonly inject = [Database]
  constructor(private readonly database: Database) {}

  @Post('/', { status: 200 })
  async write(request: HttpRequest): Promise<object> {
    const invoices = recordsAs(this.database, Invoice, request)
    const created = await invoices.create({ code: 'own' })
    return [created, await invoices.update(created.id, { state: 'paid' }), await invoices.rights()]
  }
}

@Module({
  records: [Invoice, Receipt],
  controllers: [Invoices, Receipts, OwnInvoices, OpenLogin],
  imports: [
    idempotent(),
    admin({
      path: '/admin',
      roles: ['clerk', 'manager'],
      records: [Invoice, Receipt],
      login: { path: '/login' },
    }),
  ],
})
class Office {}

describe.each(await startBothEngines())(
  'writes without the right to read, on %s',
  (_name, open) => {
    let app: TestApplication
    beforeAll(async () => {
      app = await testApplication(Office, { database: await open() })
    })
    afterAll(() => app.close())
    beforeEach(async () => {
      await app.reset({ emptyTables: true })
      await app.records(Invoice).create({ code: 'A' })
    })

    const as = (...roles: string[]) => app.as({ sub: 'ann', roles })
    const clerk = () => as('clerk')
    const stored = () => app.records(Invoice).list({ orderBy: { id: 'asc' } })
    const mutate = async (query: string, caller = clerk()) => {
      const { body } = await caller.post('/graphql', { query })
      return body as { readonly data?: unknown; readonly errors?: unknown }
    }

    it.each(['patch', 'put'] as const)('%s returns 204 without an ETag', async (method) => {
      const body = method === 'put' ? { code: 'A', state: 'paid' } : { state: 'paid' }
      const response = await clerk()[method]('/invoices/1', body)
      expect([response.status, response.text, response.headers.etag]).toEqual([204, '', undefined])
      expect(await stored()).toMatchObject([{ state: 'paid', version: 2 }])
    })

    it('an empty PATCH returns 204, and a missing row 404', async () => {
      expect((await clerk().patch('/invoices/1', {})).status).toBe(204)
      expect((await clerk().patch('/invoices/99', {})).status).toBe(404)
    })

    it('POST returns 201 with the address and no body', async () => {
      const { status, text, headers } = await clerk().post('/invoices', { code: 'B' })
      expect([status, text, headers.location, headers.etag]).toEqual([
        201,
        '',
        '/invoices/2',
        undefined,
      ])
    })

    it('callers who may read get the row and its ETag', async () => {
      const changed = await as('manager').patch('/invoices/1', { state: 'paid' })
      expect(changed).toMatchObject({ status: 200, headers: { etag: '"2"' } })
      expect(changed.body).toMatchObject({ memo: 'private', version: 2 })
      const created = await as('manager', 'clerk').post('/invoices', { code: 'B' })
      expect(created).toMatchObject({ status: 201, headers: { etag: '"1"' } })
      expect(created.body).toMatchObject({ code: 'B', memo: 'private' })
    })

    it('errors name no stored value', async () => {
      await clerk().patch('/invoices/1', { state: 'paid' })
      const stale = await clerk().patch('/invoices/1', {}, { headers: { 'if-match': '"7"' } })
      expect([stale.status, stale.text]).toEqual([412, expect.not.stringMatching(/2/)])
      const input = '(id: 1, input: { state: "x" }, expectedVersion: 7)'
      const { errors } = await mutate(`mutation { updateInvoice${input} { id } }`)
      expect(errors).toMatchObject([
        {
          message: 'This Invoice was changed meanwhile. Read it again.',
          extensions: { code: 'CONFLICT' },
        },
      ])
      const taken = await clerk().post('/invoices', { code: 'A' })
      expect([taken.status, taken.body]).toMatchObject([409, { error: 'code is already taken' }])
    })

    it('the document names both responses only where a caller may write without reading', async () => {
      const { body } = await app.anonymous.get('/swagger/openapi.json')
      const { paths } = body as {
        paths: Record<string, Record<string, { responses: object }>>
      }
      const statuses = (path: string, method: string) =>
        Object.keys(paths[path]?.[method]?.responses ?? {}).filter((one) => one.startsWith('2'))
      expect(statuses('/invoices/{id}', 'patch')).toEqual(['200', '204'])
      expect(statuses('/invoices/{id}', 'put')).toEqual(['200', '204'])
      expect(paths['/invoices']?.post?.responses).toMatchObject({
        201: { description: expect.stringContaining('The body is empty') },
      })
      expect(statuses('/receipts/{id}', 'patch')).toEqual(['200'])
    })

    const mutations: readonly (readonly [name: string, text: (fields: string) => string])[] = [
      ['createInvoice', (fields) => `createInvoice(input: { code: "B" }) ${fields}`],
      ['createInvoices', (fields) => `createInvoices(input: [{ code: "B" }]) ${fields}`],
      ['updateInvoice', (fields) => `updateInvoice(id: 1, input: { state: "paid" }) ${fields}`],
      ['updateInvoices', (fields) => `updateInvoices(input: [{ id: 1, state: "paid" }]) ${fields}`],
      ['upsertInvoice', (fields) => `upsertInvoice(by: "code", input: { code: "A" }) ${fields}`],
    ]

    it.each(mutations)(
      '%s returns the key, and refuses other fields before it writes',
      async (name, text) => {
        const before = await stored()
        for (const fields of [
          '{ id memo }',
          '{ id ...More }',
          '{ ... on Invoice { memo } }',
          '{ id: memo }',
          '{ id memo @include(if: false) }',
        ]) {
          const fragment = fields.includes('More') ? ' fragment More on Invoice { state }' : ''
          const { data, errors } = await mutate(`mutation { ${text(fields)} }${fragment}`)
          const extensions = { code: 'FORBIDDEN' }
          const message = 'You may not read Invoice. Select only id.'
          expect([fields, data, errors]).toMatchObject([
            fields,
            null,
            [{ message, path: [name], extensions }],
          ])
        }
        expect(await stored()).toEqual(before)
        const { data, errors } = await mutate(`mutation { ${text('{ key: id __typename }')} }`)
        const row = { key: expect.stringMatching(/^[12]$/), __typename: 'Invoice' }
        expect([errors, data]).toEqual([undefined, { [name]: name.endsWith('s') ? [row] : row }])
      },
    )

    it('callers who may read select all fields', async () => {
      const { data } = await mutate(
        'mutation { updateInvoice(id: 1, input: { state: "paid" }) { memo state } }',
        as('manager'),
      )
      expect(data).toEqual({ updateInvoice: { memo: 'private', state: 'paid' } })
    })

    it('several mutations are refused together', async () => {
      const one = 'a: updateInvoice(id: 1, input: { state: "paid" }) { id }'
      const other = 'b: updateInvoice(id: 1, input: { state: "late" }) { id state }'
      const { errors } = await mutate(`mutation { ${one} ${other} }`)
      expect(errors).toMatchObject([{ path: ['b'], extensions: { code: 'FORBIDDEN' } }])
      expect(await stored()).toMatchObject([{ state: 'unpaid' }])
    })

    it('a delete returns no row', async () => {
      const { data } = await mutate('mutation { deleteInvoice(id: 1) }')
      expect(data).toEqual({ deleteInvoice: true })
    })

    it('recordsAs returns only the key, and rights() the right to write', async () => {
      const { status, body } = await clerk().post('/own', {})
      const may = { read: false, create: true, update: true, delete: true }
      expect([status, body]).toMatchObject([200, [{}, {}, { may, fields: [], relations: [] }]])
      expect((body as object[]).slice(0, 2)).toEqual([{ id: 2 }, { id: 2 }])
    })

    describe('the admin page', () => {
      const api = '/admin/api'

      it('saves a row and returns only its key', async () => {
        const body = { was: {}, values: { state: 'paid' } }
        const saved = await clerk().post(`${api}/save/invoices/1`, body)
        expect([saved.status, saved.body]).toEqual([200, { id: 1 }])
        expect(await stored()).toMatchObject([{ state: 'paid' }])
      })

      it('compares no values with those that the caller may not read', async () => {
        const body = { was: { memo: 'guess' }, values: { state: 'paid' } }
        expect((await clerk().post(`${api}/save/invoices/1`, body)).status).toBe(400)
        expect((await clerk().post(`${api}/remove/invoices/1`, { was: {} })).status).toBe(204)
      })

      it('changes many rows, and previews their number without values', async () => {
        const body = { ids: [1], values: { state: 'paid' } }
        const preview = await clerk().post(`${api}/bulk/invoices`, { ...body, preview: true })
        expect(preview.body).toEqual({ count: 1, changes: [], deleted: 0 })
        expect(await stored()).toMatchObject([{ state: 'unpaid' }])
        const many = { ...body, ids: [1, 99], skipMissing: true }
        expect((await clerk().post(`${api}/bulk/invoices`, many)).body).toEqual({ count: 1 })
        expect(
          (await clerk().post(`${api}/bulk/invoices`, { ...many, skipMissing: false })).status,
        ).toBe(404)
      })

      it('imports files', async () => {
        const upload = (text: string) =>
          clerk().post(`${api}/csv/invoices`, text, { headers: { 'content-type': 'text/csv' } })
        expect((await upload('id,code,state\r\n1,A,paid\r\n,B,late\r\n')).body).toEqual({
          count: 2,
        })
        expect(await stored()).toMatchObject([
          { id: 1, state: 'paid' },
          { code: 'B', state: 'late' },
        ])
        const refused = await upload('id,memo\r\n1,private\r\n')
        expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('no field')])
        expect(refused.text).not.toContain('stored value')
      })

      it('shows neither the record nor its rows', async () => {
        const { text } = await clerk().get(`${api}/schema`)
        expect(text).not.toContain('memo')
        expect((await clerk().get(`${api}/rows/invoices/1`)).status).toBe(403)
      })
    })

    it('a repeated request with other rights does not get the stored response', async () => {
      const headers = { 'idempotency-key': 'once' }
      const send = (caller: ReturnType<typeof as>) =>
        caller.patch('/invoices/1', { state: 'paid' }, { headers })
      const first = await send(as('manager'))
      expect(first.body).toMatchObject({ memo: 'private', version: 2 })
      const ofClerk = await send(clerk())
      expect([ofClerk.status, ofClerk.text]).toEqual([204, ''])
      expect((await send(as('manager'))).text).toBe(first.text)
    })
  },
)
