import { afterAll, describe, expect, it } from '@jest/globals'
import { connect } from '../../src/index.js'
import { startPostgres } from './postgres-server.js'
import { thing } from './thing.js'
import { runSql } from './run-sql.js'

const server = await startPostgres()
afterAll(() => server.close())

describe('datetime columns of type text on PostgreSQL', () => {
  it('are read as they are, and sync converts them to timestamps', async () => {
    const Thing = thing({ at: ['datetime'] })
    const database = await connect(await server.createDatabase(), { records: [Thing] })
    await database.sync()
    const things = database.records<{ id: number; at: string }>(Thing as never)
    const timestamp = '2026-11-20T10:00:00.120Z'
    await things.create({ at: timestamp })
    const using = `to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
    await runSql(database, `alter table thing alter column at type text collate "C" using ${using}`)
    expect((await things.list({ where: { at: { gte: timestamp } } })).map(({ at }) => at)).toEqual([
      timestamp,
    ])
    const differences = await database.differences()
    expect(differences).toMatchObject([{ blocks: false, upgrades: true }])
    expect(differences[0]?.sql.join()).toContain('type timestamptz(3) using')
    await database.sync()
    expect(await database.differences()).toEqual([])
    expect(await things.list({ where: { at: timestamp } })).toMatchObject([{ at: timestamp }])
    await database.close()
  })
})
