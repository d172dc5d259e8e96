import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeDatabase } from '../contracts/database.contract.js'

describeDatabase('SQLite in memory', () =>
  Promise.resolve({ url: () => Promise.resolve('sqlite::memory:') }),
)

describeDatabase('SQLite in a file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'filigree-sqlite-'))
  return {
    url: () => Promise.resolve(`sqlite:${join(folder, 'made', 'app.db')}`),
    close: () => rm(folder, { recursive: true }),
  }
})
