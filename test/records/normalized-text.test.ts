/** The rule `normalize: 'NFC'`, on both engines. Source: decisions, Validation and fields. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Database,
  Field,
  Module,
  NoAuth,
  Post,
  Record,
  type Application,
} from 'filigree'
import { startBothEngines } from './both-engines.js'

const composed = 'Z\u00fcrich'
const decomposed = 'Zu\u0308rich'

@NoAuth
@Record
class City {
  @Field('id') id!: number
  @Field('string', { normalize: 'NFC', unique: true, maxLength: 6 }) name!: string
}

class Input {
  @Field('string', { normalize: 'NFC', list: true }) names!: string[]
}

@Controller('/cities', { crud: City })
@NoAuth
class Cities {}

@Controller('/inputs')
class Inputs {
  @Post('/', { body: Input }) @NoAuth read(body: Input): object {
    return body
  }
}

@Module({ controllers: [Cities, Inputs], records: [City] })
class AppModule {}

describe.each(await startBothEngines())("normalize: 'NFC' on %s", (_, open) => {
  let app: Application
  beforeAll(async () => {
    const database = await open()
    app = await bootstrap(AppModule, { listen: false, logger: false, database, env: {} })
  })
  afterAll(() => app.close())

  it('stores one form, so that the same word is there once', async () => {
    const send = (name: string) => app.inject({ method: 'POST', url: '/cities', json: { name } })
    const created = await send(decomposed)
    expect([created.status, created.json()]).toMatchObject([201, { name: composed }])
    for (const name of [composed, decomposed]) expect((await send(name)).status).toBe(409)
  })

  it.each([composed, decomposed])(
    'finds the row with a filter in either form: %j',
    async (name) => {
      const list = await app.inject(`/cities?name=${encodeURIComponent(name)}`)
      expect(list.json()).toHaveLength(1)
      const oneOf = await app.inject(`/cities?name.in=${encodeURIComponent(name)}&name.in=x`)
      expect(oneOf.json()).toHaveLength(1)
      const query = `{ cities(where: { name: { like: ${JSON.stringify(`${name}%`)} } }) { name } }`
      const answer = await app.inject({ method: 'POST', url: '/graphql', json: { query } })
      expect(answer.json()).toEqual({ data: { cities: [{ name: composed }] } })
      const { records } = { records: app.get(Database).records(City) }
      expect(await records.count({ name: { eq: name } })).toBe(1)
    },
  )

  it('changes the text of bodies, before its length is checked', async () => {
    const json = { names: [decomposed, composed] }
    const response = await app.inject({ method: 'POST', url: '/inputs', json })
    expect(response.json()).toEqual({ names: [composed, composed] })
  })
})

describe('a declaration of normalize', () => {
  it('has the value NFC', async () => {
    class Wrong {
      @Field('string', { normalize: 'NFD' as 'NFC' }) name!: string
    }
    @Controller('/wrong')
    class Controllers {
      @Post('/', { body: Wrong }) @NoAuth read(body: Wrong): object {
        return body
      }
    }
    @Module({ controllers: [Controllers] })
    class WrongModule {}
    const started = bootstrap(WrongModule, { listen: false, logger: false, env: {} })
    await expect(started).rejects.toThrow(`rule "normalize" needs 'NFC'`)
  })
})
