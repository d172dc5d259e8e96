/** Live queries and subscriptions of a tenant follow the writes of two applications, and miss none. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createClient, type Client } from 'graphql-ws'
import { WebSocket } from 'ws'
import { holdRows, openLive, type LiveClient, type Message } from '../../live/live-client.js'
import { waitUntil } from '../../wait-until.js'
import { openEmptyCitus } from './coordinator.js'
import { Depot, Item } from './depot.js'

let first: Depot
let second: Depot
const streams: LiveClient[] = []

beforeAll(async () => {
  const url = await openEmptyCitus()
  first = await Depot.open(url)
  second = await Depot.open(url)
})
afterAll(async () => {
  for (const stream of streams) stream.leave()
  await Promise.all([first.close(), second.close()])
})

async function follow(depot: Depot, tenant: string): Promise<LiveClient> {
  const url = `${depot.app.url}/items?orderBy=name&limit=100`
  const stream = await openLive(url, { token: await depot.token(tenant) })
  streams.push(stream)
  return stream
}

/** The rows that a client has. */
const rowsOf = (stream: LiveClient): unknown =>
  holdRows(
    stream.events
      .filter(({ event }) => event === 'live')
      .map(({ data }) => JSON.parse(data) as Message),
  )

interface Changed {
  readonly itemChanged: { readonly item: Pick<Item, 'id' | 'version'> | null }
}

/** @param versions the newest version of each item that the subscription reports */
async function subscribe(
  depot: Depot,
  tenant: string,
  versions: Map<string, number>,
): Promise<Client> {
  const client = createClient({
    url: `${depot.app.url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${await depot.token(tenant)}` },
  })
  client.subscribe<Changed>(
    { query: 'subscription { itemChanged { item { id version } } }' },
    {
      next: ({ data }) => {
        const item = data?.itemChanged.item
        if (item) versions.set(item.id, item.version)
      },
      error: (error) => {
        throw error
      },
      complete: () => undefined,
    },
  )
  return client
}

describe('live queries and subscriptions', () => {
  it('show all of 200 concurrent writes of two applications', async () => {
    const ids = await Promise.all(
      Array.from({ length: 20 }, (_, index) => first.addItem('a', { name: `item ${index}` })),
    )
    const strange = await first.addItem('b', { name: 'strange' })
    const lists = [await follow(first, 'a'), await follow(second, 'a')]
    const other = await follow(first, 'b')
    const versions = new Map<string, number>()
    const subscription = await subscribe(first, 'a', versions)
    // The subscription is ready once it reports a write.
    await waitUntil(async () => {
      await first.send('a', 'PATCH', `/items/${ids[0] ?? ''}`, { note: crypto.randomUUID() })
      return versions.size > 0
    })

    let next = 0
    const write = async (depot: Depot): Promise<void> => {
      for (let index = next++; index < 200; index = next++) {
        const path = `/items/${ids[index % ids.length] ?? ''}`
        const isNew = index % 10 === 9
        const { status } = await (isNew
          ? depot.send('a', 'POST', '/items', { tenantId: 'a', name: `new ${index}` })
          : depot.send('a', 'PATCH', path, { stock: index }))
        expect(status).toBe(isNew ? 201 : 200)
      }
    }
    await Promise.all([0, 1, 2, 3].flatMap(() => [write(first), write(second)]))

    const rows = await first.database
      .records(Item)
      .list({ where: { tenantId: 'a' }, orderBy: { name: 'asc' }, limit: 100 })
    const stored = rows.map(({ id, name, version }) => ({ id, name, version }))
    expect(stored).toHaveLength(40)
    const newest = JSON.stringify(stored)
    const shows = (list: LiveClient): boolean => {
      const shown = rowsOf(list) as Item[]
      return (
        newest === JSON.stringify(shown.map(({ id, name, version }) => ({ id, name, version })))
      )
    }
    for (const list of lists) await list.until(() => shows(list))
    // Two items get no write after their creation.
    const written = stored.filter(({ name, version }) => version > 1 || name.startsWith('new'))
    expect(written).toHaveLength(38)
    await waitUntil(() => written.every(({ id, version }) => versions.get(id) === version))
    expect(rowsOf(other)).toMatchObject([{ id: strange, version: 1 }])
    expect(other.events).toHaveLength(1)
    await subscription.dispose()
  })

  it('show a row to its own tenant only, which it cannot leave', async () => {
    const id = await first.addItem('c', { name: 'stays' })
    const [own, other] = [await follow(first, 'c'), await follow(first, 'd')]
    const moved = await first.send('c', 'PATCH', `/items/${id}`, { tenantId: 'd' })
    expect(moved).toMatchObject({ status: 400, body: { errors: [{ path: 'tenantId' }] } })
    expect((await first.send('c', 'PATCH', `/items/${id}`, { stock: 3 })).status).toBe(200)
    await own.until(() => JSON.stringify(rowsOf(own)).includes('"stock":3'))
    expect(rowsOf(own)).toMatchObject([{ id, tenantId: 'c', stock: 3 }])
    expect(rowsOf(other)).toEqual([])
  })
})
