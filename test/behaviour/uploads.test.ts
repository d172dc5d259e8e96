/** Source: decisions, Requests, multipart, and "Uploads". Titles begin with the statement they show. */
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Field,
  HttpError,
  Module,
  NoAuth,
  Post,
  reply,
  type Application,
  type InjectRequest,
  type InjectResponse,
  type UploadedFile,
  type UploadedFiles,
} from '../../src/index.js'
import { exchange, open } from '../bootstrap/raw-client.js'
import { headOf, multipartOf, untilNoFolders, uploadFolders } from '../http/bodies/body-server.js'

class Picture {
  @Field('string', { maxLength: 80 }) title!: string
  @Field('integer') year!: number
  @Field('string', { list: true, optional: true }) tags?: string[]
}

let folder = ''
let entered: () => void = () => undefined

const describeFile = ({ name, type, size }: UploadedFile): object => ({ name, type, size })

@Controller
class UploadController {
  @Post('/form')
  @NoAuth
  form(body: unknown, files: UploadedFiles) {
    const shown = Object.entries(files).map(([name, file]) => [
      name,
      Array.isArray(file) ? file.map(describeFile) : describeFile(file),
    ])
    return { body, files: Object.fromEntries(shown), folders: uploadFolders().length }
  }

  @Post('/content')
  @NoAuth
  async content(files: { photo: UploadedFile }) {
    let streamed = ''
    for await (const chunk of files.photo.stream()) streamed += String(chunk)
    return { bytes: (await files.photo.bytes()).toString(), streamed }
  }

  @Post('/keep/<name>')
  @NoAuth
  async keep(files: { photo: UploadedFile }, name: string) {
    const path = await files.photo.moveTo(name === 'folder' ? `${folder}/` : join(folder, name))
    return reply({ path, same: path === files.photo.path }, 201)
  }

  @Post('/picture')
  @NoAuth
  picture(body: Picture, files: UploadedFiles) {
    return { isPicture: body instanceof Picture, body, files: Object.keys(files) }
  }

  @Post('/broken')
  @NoAuth
  broken(files: UploadedFiles) {
    throw new HttpError(409, `${Object.keys(files).length} taken.`)
  }

  @Post('/slow')
  @NoAuth
  async slow(files: UploadedFiles) {
    entered()
    await untilNoFolders()
    return { files: Object.keys(files) }
  }

  @Post('/unread')
  @NoAuth
  unread() {
    return { unread: true }
  }

  @Post('/large', { limit: '12mb' })
  @NoAuth
  large(files: { photo: UploadedFile }) {
    return { size: files.photo.size }
  }

  @Post('/secret')
  secret(files: UploadedFiles) {
    return { files: Object.keys(files) }
  }
}

@Module({ controllers: [UploadController] })
class UploadModule {}

const options = { port: 0, host: '127.0.0.1', logger: false, env: {} }
const type = 'multipart/form-data; boundary=b'
const mebi = 1024 * 1024

let app: Application

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filigree-kept-'))
  app = await bootstrap(UploadModule, options)
})
afterAll(async () => {
  await app.close()
  await rm(folder, { recursive: true })
})
// Whatever the answer was: no temporary file stays.
afterEach(async () => {
  expect(await untilNoFolders()).toEqual([])
})

function post(body: string | Uint8Array, url = '/form', contentType = type) {
  return app.inject({ method: 'POST', url, headers: { 'content-type': contentType }, body })
}

function expectError(answer: InjectResponse, status: number, message: RegExp): void {
  expect([answer.status, answer.json()]).toEqual([
    status,
    { error: expect.stringMatching(message) },
  ])
  expect(answer.headers['access-control-allow-origin']).toBe('*')
}

const field = (name: string, body = 'x') => ({ head: headOf(name), body })
const file = (name: string, fileName: string, body = 'x') => ({
  head: headOf(name, fileName),
  body,
})
const many = <Part>(count: number, part: Part): Part[] => Array.from({ length: count }, () => part)
const photo = multipartOf('b', file('photo', 'a.PNG', 'pixels'))

describe('Requests, multipart', () => {
  it('Requests, multipart: one value is a scalar, a repeated one a list; files stand apart', async () => {
    const answer = await app.inject({
      url: '/form',
      multipart: toForm([
        ['title', 'Grüße'],
        ['tag', 'a'],
        ['tag', 'b'],
        ['photo', new File(['pixels'], 'a.png', { type: 'image/png' })],
        ['page', new File(['1'], '1.txt', { type: 'text/plain' })],
        ['page', new File(['22'], '2.txt', { type: 'text/plain' })],
      ]),
    })
    expect(answer.json()).toEqual({
      body: { title: 'Grüße', tag: ['a', 'b'] },
      files: {
        photo: { name: 'a.png', type: 'image/png', size: 6 },
        page: [
          { name: '1.txt', type: 'text/plain', size: 1 },
          { name: '2.txt', type: 'text/plain', size: 2 },
        ],
      },
      folders: 1,
    })
  })

  it('Requests, multipart: a form without files makes no folder', async () => {
    const answer = await app.inject({ url: '/form', multipart: { a: '1' } })
    expect(answer.json()).toEqual({ body: { a: '1' }, files: {}, folders: 0 })
  })

  it('Requests, multipart: a file is there as bytes and as a stream', async () => {
    expect((await post(photo, '/content')).json()).toEqual({ bytes: 'pixels', streamed: 'pixels' })
  })

  it('Requests, multipart: text is converted and checked where a class is declared', async () => {
    const multipart = toForm([
      ['title', 'Sea'],
      ['year', '1888'],
      ['tags', 'blue'],
      ['photo', new File(['p'], 'p.png')],
    ])
    const good = await app.inject({ url: '/picture', multipart })
    expect(good.json()).toEqual({
      isPicture: true,
      body: { title: 'Sea', year: 1888, tags: ['blue'] },
      files: ['photo'],
    })
    const bad = await app.inject({
      url: '/picture',
      multipart: { year: '1e3', photo: Buffer.of(1) },
    })
    expect([bad.status, bad.json()]).toMatchObject([
      400,
      {
        errors: [
          { path: 'year', code: 'type' },
          { path: 'title', code: 'required' },
        ],
      },
    ])
  })

  it.each<[string, string, string]>([
    ['no boundary', 'hello', 'The multipart body is malformed.'],
    ['another boundary', multipartOf('c', field('a')), 'The multipart body is malformed.'],
    ['a part that breaks off', photo.slice(0, -12), 'The multipart body is malformed.'],
    ['a missing last line', photo.slice(0, -4), 'The multipart body breaks off.'],
    ['half a header', '--b\r\nContent-Disp', 'The multipart body is malformed.'],
    ['a part without a name', multipartOf('b', { head: 'A: b', body: '' }), 'form-data'],
    ['a field named __proto__', multipartOf('b', field('__proto__')), '"__proto__"'],
    ['a file named constructor', multipartOf('b', file('constructor', 'a')), '"constructor"'],
    ['a name of 201 characters', multipartOf('b', field('n'.repeat(201))), 'longer than 200'],
  ])('Requests, multipart: %s is 400', async (_, body, message) => {
    expectError(await post(body), 400, new RegExp(message))
  })

  it.each([
    'multipart/form-data',
    'multipart/form-data; boundary=""',
    'multipart/form-data; boundary="a\u00e4"',
  ])('Requests, multipart: %s has no valid boundary and is 400', async (contentType) => {
    expectError(await post(photo, '/form', contentType), 400, /no valid boundary/)
  })

  it('Requests, multipart: another multipart type is bytes', async () => {
    const answer = await post(photo, '/form', 'multipart/mixed; boundary=b')
    expect(answer.json()).toMatchObject({ files: {}, folders: 0 })
    expectError(await post(photo, '/picture', 'multipart/mixed; boundary=b'), 415, /^Send /)
  })
})

function toForm(entries: readonly (readonly [string, string | File])[]): FormData {
  const form = new FormData()
  for (const [name, value] of entries) {
    if (typeof value === 'string') form.append(name, value)
    else form.append(name, value)
  }
  return form
}

describe('Requests, Limits of multipart', () => {
  const fileOf = (bytes: number): InjectRequest => ({
    url: '/form',
    multipart: { photo: new Uint8Array(bytes) },
  })

  it('Requests, Limits: a file of 10 MiB is stored, a byte more is 413', async () => {
    expect((await app.inject(fileOf(10 * mebi))).json()).toMatchObject({
      files: { photo: { size: 10 * mebi } },
    })
    const over = await app.inject(fileOf(10 * mebi + 1))
    expectError(over, 413, /^A file is larger than 10485760 bytes\.$/)
  })

  it("Requests, Limits: a route's limit lifts the file limit too", async () => {
    const large = await app.inject({ ...fileOf(12 * mebi), url: '/large' })
    expect(large.json()).toEqual({ size: 12 * mebi })
    const over = await app.inject({ ...fileOf(12 * mebi + 1), url: '/large' })
    expectError(over, 413, /larger than/)
  })

  it('Requests, Limits: a body of three files over 20 MiB is 413', async () => {
    const third = new Uint8Array(7 * mebi)
    const answer = await app.inject({ url: '/form', multipart: { a: third, b: third, c: third } })
    expectError(answer, 413, /^The body is larger than 20971520 bytes\.$/)
  })

  it.each<[string, number, string, RegExp]>([
    ['21 files', 413, multipartOf('b', ...many(21, file('f', 'a'))), /more than 20 files/],
    ['101 fields', 413, multipartOf('b', ...many(101, field('a'))), /more than 100 fields/],
    ['a thousand fields', 413, multipartOf('b', ...many(1000, field('a'))), /100 fields/],
    ['a thousand files', 413, multipartOf('b', ...many(1000, file('f', 'a'))), /20 files/],
    ['a field over 1 MiB', 413, multipartOf('b', field('a', 'x'.repeat(mebi + 1))), /larger than/],
    [
      'a part header over 8 KiB',
      431,
      multipartOf('b', { head: `${headOf('a')}\r\nX-Long: ${'x'.repeat(8192)}`, body: '' }),
      /larger than 8192 bytes/,
    ],
    [
      'a file name of 600 KiB',
      431,
      multipartOf('b', file('f', '"'.repeat(600 * 1024))),
      /larger than 8192 bytes/,
    ],
  ])('Requests, Limits: %s is %d', async (_, status, body, message) => {
    expectError(await post(body), status, message)
  })

  it('Requests, Limits: 20 files and 100 fields are accepted', async () => {
    const parts = [...many(20, file('f', 'a')), ...many(100, field('a'))]
    expect((await post(multipartOf('b', ...parts))).status).toBe(200)
  })

  it('Requests, Limits: each can be set for the application', async () => {
    const limits = { file: '1kb', multipart: '4kb', files: 1, fields: 1, partHeader: 200 }
    await using strict = await bootstrap(UploadModule, { ...options, listen: false, limits })
    const statusOf = async (...parts: { head: string; body: string }[]) => {
      const body = multipartOf('b', ...parts)
      const headers = { 'content-type': type }
      return (await strict.inject({ method: 'POST', url: '/form', headers, body })).status
    }
    expect(await statusOf(file('f', 'a', 'x'.repeat(1024)), field('a'))).toBe(200)
    expect(await statusOf(file('f', 'a', 'x'.repeat(1025)))).toBe(413)
    expect(await statusOf(field('a', 'x'.repeat(4096)))).toBe(413)
    expect(await statusOf(file('f', 'a'), file('f', 'a'))).toBe(413)
    expect(await statusOf(field('a'), field('b'))).toBe(413)
    expect(await statusOf(file('f', 'a'.repeat(200)))).toBe(431)
  })

  it.each(['announced', 'in chunks'])(
    'Requests, Limits: the client of an upload over it, %s, reads the 413',
    async (how) => {
      const start = `--b\r\n${headOf('f', 'a')}\r\n\r\n`
      const bytes = Buffer.concat([Buffer.from(start), Buffer.alloc(11 * mebi)])
      const framing =
        how === 'announced' ? `Content-Length: ${bytes.length}` : 'Transfer-Encoding: chunked'
      const head = Buffer.from(
        `POST /form HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\n${framing}\r\n\r\n`,
      )
      const chunk = how === 'announced' ? '' : `${bytes.length.toString(16)}\r\n`
      const answer = await exchange(app.url, Buffer.concat([head, Buffer.from(chunk), bytes]))
      expect(answer).toMatch(/^HTTP\/1\.1 413 /)
      expect(answer).toMatch(/\{"error":"A file is larger than 10485760 bytes\."\}$/)
    },
  )
})

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
  ])('Uploads, name: %j is told as %j', async (sent, name) => {
    const answer = await post(multipartOf('b', file('photo', sent)))
    expect(answer.json()).toMatchObject({ files: { photo: { name } } })
  })

  it('Uploads, moveTo: a folder gets a fresh safe name with the cleaned extension', async () => {
    const hostile = multipartOf('b', file('photo', '../../evil.PNG', 'pixels'))
    const answer = await post(hostile, '/keep/folder')
    const { path, same } = answer.json() as { path: string; same: boolean }
    expect([answer.status, same]).toEqual([201, true])
    expect(path.slice(folder.length)).toMatch(/^\/[\da-f-]{36}\.png$/)
    expect(await readFile(path, 'utf8')).toBe('pixels')
  })

  it('Uploads, moveTo: any other target is the very path, which stays after the response', async () => {
    const answer = await post(photo, '/keep/kept.bin')
    expect(answer.json()).toEqual({ path: join(folder, 'kept.bin'), same: true })
    expect(await readdir(folder)).toContain('kept.bin')
    expect(await readFile(join(folder, 'kept.bin'), 'utf8')).toBe('pixels')
  })

  it('Uploads: an input that was left alone is no file', async () => {
    const answer = await post(multipartOf('b', file('photo', '', '')))
    expect(answer.json()).toMatchObject({ files: {} })
  })

  it('Uploads: they are removed when the handler fails', async () => {
    expectError(await post(photo, '/broken'), 409, /^1 taken\.$/)
  })

  it('Uploads: a handler that does not ask for them leaves them unread', async () => {
    expect((await post('no form at all', '/unread')).json()).toEqual({ unread: true })
  })

  it('Uploads: without a token the body is not looked at', async () => {
    expectError(await post('no form at all', '/secret'), 401, /^Unauthorized$/)
  })
})

describe('Uploads of a client that goes away', () => {
  const head = (url: string, length: number): string =>
    `POST ${url} HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n`

  it.each([
    ['in the first file', `--b\r\n${headOf('f', 'a')}\r\n\r\nhalf`],
    ['behind a file', `--b\r\n${headOf('f', 'a')}\r\n\r\nwhole\r\n--b\r\n`],
  ])('Uploads: aborted %s, no file stays and the process goes on', async (_, bytes) => {
    const socket = open(app.url)
    socket.write(head('/form', 9999) + bytes)
    await once(socket, 'connect')
    while (uploadFolders().length === 0) await turn()
    socket.resetAndDestroy()
    expect(await untilNoFolders()).toEqual([])
    expect((await post(photo)).status).toBe(200)
  })

  it('Requests, Times: an upload has its own, however its type is written', async () => {
    const times = { request: 60_000, upload: 40 }
    await using hurried = await bootstrap(UploadModule, { ...options, times })
    const text = head('/form', 9999).replace('multipart/form-data', 'Multipart/Form-Data')
    const answer = await exchange(hurried.url, `${text}--b\r\n${headOf('f', 'a')}\r\n\r\nhalf`)
    expect(answer).toMatch(/^HTTP\/1\.1 408 [^]*\{"error":"The body did not arrive in time\."\}$/)
  })

  it('Uploads: aborted while the handler works, no file stays', async () => {
    const socket = open(app.url)
    const working = new Promise<void>((resolve) => {
      entered = resolve
    })
    socket.write(head('/slow', photo.length) + photo)
    await working
    expect(uploadFolders()).toHaveLength(1)
    socket.resetAndDestroy()
    expect(await untilNoFolders()).toEqual([])
  })
})
