/** The help desk of `desk.ts`, started once for a suite and filled anew before each test. */
import { afterAll, beforeAll, beforeEach } from '@jest/globals'
import { Database } from 'filigree'
import { testApplication, type TestApplication } from 'filigree/testing'
import { startPostgres, type PostgresServer } from '../records/postgres-server.js'
import { Desk, fill } from './desk.js'

type As = ReturnType<TestApplication['as']>

/** What the tests ask: `desk.admin().get('/admin/api/schema')`. */
export interface DeskFixture {
  readonly app: TestApplication
  readonly database: Database
  readonly admin: () => As
  /** Sees the rows of organisation 1. */
  readonly editor: () => As
}

export const engines = ['SQLite', 'PostgreSQL'] as const

/** Called in `describe`. */
export function deskOn(engine: (typeof engines)[number]): DeskFixture {
  let server: PostgresServer | undefined
  let app: TestApplication
  beforeAll(async () => {
    if (engine === 'PostgreSQL') server = await startPostgres()
    const where = server === undefined ? {} : { database: await server.createDatabase() }
    app = await testApplication(Desk, { ...where, auth: { cookie: true } })
  })
  beforeEach(async () => {
    await app.reset({ emptyTables: true })
    await fill(app.get(Database))
  })
  afterAll(async () => {
    await app.close()
    await server?.close()
  })
  return {
    get app() {
      return app
    },
    get database() {
      return app.get(Database)
    },
    admin: () => app.as({ sub: 'ann', roles: ['admin'] }),
    editor: () => app.as({ sub: 'ed', roles: ['editor'], org: 1 }),
  }
}
