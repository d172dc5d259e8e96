import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { access, readdir, readFile, rm, stat, truncate } from 'node:fs/promises'
import { Readable, Stream } from 'node:stream'
import { promisify } from 'node:util'
import { UploadFolder } from '../../../src/http/bodies/upload-folder.js'

let folder: UploadFolder
let input: Readable
beforeEach(async () => {
  folder = await UploadFolder.create()
  input = new Readable({ read: () => undefined })
  await once(input.resume(), 'resume')
})
afterEach(async () => {
  await folder.remove()
})

const limit = 4 * 1024 * 1024

describe('UploadFolder', () => {
  it('is accessible to its owner only', async () => {
    expect((await stat(folder.path)).mode & 0o777).toBe(0o700)
  })

  it('pauses the input while the disk is slower, and resumes it after the last byte', async () => {
    const part = new Stream()
    const storing = folder.receive(part, { limit, input })
    part.emit('data', Buffer.alloc(1024 * 1024, 'x'))
    expect(input.isPaused()).toBe(true)
    part.emit('end')
    const { path, size } = await storing
    expect(size).toBe(1024 * 1024)
    expect((await readFile(path)).every((byte) => byte === 0x78)).toBe(true)
    expect(input.isPaused()).toBe(false)
  })

  it('resumes the input when the disk has caught up', async () => {
    const part = new Stream()
    const storing = folder.receive(part, { limit, input })
    part.emit('data', Buffer.alloc(1024 * 1024))
    await once(input, 'resume')
    part.emit('data', Buffer.alloc(1))
    part.emit('end')
    expect((await storing).size).toBe(1024 * 1024 + 1)
  })

  it('cancels running writes when it is removed', async () => {
    const part = new Stream()
    const storing = folder.receive(part, { limit, input })
    storing.catch(() => undefined)
    part.emit('data', Buffer.alloc(1024 * 1024))
    await Promise.all([folder.remove(), folder.remove()])
    await expect(storing).rejects.toMatchObject({ code: 'CLIENT_GONE' })
    await expect(access(folder.path)).rejects.toMatchObject({ code: 'ENOENT' })
    await expect(folder.receive(part, { limit, input })).rejects.toMatchObject({
      code: 'CLIENT_GONE',
    })
  })

  it('rejects with the error of a system that cannot write', async () => {
    await rm(folder.path, { recursive: true })
    const part = new Stream()
    const storing = folder.receive(part, { limit, input })
    part.emit('data', Buffer.from('x'))
    part.emit('end')
    await expect(storing).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('rejects a file of which fewer bytes are on the disk than were sent', async () => {
    const part = new Stream()
    const storing = folder.receive(part, { limit, input })
    storing.catch(() => undefined)
    part.emit('data', Buffer.alloc(1024 * 1024))
    await once(input, 'resume')
    const [name] = await readdir(folder.path)
    await truncate(`${folder.path}/${name!}`, 10)
    part.emit('end')
    await expect(storing).rejects.toThrow('holds 10 bytes of 1048576. Is the disk full?')
  })

  it('is removed when the process ends in the middle', async () => {
    const code = `
      const { UploadFolder } = await import('./src/http/bodies/upload-folder.ts')
      console.log((await UploadFolder.create()).path)
      process.exit(0)`
    const node = [
      process.execPath,
      ['--import', 'tsx', '--input-type=module', '--eval', code],
    ] as const
    const { stdout } = await promisify(execFile)(...node)
    expect(stdout).toContain('filigree-upload-')
    await expect(access(stdout.trim())).rejects.toMatchObject({ code: 'ENOENT' })
  })
})
