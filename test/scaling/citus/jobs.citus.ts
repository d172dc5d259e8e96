/** Jobs and history are stored in the transaction of a sharded record: all of it, or nothing. */
import { spawn, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { AdminEntry } from 'filigree/admin'
import { JobEntry } from 'filigree/jobs'
import { root } from '../../openapi/command.js'
import { waitUntil } from '../../wait-until.js'
import { citusUrl, openEmptyCitus } from './coordinator.js'
import { Depot, Item } from './depot.js'

const open: Depot[] = []
const children: ChildProcess[] = []
beforeEach(openEmptyCitus)
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  await Promise.all(open.splice(0).map((depot) => depot.close()))
})

async function openDepot(): Promise<Depot> {
  const depot = await Depot.open(citusUrl)
  open.push(depot)
  return depot
}

/** The numbers of items, jobs and entries of the history. */
async function countsOf({ database }: Depot): Promise<number[]> {
  return [
    await database.records(Item).count({ tenantId: 'a' }),
    await database.records(JobEntry).count({ name: 'Work.count' }),
    await database.records(AdminEntry).count(),
  ]
}

describe('jobs and history of a sharded record', () => {
  it('are stored with it', async () => {
    const depot = await openDepot()
    const body = { tenantId: 'a', name: 'Roof' }
    expect(await depot.send('a', 'POST', '/items/work', body)).toMatchObject({ status: 200 })
    const items = depot.database.records(Item)
    await waitUntil(async () => (await items.list({ where: { tenantId: 'a' } }))[0]?.stock === 1)
    const [, jobs, entries] = await countsOf(depot)
    expect(jobs).toBe(1)
    expect(entries).toBeGreaterThan(0)
  })

  it('are rolled back with it', async () => {
    const depot = await openDepot()
    const body = { tenantId: 'a', name: 'Roof', fails: true }
    expect((await depot.send('a', 'POST', '/items/work', body)).status).toBe(422)
    await depot.addItem('b', { name: 'Roof' })
    await depot.addItem('a', { name: 'Wall' })
    const before = await countsOf(depot)
    const taken = await depot.send('a', 'POST', '/items/work', { tenantId: 'a', name: 'Wall' })
    expect(taken).toMatchObject({ status: 409, body: { errors: [{ path: 'name' }] } })
    expect(await countsOf(depot)).toEqual(before)
    expect(before.slice(0, 2)).toEqual([1, 0])
  })
})

interface Told {
  readonly name: string
  readonly url?: string
  readonly token?: string
}

/** Starts the depot in a process that stops at a place. */
async function startProcess(place: string) {
  const file = join('test/scaling/citus/depot-process.ts')
  const child = spawn(process.execPath, ['--import', 'tsx', file, citusUrl, place], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, NODE_ENV: 'development', TSX_TSCONFIG_PATH: 'test/tsconfig.json' },
  })
  children.push(child)
  const told: Told[] = []
  child.on('message', (message) => told.push(message as Told))
  await waitUntil(() => told.length > 0)
  const { url = '', token = '' } = told[0] ?? {}
  const addWork = (name: string): Promise<unknown> =>
    fetch(`${url}/items/work`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ tenantId: 'a', name }),
    }).catch(() => undefined)
  const reached = () => waitUntil(() => told.some(({ name }) => name === place))
  return { child, addWork, reached }
}

describe('a process that is killed', () => {
  it('within a transaction leaves neither the record nor its job', async () => {
    const { child, addWork, reached } = await startProcess('transaction')
    void addWork('Roof')
    await reached()
    child.kill('SIGKILL')
    const depot = await openDepot()
    // Waits for the rollback, because the name is unique.
    const again = await depot.send('a', 'POST', '/items', { tenantId: 'a', name: 'Roof' })
    expect(again.status).toBe(201)
    expect((await countsOf(depot)).slice(0, 2)).toEqual([1, 0])
  })

  it('within a job leaves the job to another process', async () => {
    const { child, addWork, reached } = await startProcess('job')
    await addWork('Roof')
    await reached()
    child.kill('SIGKILL')
    const depot = await openDepot()
    const jobs = depot.database.records(JobEntry)
    await waitUntil(async () => (await jobs.count({ state: 'done' })) === 1)
    const items = await depot.database.records(Item).list({ where: { tenantId: 'a' } })
    expect(items).toMatchObject([{ name: 'Roof', stock: 1 }])
    expect(await jobs.list({ where: { name: 'Work.count' } })).toMatchObject([{ attempt: 2 }])
  })
})
