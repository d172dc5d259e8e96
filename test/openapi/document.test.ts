import { describe, expect, it } from '@jest/globals'
import { bootstrap } from 'filigree'
import { FixtureModule } from './fixture-application.js'

describe('createDocument', () => {
  it('writes', async () => {
    await using app = await bootstrap(FixtureModule, { listen: false, logger: false })
    console.log(JSON.stringify(app.openapi, null, 1))
    expect(1).toBe(1)
  })
})
