/** @jest-environment node */
import { afterEach, describe, expect, it, jest } from '@jest/globals'

const versions = process.versions
const getBuiltinModule = Reflect.get(process, 'getBuiltinModule') as () => undefined
const major = Number(versions.node.split('.')[0])

afterEach(() => {
  Object.defineProperty(process, 'versions', { value: versions })
  process.getBuiltinModule = getBuiltinModule
  jest.resetModules()
})

/** Connects as on a machine where no driver can be loaded. @returns the reported problems */
async function problemsOf(url: string): Promise<unknown> {
  for (const name of ['pg', 'better-sqlite3']) {
    const load = () => {
      const missing = new Error(`Cannot find package '${name}' imported from /shop/main.js`)
      throw Object.assign(missing, { code: 'ERR_MODULE_NOT_FOUND' })
    }
    // better-sqlite3 is not installed on Node versions with a built-in SQLite.
    jest.unstable_mockModule(name, load, { virtual: true })
  }
  process.getBuiltinModule = () => undefined
  const { connect } = await import('../../src/index.js')
  try {
    await connect(url)
  } catch (error) {
    return (error as { problems: unknown }).problems
  }
  throw new Error('It opened.')
}

describe('a driver that is not installed', () => {
  it.each([
    ['pg', 'postgres://host/name', 'Run: npm install pg'],
    [
      'better-sqlite3',
      'sqlite::memory:',
      `Run: npm install better-sqlite3@${major < 22 ? '12' : '13'}`,
    ],
  ])('fails the start with the install command: %s', async (_name, url, remedy) => {
    expect(await problemsOf(url)).toMatchObject([{ code: 'DATABASE_DRIVER_MISSING', remedy }])
  })

  it.each([
    ['node:sqlite', {}, 'Leave out driver=, or use Node 22.16 or newer.'],
    ['bun:sqlite', {}, 'Leave out driver=, or run the application with Bun.'],
    ['better-sqlite3', { deno: '2.0.0' }, 'Leave out driver=, or update Deno: deno upgrade'],
    ['node:sqlite', { bun: '1.0.0' }, 'Leave out driver=, or update Bun: bun upgrade'],
  ])('fails the start with a fix for the runtime: %s on %j', async (driver, runtime, remedy) => {
    Object.defineProperty(process, 'versions', { value: { ...versions, ...runtime } })
    expect(await problemsOf(`sqlite::memory:?driver=${driver}`)).toMatchObject([
      {
        code: 'DATABASE_DRIVER_MISSING',
        message: expect.stringMatching(
          `^The driver ${driver}, which the database URL requests, cannot be loaded: `,
        ),
        remedy,
      },
    ])
  })
})

describe('a driver that does not exist', () => {
  it('fails the start with the valid names', async () => {
    expect(await problemsOf('sqlite::memory:?driver=better-sqlite')).toEqual([
      {
        code: 'DATABASE_URL',
        message:
          'The database\'s parameter driver is "better-sqlite", which is not a driver of SQLite.',
        remedy:
          'Did you mean "better-sqlite3"? Write one of: bun:sqlite, node:sqlite, better-sqlite3.',
      },
    ])
  })
})
