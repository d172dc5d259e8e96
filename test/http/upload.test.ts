import { promisify } from 'node:util'
import { Readable, Stream } from 'node:stream'
import { once } from 'node:events'
import { execFile } from 'node:child_process'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import {
  access,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  writeFile,
  stat,
  truncate,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { cleanFileName, Upload } from '../../src/http/upload.js'
import { seed } from '../random.js'
import { UploadFolder } from '../../src/http/bodies/upload-folder.js'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filigree-test-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true })
})

const jpeg = { type: 'image/jpeg', extension: '.jpg' }

async function upload(name = 'Photo.JPG', content = 'content'): Promise<Upload> {
  const path = join(folder, 'temporary')
  await writeFile(path, content)
  return new Upload({ name, content: jpeg, size: content.length, path })
}

const fresh = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.jpg$/

describe('Upload', () => {
  it('returns its bytes as a buffer and as a stream', async () => {
    const file = await upload()
    expect(await file.bytes()).toEqual(Buffer.from('content'))
    expect(await buffer(file.stream())).toEqual(Buffer.from('content'))
  })

  it('reveals neither its path nor more than the client sent', async () => {
    const text = JSON.stringify(await upload())
    expect(JSON.parse(text)).toEqual({ name: 'Photo.JPG', type: 'image/jpeg', size: 7 })
  })
})

describe('Upload.moveTo', () => {
  it.each([
    ['that exists', 'there'],
    ['that ends in a slash', 'new/deep/'],
  ])('moves into a folder %s, under a generated name', async (_what, target) => {
    await mkdir(join(folder, 'there'))
    const file = await upload()
    const before = file.path
    const path = await file.moveTo(`${folder}/${target}`)
    expect(join(dirname(path), '/')).toBe(join(folder, target, '/'))
    expect(basename(path)).toMatch(fresh)
    expect(file.path).toBe(path)
    expect(await readFile(path, 'utf8')).toBe('content')
    await expect(access(before)).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('overwrites nothing in a folder, when two clients use one name', async () => {
    const first = await (await upload('a.jpg', 'first')).moveTo(folder)
    const second = await (await upload('a.jpg', 'second')).moveTo(folder)
    expect(await readFile(first, 'utf8')).toBe('first')
    expect(await readFile(second, 'utf8')).toBe('second')
  })

  it('moves to the exact path otherwise, and replaces a file there', async () => {
    const target = join(folder, 'new/avatar.png')
    expect(await (await upload('a', 'first')).moveTo(target)).toBe(target)
    expect(await (await upload('b', 'second')).moveTo(target)).toBe(target)
    expect(await readFile(target, 'utf8')).toBe('second')
    expect(await readdir(dirname(target))).toEqual(['avatar.png'])
  })

  it('moves again from its current path', async () => {
    const file = await upload()
    await file.moveTo(join(folder, 'one'))
    await file.moveTo(join(folder, 'two'))
    expect(await file.bytes()).toEqual(Buffer.from('content'))
    expect(await readdir(folder)).toEqual(['two'])
  })

  it('reports that the temporary file was deleted', async () => {
    const file = await upload()
    await rm(file.path)
    await expect(file.moveTo(`${folder}/x`)).rejects.toThrow(
      'UploadedFile.moveTo: "Photo.JPG" is no longer in its temporary folder. It is removed when ' +
        'the response ends or the client goes away; move it before.',
    )
  })

  it('keeps the file when the target cannot be written', async () => {
    const file = await upload()
    await writeFile(join(folder, 'plain'), '')
    await expect(file.moveTo(join(folder, 'plain/inside'))).rejects.toHaveProperty('code')
    expect(await file.bytes()).toEqual(Buffer.from('content'))
  })
})

describe('cleanFileName', () => {
  it.each([
    ['photo.jpg', 'photo.jpg'],
    ['Grüße 😀.txt', 'Grüße 😀.txt'],
    ['../../etc/passwd', 'passwd'],
    ['C:\\fake\\path\\a.txt', 'a.txt'],
    ['a/b\\c/d\\e', 'e'],
    ['a\r\nb\0c\u0085.txt', 'abc.txt'],
    ['ab\u202etxt.exe', 'abtxt.exe'],
    ['  a.txt ', 'a.txt'],
    ['', 'unnamed'],
    ['.', 'unnamed'],
    ['..', 'unnamed'],
    ['folder/', 'unnamed'],
    ['\0\n', 'unnamed'],
    ['.htaccess', '.htaccess'],
    [`${'n'.repeat(300)}.jpeg`, `${'n'.repeat(195)}.jpeg`],
    ['😀'.repeat(200), '😀'.repeat(50)],
    [`a${'😀'.repeat(200)}.png`, `a${'😀'.repeat(48)}.png`],
    ['ü'.repeat(150), 'ü'.repeat(100)],
  ])('%j becomes %j', (name, clean) => {
    expect(cleanFileName(name)).toBe(clean)
  })

  it('never returns a folder, a control character or nothing, and takes linear time', () => {
    const pieces = fc.constantFrom('/', '\\', '.', '..', '\0', '\n', ' ', 'a', 'é', '\u202e', '%2f')
    const names = fc.oneof(
      fc.string(),
      fc.array(pieces).map((list) => list.join('')),
    )
    fc.assert(
      fc.property(names, (name) => {
        const clean = cleanFileName(name)
        expect(clean).not.toMatch(/[/\\\p{Cc}\u202e]|^\.{0,2}$/u)
        expect(Buffer.byteLength(clean)).toBeLessThanOrEqual(200)
        expect(cleanFileName(clean)).toBe(clean)
      }),
      { seed },
    )
  })
})

describe('UploadFolder', () => {
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

  it('rejects a file over the limit once, so that its process goes on', async () => {
    const code = `
      import { Stream } from 'node:stream'
      import { once } from 'node:events'
      const { UploadFolder } = await import('./src/http/bodies/upload-folder.ts')
      const folder = await UploadFolder.create()
      const part = new Stream()
      const input = new Stream()
      input.pause = input.resume = () => input.emit('resume')
      const storing = folder.receive(part, { limit: 1024 * 1024, input })
      storing.catch(({ status }) => console.log(status))
      part.emit('data', Buffer.alloc(1024 * 1024))
      await once(input, 'resume')
      part.emit('data', Buffer.alloc(1))
      part.emit('end')
      await once(input, 'resume')`
    const node = [
      process.execPath,
      ['--import', 'tsx', '--input-type=module', '--eval', code],
    ] as const
    const { stdout } = await promisify(execFile)(...node)
    expect(stdout).toBe('413\n')
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
