/**
 * A lost worker harms its own tenants only. The coordinator looks for the worker at a port where nothing listens, in this
 * database only, which any role that may change the cluster can do.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { JobEntry } from 'filigree/jobs'
import { holdRows, openLive, type LiveClient, type Message } from '../../live/live-client.js'
import { waitUntil } from '../../wait-until.js'
import { Client } from '../../records/postgres-server.js'
import {
  citusUrl,
  deadPort,
  moveWorker,
  openEmptyCitus,
  runOnCitus,
  tenantOfEachWorker,
  type Worker,
} from './coordinator.js'
import { Depot, Item, type Answer } from './depot.js'

let depot: Depot
let lost: string
let kept: string
let worker: Worker
const ids = new Map<string, string>()
const streams: LiveClient[] = []

beforeAll(async () => {
  depot = await Depot.open(await openEmptyCitus())
  const tenants = await tenantOfEachWorker('item')
  if (tenants.length < 2) throw new Error('The suite needs two workers.')
  ;[[lost, worker], [kept]] = tenants as [[string, Worker], [string, Worker]]
  for (const tenant of [lost, kept]) ids.set(tenant, await depot.addItem(tenant, { name: 'Roof' }))
})
afterAll(async () => {
  await bringBack()
  for (const stream of streams) stream.leave()
  await depot.close()
})
beforeEach(() => bringBack())

const lose = () => moveWorker(worker, worker.host, deadPort)
const bringBack = () => moveWorker(worker, worker.host, worker.port)

/** Reads and writes of a tenant, all at once. */
function sendAll(tenant: string): Promise<Answer[]> {
  const path = pathOf(tenant)
  const query = `{ item(id: "${ids.get(tenant) ?? ''}") { name } }`
  return Promise.all(
    Array.from({ length: 5 }, () => [
      depot.send(tenant, 'GET', path),
      depot.send(tenant, 'GET', '/items?limit=1'),
      depot.send(tenant, 'PATCH', path, { note: crypto.randomUUID() }),
      depot.send(tenant, 'POST', '/items', { tenantId: tenant, name: crypto.randomUUID() }),
      depot.graphql(tenant, query),
    ]).flat(),
  )
}

const pathOf = (tenant: string): string => `/items/${ids.get(tenant) ?? ''}`

/** A client of PostgreSQL without a framework, on as many connections as a process of the framework has. */
async function connectByHand() {
  const clients = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const client = new Client({ connectionString: citusUrl })
      await client.connect()
      return client
    }),
  )
  let next = 0
  const text = 'select * from item where tenant_id = $1 and id = $2'
  return {
    size: clients.length,
    /** @returns the status that a response would have */
    find: async (tenant: string): Promise<number> => {
      const client = clients[next++ % clients.length]
      const values = [tenant, ids.get(tenant)]
      return client === undefined
        ? 500
        : client.query({ name: 'find', text, values }).then(
            () => 200,
            () => 503,
          )
    },
    close: () => Promise.all(clients.map((client) => client.end())),
  }
}

/** Finds an item again and again for a second, every fiftieth time of the lost tenant. @returns the number of the others */
async function countFound(
  find: (tenant: string) => Promise<number>,
  clients: number,
): Promise<number> {
  const end = performance.now() + 1000
  let found = 0
  let sent = 0
  const send = async (): Promise<void> => {
    while (performance.now() < end) {
      const tenant = ++sent % 50 === 0 ? lost : kept
      const status = await find(tenant)
      if (tenant === lost) expect([200, 503]).toContain(status)
      else expect(status).toBe(200)
      if (tenant === kept) found++
    }
  }
  await Promise.all(Array.from({ length: clients }, send))
  return found
}

/** What a response says: its status, or the code of an error in a document. */
const outcomesOf = (answers: readonly Answer[]): Set<string> =>
  new Set(
    answers.map(({ status, body, headers }) => {
      const { errors } = body as { errors?: { extensions?: { code?: string } }[] }
      if (status === 200 && errors !== undefined) return String(errors[0]?.extensions?.code)
      return headers.has('retry-after') ? `${status} with Retry-After` : `${status}`
    }),
  )

const rowsOf = (stream: LiveClient): readonly unknown[] =>
  holdRows(
    stream.events
      .filter(({ event }) => event === 'live')
      .map(({ data }) => JSON.parse(data) as Message),
  )

async function follow(tenant: string): Promise<LiveClient> {
  const url = `${depot.app.url}/items?limit=100&orderBy=name`
  const stream = await openLive(url, { token: await depot.token(tenant) })
  streams.push(stream)
  return stream
}

/** Changes the item of a tenant, and waits until its live query shows the change. */
async function changeAndSee(tenant: string, stream: LiveClient): Promise<void> {
  const note = crypto.randomUUID()
  const path = pathOf(tenant)
  expect((await depot.send(tenant, 'PATCH', path, { note })).status).toBe(200)
  await stream.until(() => JSON.stringify(rowsOf(stream)).includes(note))
}

describe('a worker that is lost', () => {
  it('harms its own tenants only, and serves them again when it is back', async () => {
    await lose()
    const [ofLost, ofKept] = await Promise.all([sendAll(lost), sendAll(kept)])
    expect(outcomesOf(ofLost)).toEqual(new Set(['503 with Retry-After']))
    expect(outcomesOf(ofKept)).toEqual(new Set(['200', '201']))
    await bringBack()
    expect(outcomesOf(await sendAll(lost))).toEqual(new Set(['200', '201']))
  })

  it('serves the others while one request in fifty asks for its tenant', async () => {
    const byHand = await connectByHand()
    const contenders = [
      [
        'filigree',
        32,
        async (tenant: string) => (await depot.send(tenant, 'GET', pathOf(tenant))).status,
      ],
      ['pg by hand', byHand.size, byHand.find],
    ] as const
    for (const [name, clients, find] of contenders) {
      const counts = { before: 0, lost: 0 }
      for (let round = 0; round < 3; round++) {
        await bringBack()
        await countFound(find, clients)
        counts.before += await countFound(find, clients)
        await lose()
        await countFound(find, clients)
        counts.lost += await countFound(find, clients)
      }
      const { before, lost: after } = counts
      console.log(
        `${name}: with a lost worker, others have ${(after / before).toFixed(2)} of their requests (${after} of ${before})`,
      )
      expect(after).toBeGreaterThan(0)
    }
    await byHand.close()
  })

  it('stops no live query of other tenants, and its own ones continue afterwards', async () => {
    const [ownStream, otherStream] = [await follow(lost), await follow(kept)]
    await lose()
    await depot.send(lost, 'PATCH', pathOf(lost), { note: 'x' })
    await changeAndSee(kept, otherStream)
    await bringBack()
    await changeAndSee(lost, ownStream)
    expect([ownStream.isOver, otherStream.isOver]).toEqual([false, false])
  })

  it('stops no jobs of other tenants, and its own ones run when it is back', async () => {
    const jobs = depot.database.records(JobEntry)
    await lose()
    const add = (tenantId: string) =>
      depot.send(tenantId, 'POST', '/items/work', { tenantId, name: crypto.randomUUID() })
    expect((await add(lost)).status).toBe(503)
    expect((await add(kept)).status).toBe(200)
    await waitUntil(async () => (await jobs.count({ state: 'done' })) === 1)
    await bringBack()
    expect((await add(lost)).status).toBe(200)
    await waitUntil(async () => (await jobs.count({ state: 'done' })) === 2)
    expect(await jobs.count()).toBe(2)
    expect(await depot.database.records(Item).count({ tenantId: lost, stock: 1 })).toBe(1)
  })
})

describe('connections of the coordinator to its workers', () => {
  it('may end at any time: each response is a success, or can be sent again', async () => {
    let isOver = false
    const answers: Answer[] = []
    const send = async (): Promise<void> => {
      while (!isOver) for (const tenant of [lost, kept]) answers.push(...(await sendAll(tenant)))
    }
    const sending = send()
    for (let time = 0; time < 5; time++)
      await runOnCitus(`select run_command_on_workers($$ select pg_terminate_backend(pid, 5000) from pg_stat_activity
        where application_name like 'citus_internal%' and datname = current_database() and pid <> pg_backend_pid() $$)`)
    isOver = true
    await sending
    const outcomes = outcomesOf(answers)
    // Changes of the same row may conflict longer than a request runs again.
    const again = ['503 with Retry-After', '409 with Retry-After', 'DATABASE_UNAVAILABLE']
    for (const expected of ['200', '201', ...again]) outcomes.delete(expected)
    expect(outcomes).toEqual(new Set())
    for (const tenant of [lost, kept])
      expect(outcomesOf(await sendAll(tenant))).toEqual(new Set(['200', '201']))
  })
})
