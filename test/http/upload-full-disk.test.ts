/**
 * Uploads on a full disk. The disk is a small one in memory. Where none can be mounted, the suite is skipped with a
 * message.
 *
 * @jest-environment node
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as system from 'node:os'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import type { Application, UploadedFile } from 'filigree'
import { waitUntil } from '../wait-until.js'

const outside = mkdtempSync(join(system.tmpdir(), 'filigree-test-'))
const disk = join(outside, 'disk')
/** The folder of uploads during their request. */
let temporary = outside
jest.unstable_mockModule('node:os', () => ({ ...system, tmpdir: () => temporary }))
const { bootstrap, Controller, Module, NoAuth, Post } = await import('filigree')

function mount(): boolean {
  try {
    execFileSync('mkdir', [disk])
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,mode=1777', 'tmpfs', disk], {
      stdio: 'pipe',
    })
    return true
  } catch {
    return false
  }
}

const isMounted = mount()

@Controller('/files')
class FileController {
  @Post('/') @NoAuth keep(files: { a: UploadedFile }) {
    return { size: files.a.size }
  }
  @Post('/kept') @NoAuth async move(files: { a: UploadedFile }) {
    await files.a.moveTo(join(disk, 'kept'))
    return { size: files.a.size }
  }
}

@Module({ controllers: [FileController] })
class FilesModule {}

afterAll(() => {
  if (isMounted) execFileSync('umount', ['-l', disk])
  rmSync(outside, { recursive: true, force: true })
})

const run = isMounted ? describe : describe.skip
const name = isMounted
  ? 'uploads on a full disk'
  : 'uploads on a full disk (left out: no small disk can be mounted here)'

run(name, () => {
  let app: Application
  beforeAll(async () => {
    app = await bootstrap(FilesModule, {
      port: 0,
      host: '127.0.0.1',
      logger: false,
      env: {},
    })
  })
  afterAll(async () => {
    await app.close()
  })
  const send = async (path: string, bytes: number): Promise<Response> => {
    const form = new FormData()
    form.set('a', new Blob([new Uint8Array(bytes)]), 'a.bin')
    return fetch(`${app.url}/files${path}`, { method: 'POST', body: form })
  }

  it('return 503 with Retry-After, leave nothing behind, and work again once there is space', async () => {
    temporary = disk
    const refused = await send('/', 4_000_000)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '10'])
    expect(await refused.json()).toEqual({
      error: 'There is no room for the files.',
      code: 'SERVICE_UNAVAILABLE',
    })
    expect(readdirSync(disk)).toEqual([])
    const small = await send('/', 1000)
    expect([small.status, await small.json()]).toEqual([200, { size: 1000 }])
  })

  it('return 503 where no folder can be created, and where a file is moved to the full disk', async () => {
    // The files of the previous upload are deleted after its response, which would free space again.
    await waitUntil(() => readdirSync(disk).length === 0)
    fill()
    temporary = disk
    expect((await send('/', 1000)).status).toBe(503)
    temporary = outside
    const moved = await send('/kept', 600_000)
    expect([moved.status, moved.headers.get('retry-after')]).toEqual([503, '10'])
    rmSync(join(disk, 'full'))
    expect((await send('/kept', 600_000)).status).toBe(200)
  })
})

/** Writes until the disk is full. */
function fill(): void {
  for (let size = 1_048_576; size >= 1; size = Math.floor(size / 2)) {
    try {
      writeFileSync(join(disk, 'full'), Buffer.alloc(size), { flag: 'a' })
    } catch {
      // Try a smaller piece.
    }
  }
}
