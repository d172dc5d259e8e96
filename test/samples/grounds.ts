/** The databases that the atlas runs on in tests. */
import { join } from 'node:path'
import { startPostgres } from '../records/postgres-server.js'

export interface Ground {
  readonly url: string
  /** How many atlases start on it at once. */
  readonly starts: number
  close(): Promise<void>
}

/** Each gets a folder for its files, which the suite removes. */
export const grounds: readonly (readonly [string, (folder: string) => Promise<Ground>])[] = [
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
