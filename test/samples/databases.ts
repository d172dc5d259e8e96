/** The databases that the atlas runs on in tests. */
import { join } from 'node:path'
import { startPostgres } from '../records/postgres-server.js'

export interface AtlasDatabase {
  readonly url: string
  /** The number of atlases that start on it at the same time. */
  readonly starts: number
  close(): Promise<void>
}

/** Each database gets a folder for its files, which the suite removes. */
export const databases: readonly (readonly [string, (folder: string) => Promise<AtlasDatabase>])[] =
  [
    [
      'SQLite',
      async (folder) => ({
        url: `sqlite:${join(folder, 'atlas.db')}`,
        starts: 1,
        close: async () => undefined,
      }),
    ],
    [
      'PostgreSQL',
      async () => {
        const server = await startPostgres()
        return { url: await server.createDatabase(), starts: 2, close: () => server.close() }
      },
    ],
  ]
