import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { createHash } from 'node:crypto'
import { lstatSync, readdirSync } from 'node:fs'
import { request as send } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setImmediate as eventLoopTick } from 'node:timers/promises'
import { HttpError, type UploadedFile } from '../../../src/index.js'
import type { ServerRequest } from '../../../src/http/server-request.js'
import { BodyServer, headOf, multipartOf, untilNoFolders, uploadFolders } from './body-server.js'
import { seed } from '../../random.js'

const type = 'multipart/form-data; boundary=b'
const field = (name: string, body: string) => ({ head: headOf(name), body })
const file = (name: string, fileName: string, body: string, media = 'text/plain') => ({
  head: `${headOf(name, fileName)}\r\nContent-Type: ${media}`,
  body,
})
const uploaded = (name: string, size: number, media = 'text/plain') => ({ name, type: media, size })

/** The contents of the request's files, as text with one character per byte. */
async function contentsOf({ files }: ServerRequest): Promise<Record<string, string | string[]>> {
  const contents: Record<string, string | string[]> = {}
  const read = async (upload: UploadedFile) => (await upload.bytes()).toString('latin1')
  for (const [name, value] of Object.entries(files)) {
    contents[name] = Array.isArray(value) ? await Promise.all(value.map(read)) : await read(value)
  }
  return contents
}

describe('multipart bodies', () => {
  it('return a single value as a scalar and repeated values as a list, for fields and files', async () => {
    await using server = await BodyServer.start()
    const sent = multipartOf(
      'b',
      field('one', '1'),
      file('photo', 'a.txt', 'A'),
      field('many', 'x'),
      file('docs', 'b.txt', 'BB'),
      field('many', 'ÿ😀'),
      file('docs', 'c.pdf', 'CCC', 'Application/PDF; x=1'),
    )
    const response = await server.post(sent, type)
    expect(response).toEqual({
      status: 200,
      body: {
        kind: 'object',
        body: { one: '1', many: ['x', 'ÿ😀'] },
        files: {
          photo: uploaded('a.txt', 1),
          docs: [uploaded('b.txt', 2), uploaded('c.pdf', 3)],
        },
      },
    })
  })

  it('store names in maps without a prototype', async () => {
    await using server = await BodyServer.start()
    await server.post(
      multipartOf('b', field('toString', 'x'), file('hasOwnProperty', 'f', 'y')),
      type,
    )
    const { request } = await server.next()
    expect(Object.getPrototypeOf(request.body)).toBeNull()
    expect(Object.getPrototypeOf(request.files)).toBeNull()
  })

  it.each([
    ['no part', '--b--\r\n', {}, {}],
    ['no part and no line end', '--b--', {}, {}],
    [
      'a preamble and an epilogue',
      `hello\r\n${multipartOf('b', field('a', '1'))}bye`,
      { a: '1' },
      {},
    ],
    ['an empty value', multipartOf('b', field('a', '')), { a: '' }, {}],
    ['an empty file', multipartOf('b', file('f', 'e.txt', '')), {}, { f: uploaded('e.txt', 0) }],
    ['a file input left alone', multipartOf('b', file('f', '', '')), {}, {}],
    [
      'a file without a name',
      multipartOf('b', file('f', '', 'x')),
      {},
      { f: uploaded('unnamed', 1) },
    ],
    [
      'a file without a type',
      multipartOf('b', { head: headOf('f', 'a.bin'), body: 'x' }),
      {},
      { f: uploaded('a.bin', 1) },
    ],
    [
      'a field with a type',
      multipartOf('b', { head: `${headOf('a')}\r\nContent-Type: application/json`, body: '{}' }),
      { a: '{}' },
      {},
    ],
    [
      'a field in base64',
      multipartOf('b', {
        head: `${headOf('a')}\r\nContent-Transfer-Encoding: base64`,
        body: 'aGk=',
      }),
      { a: 'hi' },
      {},
    ],
    [
      'boundary look-alikes',
      multipartOf('b', field('a', '\r\n--\r\n-b\r\n--c')),
      { a: '\r\n--\r\n-b\r\n--c' },
      {},
    ],
  ])('are read: %s', async (_what, sent, body, files) => {
    await using server = await BodyServer.start()
    const response = await server.post(sent, type)
    expect([response.status, response.body.body, response.body.files]).toEqual([200, body, files])
  })

  it('are read byte by byte', async () => {
    await using server = await BodyServer.start({ handle: contentsOf })
    const sent = Buffer.from(multipartOf('b', field('größe', 'ÿ'), file('ü', 'ä.txt', 'é')))
    const socket = server.connect()
    socket.setNoDelay(true)
    socket.write(
      `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`,
    )
    for (const byte of sent) socket.write(Buffer.from([0x31, 13, 10, byte, 13, 10]))
    socket.write('0\r\n\r\n')
    const { request } = await server.next()
    expect(request.body).toEqual(Object.assign(Object.create(null), { größe: 'ÿ' }))
    expect((request.files['ü'] as UploadedFile).name).toBe('ä.txt')
    socket.destroy()
    expect(await untilNoFolders()).toEqual([])
  })

  it('return any names and bytes as a browser writes them', async () => {
    const requests: ServerRequest[] = []
    const handle = async (request: ServerRequest) => {
      requests.push(request)
      return contentsOf(request)
    }
    await using server = await BodyServer.start({ handle })
    // Percent escapes are ambiguous in the output of browsers: %22 may be a quote.
    const names = fc
      .string({ unit: 'grapheme', maxLength: 20 })
      .filter((name) => !/%|\\$|^(__proto__|constructor|prototype|formToken)$/.test(name))
    const lines = fc.string({ unit: 'grapheme', maxLength: 50 })
    const bytes = fc.uint8Array({ maxLength: 300 })
    const forms = fc.record({
      fields: fc.array(fc.tuple(names, lines), { maxLength: 5 }),
      files: fc.array(fc.tuple(names, bytes), { maxLength: 4 }),
    })
    await fc.assert(
      fc.asyncProperty(forms, async ({ fields, files }) => {
        const form = new FormData()
        for (const [name, value] of fields) form.append(name, value)
        for (const [name, value] of files) form.append(name, new Blob([value]), 'file.bin')
        const response = await fetch(server.url, { method: 'POST', body: form })
        expect(response.status).toBe(200)
        const inLines = (text: string) => text.replace(/\r?\n|\r/g, '\r\n')
        const expected = toMap(fields.map(([name, value]) => [inLines(name), inLines(value)]))
        expect({ ...(requests.pop()?.body as object) }).toEqual(expected)
        const contents = files.map(([name, value]) => [
          inLines(name),
          Buffer.from(value).toString('latin1'),
        ])
        expect(await response.json()).toEqual(toMap(contents as [string, string][]))
      }),
      { numRuns: 60, seed },
    )
    expect(await untilNoFolders()).toEqual([])
  })

  it('return formToken apart from the fields', async () => {
    await using server = await BodyServer.start()
    const response = await server.post(
      multipartOf('b', field('a', '1'), field('formToken', 't')),
      type,
    )
    expect(response.body).toMatchObject({ body: { a: '1' }, formToken: 't' })
  })
})

describe('uploads on disk', () => {
  it('are stored in a private folder, under generated names', async () => {
    const folderStates: unknown[] = []
    const handle = ({ files }: ServerRequest) => {
      const { path } = files.f as UploadedFile
      const folder = dirname(path)
      folderStates.push(
        lstatSync(folder).mode & 0o777,
        dirname(folder) === tmpdir(),
        readdirSync(folder),
      )
      return { path }
    }
    await using server = await BodyServer.start({ handle })
    const sent = multipartOf('b', file('f', '../../etc/passwd', 'x'))
    const { path } = (await server.post(sent, type)).body
    expect(folderStates).toEqual([0o700, true, [path.slice(dirname(path).length + 1)]])
    expect(path).toMatch(/\/[0-9a-f-]{36}$/)
  })

  it('are deleted after the response, unless they were moved', async () => {
    const target = join(tmpdir(), `filigree-kept-${process.pid}/`)
    const handle = async ({ files }: ServerRequest) => ({
      moved: await (files.a as UploadedFile).moveTo(target),
    })
    await using server = await BodyServer.start({ handle })
    const sent = multipartOf('b', file('a', 'a.TXT', 'A'), file('b', 'b.txt', 'B'))
    const { body } = await server.post(sent, type)
    expect(await untilNoFolders()).toEqual([])
    expect(readdirSync(target).map((name) => join(target, name))).toEqual([body.moved])
    expect(body.moved).toMatch(/\.txt$/)
    const { rm } = await import('node:fs/promises')
    await rm(target, { recursive: true })
  })

  it('stream: 50 MB arrive complete, no faster than the disk writes', async () => {
    const mebi = 1024 * 1024
    let release: (() => void) | undefined
    const released = new Promise<void>((resolve) => (release = resolve))
    const handle = async ({ files }: ServerRequest) => {
      const hash = createHash('sha256')
      await pipeline((files.f as UploadedFile).stream(), hash)
      return { hash: hash.digest('hex') }
    }
    const limits = { file: 60 * mebi, multipart: 60 * mebi }
    await using server = await BodyServer.start({ limits, handle, beforeFirstFile: () => released })
    const expectedHash = createHash('sha256')
    const block = Buffer.alloc(mebi)
    function* body() {
      yield `--b\r\n${headOf('f', 'big')}\r\n\r\n`
      for (let index = 0; index < 50; index++) {
        block.fill(index)
        expectedHash.update(block)
        yield Buffer.from(block)
      }
      yield '\r\n--b--\r\n'
    }
    const incoming = server.arrival()
    const outgoing = send(server.url, { method: 'POST', headers: { 'content-type': type } })
    const response = new Promise<string>((resolve, reject) => {
      outgoing.on('error', reject).on('response', (response) => {
        response.setEncoding('utf8').on('data', resolve)
      })
    })
    const sending = pipeline(Readable.from(body()), outgoing)
    const { socket } = (await incoming) as unknown as { socket: { bytesRead: number } }
    // While reading is paused, the socket receives no more than the buffers hold.
    for (let count = 0; count < 500; count++) await eventLoopTick()
    expect(socket.bytesRead).toBeLessThan(mebi)
    release?.()
    await sending
    expect(JSON.parse(await response)).toEqual({ hash: expectedHash.digest('hex') })
    expect(await untilNoFolders()).toEqual([])
  })
})

describe('beforeFirstFile', () => {
  const token = field('formToken', 't')
  const upload = file('f', 'a.txt', 'A')

  it.each([
    ['the token is before the file', [token, upload], 't'],
    ['the token is after the file', [upload, token], undefined],
    ['the token comes twice', [token, token, upload], undefined],
    ['there are only fields', [field('a', '1'), token], 't'],
    ['there are two files', [token, upload, upload], 't'],
  ])('is called once when %s', async (_what, parts, formToken) => {
    const calls: unknown[] = []
    const beforeFirstFile = (passedToken: string | undefined) => {
      calls.push(passedToken, uploadFolders())
    }
    await using server = await BodyServer.start({ beforeFirstFile })
    expect((await server.post(multipartOf('b', ...parts), type)).status).toBe(200)
    expect(calls).toEqual([formToken, []])
  })

  it.each([
    ['synchronously', () => fail()],
    ['asynchronously', async () => eventLoopTick().then(fail)],
  ])('refuses %s with nothing on the disk', async (_what, beforeFirstFile) => {
    await using server = await BodyServer.start({ beforeFirstFile })
    const response = await server.post(multipartOf('b', upload, token), type)
    expect(response).toEqual({
      status: 401,
      body: { error: 'Unauthorized', code: 'UNAUTHENTICATED' },
    })
    expect(await server.next()).toMatchObject({ folders: [], request: { files: {} } })
    expect(uploadFolders()).toEqual([])
  })

  function fail(): never {
    throw new HttpError(401)
  }
})

function toMap(pairs: [string, string][]): Record<string, string | string[]> {
  const map = new Map<string, string[]>()
  for (const [name, value] of pairs) map.set(name, [...(map.get(name) ?? []), value])
  return Object.fromEntries(
    [...map].map(([name, list]) => [name, list.length > 1 ? list : list[0]!]),
  )
}
