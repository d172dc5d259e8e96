/** Commands on a record whose key has several fields. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { connect } from 'filigree'
import type { Finding } from '../../src/cli/commands/doctor-checks.js'
import type { ExplainedOperation } from '../../src/cli/commands/explain-graphql.js'
import type { ExplainedRoute } from '../../src/cli/commands/explain-route.js'
import { root } from '../openapi/command.js'
import { startPostgres, type PostgresServer } from '../records/postgres-server.js'
import { useFolder } from './run-in.js'
import { Seat } from './seats.js'

const place = useFolder()
const seats = ['--module', join(root, 'test/cli/seats.ts'), '--json']
let server: PostgresServer

beforeAll(async () => {
  server = await startPostgres()
})
afterAll(async () => {
  delete process.env.SEATS_DATABASE
  await server.close()
})

describe.each([
  ['SQLite', () => Promise.resolve(`sqlite:${join(place.folder, 'seats.db')}`)],
  ['PostgreSQL', () => server.createDatabase()],
])('%s: keys of several fields', (_engine, open) => {
  const openFilled = async (): Promise<void> => {
    const url = (process.env.SEATS_DATABASE = await open())
    await using database = await connect({ url, records: [Seat] })
    await database.sync()
    await database.records(Seat).create({ hall: 'A,1', place: 7, view: 'good' })
  }

  it('filigree explain shows the route of a row, and the statement of a query', async () => {
    await openFilled()
    const { out: route } = await place.run('explain', 'GET', '/seats/A%2C1,7', ...seats)
    expect(JSON.parse(route) as ExplainedRoute).toMatchObject({
      handler: expect.any(String),
      pattern: 'GET /seats/<id:key>',
      parameters: { id: 'A%2C1,7' },
    })
    const query = '{ seat(hall: "A,1", place: 7) { view } }'
    const { out: operation } = await place.run('explain', query, ...seats)
    const { statements, errors } = JSON.parse(operation) as ExplainedOperation
    expect({ statements, errors }).toMatchObject({
      statements: [{ sql: expect.stringContaining('from "seat"'), scans: [], advice: [] }],
      errors: [],
    })
  })

  it('filigree doctor finds no fault', async () => {
    await openFilled()
    const { out, err, code } = await place.run('doctor', ...seats)
    const found = JSON.parse(out) as Finding[]
    expect({ err, code }).toEqual({ err: '', code: 0 })
    expect(found.filter(({ state }) => !['ok', 'note'].includes(state))).toEqual([])
    expect(found).toContainEqual(expect.objectContaining({ about: 'database', state: 'ok' }))
  })
})
