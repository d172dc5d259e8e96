/** The data provider of docs/admin.md does what react-admin asks of one. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { Database } from 'filigree'
import { testApplication, type TestApplication } from 'filigree/testing'
import { Desk, fill, Ticket } from './desk.js'

/** The methods of react-admin's `DataProvider`. */
type Provider = Record<
  string,
  (resource: string, parameters: object) => Promise<{ data: unknown; total?: number }>
>

let app: TestApplication
let provider: Provider

beforeAll(async () => {
  app = await testApplication(Desk, { auth: { cookie: true } })
  await fill(app.get(Database))
  const ann = app.as({ sub: 'ann', roles: ['admin'] })
  const fetch = async (url: string, { method, body }: { method: string; body?: string }) => {
    const json: unknown = body === undefined ? undefined : JSON.parse(body)
    const call = method.toLowerCase() as 'get' | 'post' | 'delete'
    const answer = await (call === 'post' ? ann.post(url, json) : ann[call](url))
    const { status, text, headers } = answer
    return { ok: status < 300, status, headers: new Headers(headers), text: () => text }
  }
  const page = readFileSync('docs/admin.md', 'utf8')
  const [, code = ''] = /```js\nexport (function createDataProvider[^]*?)```/.exec(page) ?? []
  // eslint-disable-next-line @typescript-eslint/no-implied-eval -- the page's own text
  const make = new Function('fetch', `${code}; return createDataProvider()`)
  provider = Reflect.apply(make, null, [fetch]) as Provider
})
afterAll(() => app.close())

it('lists, finds and changes rows as react-admin asks', async () => {
  const call = (method: string, parameters: object, resource = 'tickets') =>
    provider[method]?.(resource, parameters)
  const sort = { field: 'subject', order: 'DESC' }
  const pagination = { page: 2, perPage: 2 }
  const page = await call('getList', { pagination, sort, filter: { 'id.gt': 0 } })
  expect(page).toMatchObject({ data: [{ subject: 'Chair' }], total: 3 })
  const found = await call('getList', { filter: { q: 'beta' } }, 'orgs')
  expect(found).toMatchObject({ data: [{ name: 'Beta' }], total: 1 })
  const ticketsOfOrg = await call('getManyReference', {
    target: 'orgId',
    id: 1,
    sort,
    pagination: {},
  })
  expect(ticketsOfOrg?.total).toBe(2)
  expect((await call('getOne', { id: 1 }))?.data).toMatchObject({ subject: 'Lamp' })
  expect((await call('getMany', { ids: [1, 3] }))?.data).toHaveLength(2)
  const createdTicket = await call('create', { data: { subject: 'Sofa', orgId: 1 } })
  expect(createdTicket?.data).toMatchObject({ id: 4, subject: 'Sofa' })
  const previousData = { ...(createdTicket?.data as object) }
  const data = { ...previousData, subject: 'Sofas' }
  expect((await call('update', { id: 4, data, previousData }))?.data).toMatchObject({
    subject: 'Sofas',
  })
  await expect(
    call('update', { id: 4, data: { subject: 'Mine' }, previousData }),
  ).rejects.toMatchObject({ status: 409, body: { code: 'CHANGED', theirs: { subject: 'Sofas' } } })
  await expect(call('create', { data: { subject: 'x', orgId: 1 } })).rejects.toMatchObject({
    body: { errors: { subject: expect.any(String) } },
  })
  expect(await call('updateMany', { ids: [1, 2], data: { status: 'closed' } })).toEqual({
    data: [1, 2],
  })
  expect((await call('delete', { id: 4, previousData }))?.data).toMatchObject({ id: 4 })
  await call('deleteMany', { ids: [1, 2] })
  expect(await app.get(Database).records(Ticket).count()).toBe(1)
})
