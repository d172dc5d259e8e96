/** Calls of the application with the generated types. The calls that compile are also run. */
import type { Client } from 'filigree/client'
import type { Routes } from './routes.js'

/* eslint-disable @typescript-eslint/no-unnecessary-type-parameters --
   comparing two types takes type parameters used once. */
type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
/* eslint-enable */

/** Checks that the type of a value is exactly the expected one. @returns the value */
function typed<Expected>() {
  return <Actual>(
    value: Actual,
    ..._proof: Equal<Actual, Expected> extends true ? [] : [never]
  ): Actual => value
}

interface SentItem {
  id: number
  name: string
  soldAt: string
}

export async function callItems(client: Client<Routes>): Promise<Record<string, unknown>> {
  const form = new FormData()
  form.append('lamp', new Blob(['x']), 'lamp.png')
  const list = await client.get('/items', { params: { q: 'desk' } })
  const item = await client.get('/items/{id:int}', { path: { id: 7 } })
  const tagged = await client.get('/items/tagged/<tag>', { path: { tag: 'red' } })
  const created = await client.post('/items', { name: 'Lamp', price: 9, soldAt: '2026-11-20' })
  const many = await client.post('/items/many', [{ name: 'Lamp', price: 9, count: 2 }])
  const path = { id: 7 }
  const renamed = await client.put('/items/<id:int>/name', { name: 'Desk' }, { path })
  const changed = await client.patch('/items/<id:int>', ['anything'], { path })
  const deleted = await client.delete('/items/<id:int>', { path })
  const photo = await client.post('/items/photo', form)
  const raw = await client.post('/items/raw', null)
  return {
    list: typed<SentItem[]>()(list),
    item: typed<SentItem>()(item),
    tagged: typed<{ tag: string; page: number | null }>()(tagged),
    created: typed<{ name: string; count: number }>()(created),
    many: typed<{ names: string[] }>()(many),
    renamed: typed<{ id: number; name: string }>()(renamed),
    changed: typed<{ id: number; body: unknown }>()(changed),
    deleted: typed<null>()(deleted),
    photo: typed<{ names: string[] }>()(photo),
    raw: typed<{ body: unknown }>()(raw),
    old: typed<true>()((await client.get("/old/it's")).old),
    ping: typed<string>()(await client.get('/ping')),
  }
}

interface SentOrder {
  id: number
  title: string
  count: number
  note?: string | null
  customerId?: number | null
  createdAt: string
}

export async function callOrders(client: Client<Routes>): Promise<Record<string, unknown>> {
  const created = await client.post('/orders', { title: 'First' })
  const path = { id: created.id }
  await client.patch('/orders/<id:int>', { note: null }, { path })
  const put = await client.put('/orders/<id:int>', { title: 'Second', count: 3 }, { path })
  const found = await client.get('/orders/<id:int>', { path })
  const list = await client.get('/orders', { params: { 'count.gte': 2, limit: 5 } })
  const [full] = await client.get('/orders', { params: { with: ['customer', 'labels'] } })
  const sums = await client.get('/orders/aggregate', { params: { sum: 'count' } })
  const linkedOrder = { title: 'Tied', labels: { create: [{ word: 'new' }] }, customerId: null }
  const withLabel = await client.post('/orders', linkedOrder)
  await client.patch('/orders/<id:int>', { labelIds: [] }, { path: { id: withLabel.id } })
  const deleted = await client.delete('/orders/<id:int>', { path })
  return {
    sums: typed<Record<string, string | number | boolean | null>[]>()(sums),
    created: typed<SentOrder>()(created).count,
    put: typed<SentOrder>()(put).title,
    found: typed<SentOrder>()(found).note,
    list: typed<SentOrder[]>()(list).length,
    related: [
      typed<{ id: number; name: string } | null | undefined>()(full?.customer),
      typed<{ id: string; word: string }[] | undefined>()(full?.labels)?.map(({ word }) => word),
    ],
    deleted: typed<null>()(deleted),
    count: typed<number>()(await client.get('/orders/count')),
    customers: typed<{ id: number; name: string }[]>()(await client.get('/customers')),
  }
}

export async function whatDoesNotCompile(client: Client<Routes>): Promise<void> {
  const path = { id: 7 }
  // @ts-expect-error unknown path
  await client.get('/item')
  // @ts-expect-error known path, other method
  await client.put('/items')
  // @ts-expect-error spelled in another way than by the controller
  await client.get('/items/<id:int>', { path })
  // @ts-expect-error path value missing
  await client.get('/items/{id:int}')
  // @ts-expect-error path value of another type
  await client.get('/items/{id:int}', { path: { id: '7' } })
  // @ts-expect-error required param missing, of a class that is not exported
  await client.get('/items', { params: { limit: 2 } })
  // @ts-expect-error unknown param
  await client.get('/items', { params: { q: 'lamp', size: 2 } })
  // @ts-expect-error param of another type, known only from the type of the handler
  await client.get('/items/tagged/<tag>', { path: { tag: 'red' }, params: { page: 'two' } })
  // @ts-expect-error body missing
  await client.post('/items')
  // @ts-expect-error keys of another type
  await client.post('/orders', { title: 'Tied', labelIds: [1] })
  // @ts-expect-error member of the body missing
  await client.post('/items', { name: 'Lamp' })
  // @ts-expect-error member of another type
  await client.post('/items', { name: 'Lamp', price: '9' })
  // @ts-expect-error a member that the server sets
  await client.post('/items', { name: 'Lamp', price: 9, addedBy: 'me' })
  // @ts-expect-error an object in place of a list
  await client.post('/items/many', { name: 'Lamp', price: 9 })
  // @ts-expect-error an object in place of a form
  await client.post('/items/photo', { lamp: 'x' })
  // @ts-expect-error body of a class that is not exported
  await client.put('/items/<id:int>/name', { title: 'x' }, { path })
  // @ts-expect-error an unknown relation
  await client.get('/orders', { params: { with: ['custmer'] } })
  // @ts-expect-error a relation that `with` does not name
  await client.get('/orders').then(([order]) => order?.labels)
  // @ts-expect-error a record's key is the server's
  await client.post('/orders', { id: 7, title: 'First' })
  // @ts-expect-error a record's required field
  await client.put('/orders/<id:int>', { count: 7 }, { path })
  // @ts-expect-error a changed field of another type
  await client.patch('/orders/<id:int>', { title: 7 }, { path })
  // @ts-expect-error a hidden field
  await client.get('/customers').then(([customer]) => customer?.secret)
}
