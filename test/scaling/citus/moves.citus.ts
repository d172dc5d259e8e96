/** Tables and shards move while clients write. No acknowledged row is lost, and every failure can be sent again or explains itself. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { runIn } from '../../cli/run-in.js'
import { root } from '../../openapi/command.js'
import {
  citusUrl,
  openEmptyCitus,
  runOnCitus,
  tenantOfEachWorker,
  workerOf,
} from './coordinator.js'
import { Country, Depot, Item } from './depot.js'

const tenants = ['a', 'b', 'c', 'd']

/** Clients that write items and parts, one for each tenant, until they are stopped. */
class Writers {
  /** Failures that nothing explains. */
  readonly unclean: string[] = []
  readonly #items = new Map<string, string>()
  readonly #changes = new Map<string, number>()
  readonly #running: Promise<void>[]
  readonly #depot: Depot
  #isOver = false

  constructor(depot: Depot) {
    this.#depot = depot
    this.#running = tenants.map((tenant) => this.#write(tenant))
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#running)
  }

  /** The number of acknowledged writes. */
  get written(): number {
    return this.#items.size
  }

  /** Compares what was acknowledged with the database. */
  async check(): Promise<void> {
    expect(this.unclean).toEqual([])
    const { database } = this.#depot
    for (const tenantId of tenants) {
      const rows = await database.records(Item).list({ where: { tenantId }, limit: 100_000 })
      const stocks = new Map(rows.map(({ id, stock }) => [id, stock]))
      for (const [id, tenant] of this.#items)
        if (tenant === tenantId) expect([id, stocks.get(id)]).toEqual([id, this.#changes.get(id)])
    }
  }

  async #write(tenantId: string): Promise<void> {
    while (!this.#isOver) {
      const name = crypto.randomUUID()
      const created = await this.#send('POST', '/items', { tenantId, name, countryId }, tenantId)
      if (created === undefined) continue
      const { id } = created as Item
      this.#items.set(id, tenantId)
      this.#changes.set(id, 0)
      if (!(await this.#change(id, tenantId))) return
      this.#changes.set(id, 1)
      const part = { tenantId, label: name, itemId: id }
      await this.#send('POST', '/parts', part, tenantId)
    }
  }

  /** Sends a change until it is acknowledged, because a 503 may hide a write. @returns false if the row is lost */
  async #change(id: string, tenantId: string): Promise<boolean> {
    for (let attempt = 0; attempt < 200; attempt++) {
      const row = await this.#send('PATCH', `/items/${id}`, { stock: 1 }, tenantId)
      if (row !== undefined) return true
    }
    this.unclean.push(`the item ${id} is lost`)
    return false
  }

  /** @returns the row, or undefined if the request was refused */
  async #send(method: string, path: string, body: object, tenant: string): Promise<unknown> {
    // Without a pause, the copies do not catch up with the writes on a small machine.
    await sleep(10)
    const answer = await this.#depot.send(tenant, method, path, body)
    const { status, headers } = answer
    if (status < 300) return answer.body
    // At its last step, a move lets a change that waited for it miss its row.
    const isMissed = status === 404 && method === 'PATCH'
    if (!headers.has('retry-after') && !isMissed)
      this.unclean.push(`${method} ${path} ${status} ${JSON.stringify(answer.body)}`)
    return undefined
  }
}

let depot: Depot
/** A row on every machine, to which all items refer. */
let countryId: string
let writers: Writers | undefined
let folder: string
const run = (...args: string[]) =>
  runIn(folder, [...args, '--module', join(root, 'test/scaling/citus/depot.ts')])

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filigree-citus-'))
  process.env.DATABASE_URL = citusUrl
  depot = await Depot.open(await openEmptyCitus())
  countryId = (await depot.database.records(Country).create({ name: 'Chile' })).id
})
afterEach(async () => {
  await writers?.stop()
})
afterAll(async () => {
  await depot.close()
  delete process.env.DATABASE_URL
  await rm(folder, { recursive: true })
})

/** Writes during the work, and some time before and after it. */
async function whileWriting(work: () => Promise<void>): Promise<void> {
  const current = new Writers(depot)
  writers = current
  const more = async (): Promise<void> => {
    const end = current.written + 20
    while (current.written < end && current.unclean.length === 0) await sleep(20)
  }
  await more()
  await work()
  await more()
  await current.stop()
  await current.check()
}

describe('while clients write', () => {
  it('migrations distribute the tables', async () => {
    expect((await run('migrate', 'make', 'first')).code).toBe(0)
    expect(await run('migrate', 'up')).toMatchObject({ code: 0 })
    // A restored dump: all tables are local.
    await runOnCitus(`select undistribute_table('item', cascade_via_foreign_keys => true)`)
    expect(
      await runOnCitus('select * from citus_tables where citus_table_type <> $$local$$'),
    ).toEqual([])
    await whileWriting(async () => {
      expect(await run('migrate', 'make', 'distribute')).toMatchObject({ code: 0 })
      expect(await run('migrate', 'up')).toMatchObject({ code: 0 })
    })
    const places =
      await runOnCitus(`select table_name::text as name, citus_table_type as type from citus_tables
      where table_name::text in ('item', 'part', 'country') order by 1`)
    expect(places.map(({ type }) => type)).toEqual(['reference', 'distributed', 'distributed'])
    expect(await depot.database.differences()).toEqual([])
  })

  it('shards move to other workers', async () => {
    const workers = (await tenantOfEachWorker('item')).map(([, worker]) => worker)
    if (workers.length < 2) throw new Error('The suite needs two workers.')
    await whileWriting(async () => {
      for (const tenant of tenants.slice(0, 2)) {
        const from = await workerOf('item', tenant)
        const to = workers.find(({ id }) => id !== from.id)
        await runOnCitus(`select citus_move_shard_placement(get_shard_id_for_distribution_column('item', '${tenant}'),
          '${from.host}', ${from.port}, '${to?.host ?? ''}', ${to?.port ?? 0}, shard_transfer_mode => 'auto')`)
        expect((await workerOf('item', tenant)).id).toBe(to?.id)
      }
    })
  })

  it('the cluster is rebalanced', async () => {
    await whileWriting(async () => {
      await runOnCitus('select rebalance_table_shards()')
    })
  })
})
