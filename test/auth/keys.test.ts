import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createPublicKey } from 'node:crypto'
import { silentLog } from '../silent-log.js'
import { createKeys, makeAuth, makeLog, openKeyFolder, thumbprint } from './fixtures.js'
import { makePair } from './key-pair.js'

const run = promisify(execFile)
const isPosix = process.platform !== 'win32'
let root: string

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'filigree-pair-'))
})

afterAll(async () => {
  await rm(root, { recursive: true })
})

const modeOf = async (path: string): Promise<string> =>
  ((await stat(path)).mode & 0o777).toString(8)

describe('openKeyFolder', () => {
  it('creates one pair with private file permissions, and reuses it', async () => {
    const folder = join(root, 'made', '.filigree')
    const log = makeLog()
    const first = await openKeyFolder(folder, log)
    const second = await openKeyFolder(folder, log)
    expect(second.kid).toBe(first.kid)
    expect((await readdir(folder)).sort()).toEqual(['.gitignore', 'private-key.pem'])
    if (isPosix) {
      expect(await modeOf(folder)).toBe('700')
      expect(await modeOf(join(folder, 'private-key.pem'))).toBe('600')
    }
    expect(log.lines).toEqual(['info created a key pair for development'])
  })

  it('adds a .gitignore to a folder that it creates, and nothing to an existing folder', async () => {
    const newFolder = join(root, 'own')
    await openKeyFolder(newFolder, silentLog)
    expect(await readFile(join(newFolder, '.gitignore'), 'utf8')).toBe('*\n')
    const shared = join(root, 'shared')
    await mkdir(shared)
    await openKeyFolder(shared, silentLog)
    expect(await readdir(shared)).toEqual(['private-key.pem'])
  })

  it('creates one pair when several processes start at the same time', async () => {
    const folder = join(root, 'raced', '.filigree')
    const script = join(import.meta.dirname, 'open-pair.ts')
    const runs = [1, 2, 3].map(() => run(process.execPath, ['--import', 'tsx', script, folder]))
    const names = (await Promise.all(runs)).map(({ stdout }) => stdout)
    expect(names[0]).toMatch(/^[\w-]{43}$/)
    expect(new Set(names).size).toBe(1)
    expect((await readdir(folder)).sort()).toEqual(['.gitignore', 'private-key.pem'])
  })

  it('creates one pair when it is called several times at the same time', async () => {
    const folder = join(root, 'at-once')
    const pairs = await Promise.all([1, 2, 3, 4].map(() => openKeyFolder(folder, silentLog)))
    expect(new Set(pairs.map(({ kid }) => kid)).size).toBe(1)
    expect((await readdir(folder)).sort()).toEqual(['.gitignore', 'private-key.pem'])
  })

  it('restricts the permissions of a file that others can read, and warns', async () => {
    if (!isPosix) return
    const folder = join(root, 'open')
    await mkdir(folder)
    const file = join(folder, 'private-key.pem')
    await writeFile(file, makePair().privatePem)
    await chmod(file, 0o644)
    const log = makeLog()
    await openKeyFolder(folder, log)
    expect(await modeOf(file)).toBe('600')
    expect(log.lines).toEqual(['warn the key was readable by other users, and has mode 0600 now'])
  })

  it('fails where the folder is a file, and can be called again', async () => {
    const folder = join(root, 'a-file')
    await writeFile(folder, '')
    const keys = createKeys({ origin: { from: 'folder', folder }, log: silentLog })
    await expect(keys.signing()).rejects.toThrow(/ENOTDIR|EEXIST/)
    await rm(folder)
    expect((await keys.signing()).kid).toMatch(/^[\w-]{43}$/)
  })
})

describe('createKeys', () => {
  it('creates no pair before the first token', async () => {
    const folder = join(root, 'lazy')
    const auth = makeAuth({ origin: { from: 'folder', folder }, now: Date.now })
    expect(await auth.verify('nonsense')).toBeNull()
    await expect(stat(folder)).rejects.toThrow('ENOENT')
    const token = await auth.getToken({ sub: '7' })
    expect(await auth.verify(token)).toMatchObject({ sub: '7' })
  })

  it('lets a restarted process accept the tokens of the previous process', async () => {
    const origin = { from: 'folder' as const, folder: join(root, 'restarted') }
    const token = await makeAuth({ origin, now: Date.now }).getToken({ sub: '7' })
    expect(await makeAuth({ origin, now: Date.now }).verify(token)).toMatchObject({ sub: '7' })
  })

  it('have no key where tokens are turned off', async () => {
    const keys = createKeys({ origin: { from: 'none' }, log: silentLog })
    expect(await keys.checking(undefined)).toEqual([])
    await expect(keys.signing()).rejects.toThrow('there is no private key')
  })
})

describe('thumbprint', () => {
  it('is the example of RFC 7638 §3.1', () => {
    const n =
      '0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMs' +
      'tn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5ha' +
      'jrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw'
    const key = createPublicKey({ key: { kty: 'RSA', e: 'AQAB', n }, format: 'jwk' })
    expect(thumbprint(key)).toBe('NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs')
  })
})
