/** `upsert` by fields that are unique together. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Database,
  Field,
  Module,
  NoAuth,
  Record as Table,
  type Application,
} from '../../src/index.js'
import { startBothEngines } from './both-engines.js'

@NoAuth
@Table
class Favorite {
  @Field('id') id!: number
  @Field('integer', { unique: 'pair' }) userId!: number
  @Field('integer', { unique: 'pair' }) articleId!: number
  @Field('integer', { default: 0 }) stars!: number
}

@Module({ records: [Favorite] })
class FavoriteModule {}

const engines = await startBothEngines()

describe.each(engines)('upsert by fields that are unique together: %s', (_name, address) => {
  let app: Application
  beforeAll(async () => {
    app = await bootstrap(FavoriteModule, {
      port: 0,
      logger: false,
      database: await address(),
    })
  })
  afterAll(() => app.close())
  const favorites = () => app.get(Database).records(Favorite)
  const by = ['userId', 'articleId'] as const

  it('creates the row, then updates it, in any order of the names', async () => {
    const created = await favorites().upsert({ userId: 7, articleId: 3, stars: 1 }, { by })
    const changed = await favorites().upsert(
      { userId: 7, articleId: 3, stars: 2 },
      { by: ['articleId', 'userId'] },
    )
    expect([created.stars, changed.stars, changed.id]).toEqual([1, 2, created.id])
    await favorites().upsert({ userId: 7, articleId: 4 }, { by })
    expect(await favorites().count()).toBe(2)
  })

  it('rejects fields that are not unique together, and missing values', async () => {
    const invalid = favorites().upsert({ userId: 7, articleId: 3 }, { by: ['userId', 'stars'] })
    await expect(invalid).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('userId with articleId'),
    })
    await expect(
      favorites().upsert({ userId: 7, articleId: 3 }, { by: 'userId' }),
    ).rejects.toMatchObject({ status: 400 })
    await expect(favorites().upsert({ userId: 7 }, { by })).rejects.toMatchObject({
      errors: [{ path: 'articleId', code: 'required' }],
    })
  })

  it('creates one row from 30 concurrent calls, from the program and over GraphQL', async () => {
    const query = `mutation ($stars: Int) {
      upsertFavorite(by: ["userId", "articleId"], input: { userId: 9, articleId: 9, stars: $stars }) { id }
    }`
    const results = await Promise.all(
      Array.from({ length: 30 }, async (_, stars) => {
        if (stars % 2 === 0)
          return favorites().upsert({ userId: 9, articleId: 9, stars }, { by: [...by] })
        const json = { query, variables: { stars } }
        const response = await app.inject({ method: 'POST', url: '/graphql', json })
        return (response.json() as { data: { upsertFavorite: { id: string } } }).data.upsertFavorite
      }),
    )
    expect(new Set(results.map(({ id }) => Number(id))).size).toBe(1)
    expect(await favorites().count({ userId: 9 })).toBe(1)
  })
})
