import { describe, expect, it, jest } from '@jest/globals'
import { silentLog } from '../../src/core/log.js'

describe('a driver that is not installed', () => {
  it.each([
    ['pg', 'postgres://host/name', 'Run: npm install pg'],
    ['better-sqlite3', 'sqlite::memory:', 'Run: npm install better-sqlite3'],
  ])('is a boot fault with the line that installs it: %s', async (name, url, line) => {
    jest.unstable_mockModule(name, () => {
      throw new Error(`Cannot find package '${name}'`)
    })
    const { openEngine } = await import('../../src/records/engines/engine-for-url.js')
    const opening = openEngine(url, { log: silentLog })
    await expect(opening).rejects.toMatchObject({
      problems: [{ code: 'DATABASE_DRIVER_MISSING', remedy: line }],
    })
  })
})
