/** Source: decisions, Responses. Titles begin with the statement that they check. */
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as yieldOnce } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import type { Application } from '../../src/index.js'
import { exchange, open } from '../bootstrap/raw-client.js'
import { headOf, multipartOf, untilNoFolders, uploadFolders } from '../http/bodies/body-server.js'
import { expectError } from './error-responses.js'
import {
  file,
  formType,
  StoredFiles,
  photo,
  post,
  slowHandlerBegins,
  startUploads,
} from './upload-application.js'

let app: Application

beforeAll(async () => {
  app = await startUploads()
})
afterAll(() => app.close())
// After every request no temporary file is left.
afterEach(async () => {
  expect(await untilNoFolders()).toEqual([])
})

const folder = (): string => app.get(StoredFiles).path

describe('Uploads', () => {
  it.each([
    ['../../etc/passwd', 'passwd'],
    ['..\\..\\boot.ini', 'boot.ini'],
    ['/etc/cron.d/x', 'x'],
    ['a\0b\x07.txt', 'ab.txt'],
    ['a&#0047;b.txt', 'a&#0047;b.txt'],
    ['%0d%0aX-Evil: 1', 'X-Evil: 1'],
    ['..', 'unnamed'],
    [`${'a'.repeat(300)}.png`, `${'a'.repeat(196)}.png`],
  ])('Uploads, name: %j becomes %j', async (sent, name) => {
    const answer = await post(app, multipartOf('b', file('photo', sent)))
    expect(answer.json()).toMatchObject({ files: { photo: { name } } })
  })

  it('Uploads, moveTo: in a folder the file gets a new name with the extension of its content type', async () => {
    const hostile = multipartOf('b', file('photo', '../../evil.html', 'pixels'))
    const answer = await post(app, hostile, '/keep/folder')
    const { path, same } = answer.json() as { path: string; same: boolean }
    expect([answer.status, same]).toEqual([201, true])
    expect(path.slice(folder().length)).toMatch(/^\/[\da-f-]{36}\.txt$/)
    expect(await readFile(path, 'utf8')).toBe('pixels')
  })

  it('Uploads, moveTo: any other target is the exact path, and the file stays after the response', async () => {
    const answer = await post(app, photo, '/keep/kept.bin')
    expect(answer.json()).toEqual({ path: join(folder(), 'kept.bin'), same: true })
    expect(await readdir(folder())).toContain('kept.bin')
    expect(await readFile(join(folder(), 'kept.bin'), 'utf8')).toBe('pixels')
  })

  it('an empty file input is left out', async () => {
    const answer = await post(app, multipartOf('b', file('photo', '', '')))
    expect(answer.json()).toMatchObject({ files: {} })
  })

  it('files are removed when the handler fails', async () => {
    expectError(await post(app, photo, '/broken'), 409, /^1 taken\.$/)
  })

  it('a handler without files leaves the body unread', async () => {
    expect((await post(app, 'no form at all', '/unread')).json()).toEqual({ unread: true })
  })

  it('a request without a token is refused before the body is read', async () => {
    expectError(await post(app, 'no form at all', '/secret'), 401, /^Unauthorized$/)
  })
})

describe('Uploads of a client that disconnects', () => {
  const head = (url: string, length: number): string =>
    `POST ${url} HTTP/1.1\r\nHost: x\r\nContent-Type: ${formType}\r\nContent-Length: ${length}\r\n\r\n`

  it.each([
    ['in the first file', `--b\r\n${headOf('f', 'a')}\r\n\r\nhalf`],
    ['after a file', `--b\r\n${headOf('f', 'a')}\r\n\r\nwhole\r\n--b\r\n`],
  ])(
    'Uploads: if the client aborts %s, no file is left and the process goes on',
    async (_, bytes) => {
      const socket = open(app.url)
      socket.write(head('/form', 9999) + bytes)
      await once(socket, 'connect')
      while (uploadFolders().length === 0) await yieldOnce()
      socket.resetAndDestroy()
      expect(await untilNoFolders()).toEqual([])
      expect((await post(app, photo)).status).toBe(200)
    },
  )

  it('Requests, Times: an upload has its own timeout, in any case of its media type', async () => {
    const times = { request: 60_000, upload: 40 }
    await using hurried = await startUploads({ times })
    const text = head('/form', 9999).replace('multipart/form-data', 'Multipart/Form-Data')
    const answer = await exchange(hurried.url, `${text}--b\r\n${headOf('f', 'a')}\r\n\r\nhalf`)
    expect(answer).toMatch(
      /^HTTP\/1\.1 408 [^]*\{"error":"The body did not arrive in time\.","code":"REQUEST_TIMEOUT"\}$/,
    )
  })

  it('Uploads: if the client aborts while the handler runs, no file is left', async () => {
    const socket = open(app.url)
    const working = slowHandlerBegins()
    socket.write(head('/slow', photo.length) + photo)
    await working
    expect(uploadFolders()).toHaveLength(1)
    socket.resetAndDestroy()
    expect(await untilNoFolders()).toEqual([])
  })
})
