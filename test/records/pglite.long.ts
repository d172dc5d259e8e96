/** PGlite, PostgreSQL inside the process. Source: docs/records/README.md, PostgreSQL without a server. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { bootstrap, connect, Field, Module, pglite, Record } from '../../src/index.js'
import { describeChanges } from '../contracts/changes.contract.js'
import { describeDatabase } from '../contracts/database.contract.js'

describeDatabase('PGlite', () => Promise.resolve({ url: () => Promise.resolve(pglite()) }))
describeChanges('PGlite', () => Promise.resolve({ url: () => Promise.resolve(pglite()) }))

@Record
class Lamp {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('blob', { nullable: true }) picture!: Buffer | null
}

@Module({ records: [Lamp] })
class LampModule {}

describe('PGlite', () => {
  it.each([
    ['an engine', pglite()],
    ['an object with an engine', { engine: pglite() }],
  ])('serves an application: %s', async (_what, database) => {
    const app = await bootstrap(LampModule, { database, listen: false, logger: false })
    try {
      const query = '{ lamps { id name } }'
      const response = await app.inject({ method: 'POST', url: '/graphql', json: { query } })
      expect(response.json()).toEqual({ data: { lamps: [] } })
    } finally {
      await app.close()
    }
  })

  it('stores a database in a folder, for one process at a time', async () => {
    const parent = await mkdtemp(join(tmpdir(), 'filigree-pglite-'))
    const folder = join(parent, 'data', 'app')
    try {
      const first = await connect({ engine: pglite({ folder }), records: [Lamp] })
      await first.sync()
      await first.records(Lamp).create({ name: 'Moon', picture: Buffer.from('ab') })
      await first.close()
      const reopened = await connect({ engine: pglite({ folder }), records: [Lamp] })
      expect(await reopened.differences()).toEqual([])
      expect(await reopened.records(Lamp).list()).toEqual([
        { id: 1, name: 'Moon', picture: Buffer.from('ab') },
      ])
      await expect(reopened.kysely.selectFrom('lamp').select('nothing').execute()).rejects.toThrow()
      // Opening it a second time, in any process, would destroy it.
      const second = connect({ engine: pglite({ folder }), records: [Lamp] })
      await expect(second).rejects.toThrow(`is in use by process ${process.pid}`)
      await reopened.close()
      // The lock file of a killed process does not block the start.
      await writeFile(`${folder}.lock`, `${process.ppid} 1\n`)
      await (await connect({ engine: pglite({ folder }), records: [Lamp] })).close()
      await expect(reopened.records(Lamp).count()).rejects.toMatchObject({ status: 503 })
    } finally {
      await rm(parent, { recursive: true })
    }
  })
})
