import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeDatabase } from '../contracts/database.contract.js'
import { findDrivers } from './sqlite-drivers.js'

for (const driver of await findDrivers()) {
  describeDatabase(`SQLite in memory by ${driver}`, () =>
    Promise.resolve({ url: () => Promise.resolve(`sqlite::memory:?driver=${driver}`) }),
  )

  describeDatabase(`SQLite in a file by ${driver}`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'filigree-sqlite-'))
    return {
      url: () => Promise.resolve(`sqlite:${join(folder, 'made', 'app.db')}?driver=${driver}`),
      close: () => rm(folder, { recursive: true }),
    }
  })
}
