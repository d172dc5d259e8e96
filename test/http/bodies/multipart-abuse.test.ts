import { describe, expect, it } from '@jest/globals'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setImmediate as eventLoopTick } from 'node:timers/promises'
import {
  BodyServer,
  headOf,
  multipartOf,
  untilNoFolders,
  uploadFolders,
  type BodyServerOptions,
} from './body-server.js'

const type = 'multipart/form-data; boundary=b'
const field = (name: string, body: string) => ({ head: headOf(name), body })
const file = (name: string, fileName: string, body = 'x') => ({
  head: headOf(name, fileName),
  body,
})
const many = <Part>(count: number, part: Part): Part[] => Array.from({ length: count }, () => part)
const part = (head: string, body = 'x') => multipartOf('b', { head, body })

/** Sends a body. @returns status and code, after checks that the process still works and no file is left */
async function refusalOf(
  sent: string | Uint8Array,
  options: BodyServerOptions = {},
  header = type,
) {
  await using server = await BodyServer.start(options)
  const response = await server.post(sent, header)
  const { folders } = await server.next()
  // No folder was left when reading failed, and none was created later.
  for (let count = 0; count < 20; count++) await eventLoopTick()
  expect([...folders, ...uploadFolders()]).toEqual([])
  const after = await server.post(part(headOf('a')), type)
  expect(after.status).toBe(200)
  return [response.status, response.body.code, response.body.error]
}

describe('malformed multipart bodies', () => {
  const complete = multipartOf('b', field('a', '1'), file('f', 'a.txt', 'content'))
  const malformed = [400, 'MALFORMED_MULTIPART']

  it.each([
    ['no boundary at all', 'hello', 'The multipart body is malformed.'],
    ['another boundary', multipartOf('c', field('a', '1')), 'The multipart body is malformed.'],
    ['a part without a head', '--b\r\n\r\nx\r\n--b--', 'A part of the body is not form-data.'],
    ['a part that is not form-data', part('X-A: 1'), 'A part of the body is not form-data.'],
    ['a nameless part', part('Content-Disposition: form-data'), 'A part of the body has no name.'],
    [
      'a header without a colon',
      part('Content-Disposition'),
      'A part of the body is not form-data.',
    ],
    ['a header of other characters', part('X_A: 1'), 'The multipart body is malformed.'],
    ['a header without a name', part(': 1'), 'The multipart body is malformed.'],
    [
      'a header that is folded',
      part(`${headOf('a')};\r\n filename="x"`),
      'The multipart body is malformed.',
    ],
    ['a lone CR in a header', part(`${headOf('a')}\rX: 1`), 'The multipart body is malformed.'],
    [
      'quoted-printable',
      part(`${headOf('a')}\r\nContent-Transfer-Encoding: quoted-printable`),
      'The multipart body is malformed.',
    ],
    [
      'an unknown transfer encoding',
      part(`${headOf('f', 'a')}\r\nContent-Transfer-Encoding: rot13`),
      'The multipart body is malformed.',
    ],
    [
      'a name that is not UTF-8',
      Buffer.from(part(headOf('ÿ')), 'latin1'),
      'A name in the body is not valid UTF-8.',
    ],
  ])('return 400 for %s', async (_what, sent, message) => {
    expect(await refusalOf(sent)).toEqual([...malformed, message])
  })

  it('return 400 for a field that is not UTF-8', async () => {
    const sent = Buffer.from(part(headOf('a'), 'ÿ'), 'latin1')
    expect((await refusalOf(sent)).slice(0, 2)).toEqual([400, 'INVALID_UTF8'])
  })

  it.each(['__proto__', 'constructor', 'prototype'])('return 400 for the name %s', async (name) => {
    for (const head of [headOf(name), headOf(name, 'a.txt')]) {
      expect((await refusalOf(part(head))).slice(0, 2)).toEqual([400, 'PROTOTYPE_KEY'])
    }
    expect(({} as Record<string, unknown>).x).toBeUndefined()
  })

  it.each([
    'multipart/form-data',
    'multipart/form-data; boundary=""',
    'multipart/form-data; boundary="a\\"b"',
    `multipart/form-data; boundary=${'b'.repeat(201)}`,
  ])('return 400 for %s', async (header) => {
    const response = await refusalOf(complete, {}, header)
    expect(response).toEqual([...malformed, 'The Content-Type has no valid boundary.'])
  })

  it('return 400 for a body that is cut off at any position', async () => {
    await using server = await BodyServer.start()
    const last = complete.lastIndexOf('--')
    for (let length = 1; length <= last; length++) {
      const { status, body } = await server.post(complete.slice(0, length), type)
      expect([length, status, body.code]).toEqual([length, ...malformed])
      expect((await server.next()).folders).toEqual([])
    }
    expect(uploadFolders()).toEqual([])
  })
})

describe('oversized multipart bodies', () => {
  it.each<[string, string, BodyServerOptions['limits'], string]>([
    [
      'a thousand fields',
      multipartOf('b', ...many(1000, field('a', '1'))),
      {},
      'The form has more than 100 fields.',
    ],
    [
      'a thousand files',
      multipartOf('b', ...many(1000, file('f', 'a'))),
      {},
      'The form has more than 20 files.',
    ],
    [
      'a thousand empty inputs',
      multipartOf('b', ...many(1000, file('f', '', ''))),
      {},
      'The form has more than 20 files.',
    ],
    [
      'more than one file',
      multipartOf('b', ...many(2, file('f', 'a'))),
      { files: 1 },
      'The form has more than 1 files.',
    ],
    [
      'a file over its limit',
      part(headOf('f', 'a'), 'x'.repeat(1001)),
      { file: 1000 },
      'A file is larger than 1000 bytes.',
    ],
    [
      'a second file over its limit',
      multipartOf('b', file('f', 'a'), file('f', 'b', 'x'.repeat(99_000))),
      { file: 1000 },
      'A file is larger than 1000 bytes.',
    ],
    [
      'a field over its limit',
      part(headOf('a'), 'x'.repeat(1001)),
      { body: 1000 },
      'The text in the form is larger than 1000 bytes.',
    ],
    [
      'fields over their limit together',
      multipartOf('b', ...many(2, field('a', 'x'.repeat(600)))),
      { body: 1000 },
      'The text in the form is larger than 1000 bytes.',
    ],
    [
      'an announced body over its limit',
      part(headOf('a'), 'x'.repeat(200)),
      { multipart: 200 },
      'The body is larger than 200 bytes.',
    ],
  ])('return 413 for %s', async (_what, sent, limits, message) => {
    expect(await refusalOf(sent, { limits })).toEqual([413, 'PAYLOAD_TOO_LARGE', message])
  })

  it('are accepted up to exactly the limits', async () => {
    await using server = await BodyServer.start({
      limits: { file: 1000, body: 1000, files: 2, fields: 1 },
    })
    const large = file('f', 'a', 'x'.repeat(1000))
    const sent = multipartOf('b', large, field('a', 'y'.repeat(1000)), large)
    expect((await server.post(sent, type)).status).toBe(200)
  })

  it('return 413 for endless chunks, and leave nothing behind', async () => {
    await using server = await BodyServer.start({ limits: { multipart: 300_000 } })
    const socket = server.connect()
    socket.on('error', () => undefined)
    socket.write(
      `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`,
    )
    const chunk = (text: string) => socket.write(`${text.length.toString(16)}\r\n${text}\r\n`)
    chunk(`--b\r\n${headOf('f', 'a')}\r\n\r\n`)
    for (let index = 0; index < 5; index++) chunk('x'.repeat(65_536))
    const { failure, folders, request } = await server.next()
    expect(failure).toMatchObject({ status: 413, message: 'The body is larger than 300000 bytes.' })
    expect(folders).toEqual([])
    expect(request.incoming.listenerCount('data')).toBe(0)
    socket.destroy()
  })
})

describe('endless part headers', () => {
  const filler = 'filename='.repeat(18_000)

  it.each([
    ['one header of 160 kB', part(`X: ${filler}`)],
    ['a file name of 160 kB', part(headOf('f', filler))],
    [
      'quotes that never close',
      part(`Content-Disposition: form-data; ${'filename="'.repeat(16_000)}`),
    ],
    ['160 kB without a colon', part('X'.repeat(160_000))],
    ['headers without number', part(`${'a: 1\r\n'.repeat(30_000)}${headOf('a')}`)],
    ['a header that never ends', `--b\r\nX: ${filler}`],
  ])('return 431 for %s', async (_what, sent) => {
    const response = await refusalOf(sent)
    const message = "A part's header is larger than 8192 bytes."
    expect(response).toEqual([431, 'REQUEST_HEADER_FIELDS_TOO_LARGE', message])
  })

  it('return 431 before the header is parsed', async () => {
    // A pattern with backtracking takes minutes for this one.
    const quotes = 'filename="x" '.repeat(400_000)
    expect((await refusalOf(part(`X: ${quotes}`)))[0]).toBe(431)
  })

  it('are counted for each part', async () => {
    await using server = await BodyServer.start()
    const head = `${headOf('a')}\r\nX: ${'x'.repeat(8000)}`
    const sent = multipartOf('b', ...many(50, { head, body: '1' }))
    expect((await server.post(sent, type)).status).toBe(200)
  })
})

describe('names of uploaded files', () => {
  it.each([
    ['../../etc/passwd', 'passwd'],
    ['C:\\Windows\\evil.exe', 'evil.exe'],
    ['..', 'unnamed'],
    ['a&#0047;b&#0000;.txt', 'a&#0047;b&#0000;.txt'],
    ['a\0b\x07.txt', 'ab.txt'],
    ['%0d%0aSet-Cookie: x', 'Set-Cookie: x'],
    ['photo\u202egnp.exe', 'photognp.exe'],
  ])('%j becomes %j', async (sent, name) => {
    await using server = await BodyServer.start()
    const response = await server.post(part(headOf('f', sent)), type)
    expect(response.body.files.f.name).toBe(name)
  })
})

describe('a client that goes away', () => {
  const start = `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: ${type}\r\nContent-Length: 9999\r\n\r\n`

  it.each([
    ['before the first part', ''],
    ['in a boundary', '--'],
    ['in a header', `--b\r\n${headOf('f', 'a').slice(0, 30)}`],
    ['in a field', `--b\r\n${headOf('a')}\r\n\r\nx`],
    ['in a file', `--b\r\n${headOf('f', 'a')}\r\n\r\nx`],
    ['after a file', `--b\r\n${headOf('f', 'a')}\r\n\r\nx\r\n--b\r\n`],
    [
      'in the second file',
      `--b\r\n${headOf('f', 'a')}\r\n\r\nx\r\n--b\r\n${headOf('f', 'a')}\r\n\r\nx`,
    ],
  ])('%s leaves no file behind', async (_what, bytes) => {
    await using server = await BodyServer.start()
    const socket = server.connect()
    const reading = server.next()
    socket.write(start + bytes)
    await once(socket, 'ready')
    // By then a file has been opened, if there is one.
    const hasFile = bytes.includes('\r\n\r\n') && bytes.includes('filename')
    while (hasFile && uploadFolders().length === 0) await eventLoopTick()
    expect(uploadFolders()).toHaveLength(hasFile ? 1 : 0)
    socket.resetAndDestroy()
    const { failure, folders } = await reading
    expect(failure).toMatchObject({ status: 400, code: 'CLIENT_GONE' })
    expect(folders).toEqual([])
    expect(await untilNoFolders()).toEqual([])
  })

  it('while the gate decides leaves no file behind', async () => {
    const sockets: Socket[] = []
    const beforeFirstFile = async () => {
      sockets[0]?.destroy()
      for (let count = 0; count < 50; count++) await eventLoopTick()
    }
    await using server = await BodyServer.start({ beforeFirstFile })
    const socket = server.connect()
    sockets.push(socket)
    const reading = server.next()
    socket.write(`${start}--b\r\n${headOf('f', 'a')}\r\n\r\nx`)
    expect((await reading).failure).toMatchObject({ code: 'CLIENT_GONE' })
    expect(await untilNoFolders()).toEqual([])
  })

  it('after the upload, before the response, has its files removed', async () => {
    const sockets: Socket[] = []
    const handle = async () => {
      expect(uploadFolders()).toHaveLength(1)
      sockets[0]?.destroy()
      return untilNoFolders()
    }
    await using server = await BodyServer.start({ handle })
    const socket = server.connect()
    sockets.push(socket)
    const sent = part(headOf('f', 'a'))
    socket.write(start.replace('9999', String(sent.length)) + sent)
    const { failure } = await server.next()
    expect(failure).toBeUndefined()
    expect(await untilNoFolders()).toEqual([])
  })
})
