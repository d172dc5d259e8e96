/** The server behind the address is a Citus coordinator with workers, and the engine knows it. */
import { describe, expect, it } from '@jest/globals'
import { Project, Region } from '../../records/sharded-office.js'
import { runOnCitus, useCitus } from './coordinator.js'

const { open } = useCitus()

describe('the coordinator', () => {
  it('has workers that hold shards', async () => {
    const nodes = await runOnCitus('select nodeid from pg_dist_node where shouldhaveshards')
    expect(nodes.length).toBeGreaterThan(0)
  })

  it('has the tables of records after the start', async () => {
    const database = await open(Project, Region)
    await database.sync()
    const row = { tenantId: 'a', name: 'Roof' }
    const { id } = await database.records(Project).create(row)
    expect(await database.records(Project).find(id, { tenantId: 'a' })).toMatchObject(row)
  })
})
