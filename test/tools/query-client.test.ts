import { describe, expect, it } from '@jest/globals'
import { bootstrap } from 'filigree'
import { AppModule } from '../cli/routes/app.js'
import { callQueries } from './query-calls.js'

describe('filigree types --tanstack', () => {
  it('writes options with which TanStack Query calls the application', async () => {
    await using app = await bootstrap(AppModule, {
      ...{ port: 0, host: '127.0.0.1', logger: false, database: 'sqlite::memory:', env: {} },
    })
    expect(await callQueries(app.url)).toEqual({
      name: 'Lamp',
      list: 1,
      created: { name: 'Lamp', count: 1 },
      deleted: null,
      refused: 'function',
      keys: [
        ['GET /items/{id:int}', { path: { id: 7 } }],
        ['GET /items', { params: { q: 'desk' } }],
      ],
    })
  })
})
