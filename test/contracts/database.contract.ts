/** The behaviour that every database engine must have. Source: public API, Records; decisions, Records: queries. */
import type { EngineSource } from '../../src/index.js'
import { afterAll, beforeAll, beforeEach, describe } from '@jest/globals'
import { describeCreating } from './database-create.contract.js'
import { describeRules } from './database-rules.contract.js'
import { describeLists } from './database-lists.contract.js'
import { describeRelations } from './database-relations.contract.js'
import { describeTransactions } from './database-transactions.contract.js'
import { describeUuids } from './database-uuids.contract.js'
import { Fixture } from './database-fixture.js'

export interface DatabaseUnderTest {
  /** The address of an empty database, or an engine that opens one. */
  url(): Promise<string | EngineSource>
  close?(): Promise<void>
}

export function describeDatabase(name: string, open: () => Promise<DatabaseUnderTest>): void {
  describe(`${name}: the database contract`, () => {
    const fixture = new Fixture()
    let server: DatabaseUnderTest

    beforeAll(async () => {
      server = await open()
      await fixture.open(await server.url())
    })
    afterAll(async () => {
      await fixture.database.close()
      await server.close?.()
    })
    beforeEach(() => fixture.clear())

    describeCreating(fixture)
    describeRules(fixture)
    describeLists(fixture)
    describeRelations(fixture)
    describeTransactions(fixture)
    describeUuids(fixture)
  })
}
