/**
 * A lost worker harms its own tenants only. The coordinator looks for the worker at a port where nothing listens, in this
 * database only, which any role that may change the cluster can do.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { JobEntry } from 'filigree/jobs'
import { holdRows, openLive, type LiveClient, type Message } from '../../live/live-client.js'
import { waitUntil } from '../../wait-until.js'
import {
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
  const path = `/items/${ids.get(tenant) ?? ''}`
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
  const path = `/items/${ids.get(tenant) ?? ''}`
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

  it('stops no live query of other tenants, and its own ones continue afterwards', async () => {
    const [ownStream, otherStream] = [await follow(lost), await follow(kept)]
    await lose()
    await depot.send(lost, 'PATCH', `/items/${ids.get(lost) ?? ''}`, { note: 'x' })
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
  it('may end at any time: each response is a success or a 503', async () => {
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
    for (const expected of ['200', '201', '503 with Retry-After', 'DATABASE_UNAVAILABLE'])
      outcomes.delete(expected)
    expect(outcomes).toEqual(new Set())
    for (const tenant of [lost, kept])
      expect(outcomesOf(await sendAll(tenant))).toEqual(new Set(['200', '201']))
  })
})
