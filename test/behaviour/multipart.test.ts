/** Source: decisions, Requests. Titles begin with the statement that they check. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import type { Application, InjectRequest } from '../../src/index.js'
import { exchange } from '../bootstrap/raw-client.js'
import { headOf, multipartOf, untilNoFolders } from '../http/bodies/body-server.js'
import { expectError } from './error-responses.js'
import { field, file, formType, photo, post, startUploads } from './upload-application.js'

let app: Application

beforeAll(async () => {
  app = await startUploads()
})
afterAll(() => app.close())
// After every request no temporary file is left.
afterEach(async () => {
  expect(await untilNoFolders()).toEqual([])
})

const many = <Part>(count: number, part: Part): Part[] => Array.from({ length: count }, () => part)
const mebi = 1024 * 1024

describe('Requests, multipart', () => {
  it('a repeated field is a list, and files are separate from fields', async () => {
    const answer = await app.inject({
      url: '/form',
      multipart: toForm([
        ['title', 'Grüße'],
        ['tag', 'a'],
        ['tag', 'b'],
        ['photo', new File(['pixels'], 'a.csv', { type: 'text/csv' })],
        ['page', new File(['1'], '1.txt', { type: 'text/plain' })],
        ['page', new File(['22'], '2.txt', { type: 'text/plain' })],
      ]),
    })
    expect(answer.json()).toEqual({
      body: { title: 'Grüße', tag: ['a', 'b'] },
      files: {
        photo: { name: 'a.csv', type: 'text/csv', size: 6 },
        page: [
          { name: '1.txt', type: 'text/plain', size: 1 },
          { name: '2.txt', type: 'text/plain', size: 2 },
        ],
      },
      folders: 1,
    })
  })

  it('a form without files creates no folder', async () => {
    const answer = await app.inject({ url: '/form', multipart: { a: '1' } })
    expect(answer.json()).toEqual({ body: { a: '1' }, files: {}, folders: 0 })
  })

  it('a file can be read as bytes and as a stream', async () => {
    expect((await post(app, photo, '/content')).json()).toEqual({
      bytes: 'pixels',
      streamed: 'pixels',
    })
  })

  it('fields are converted and validated if a class is declared', async () => {
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
  ])('%s is 400', async (_, body, message) => {
    expectError(await post(app, body), 400, new RegExp(message))
  })

  it.each([
    'multipart/form-data',
    'multipart/form-data; boundary=""',
    'multipart/form-data; boundary=',
    'multipart/form-data; boundary',
    'multipart/form-data; boundary="a\u00e4"',
  ])('%s has no valid boundary and is 400', async (contentType) => {
    expectError(await post(app, photo, '/form', contentType), 400, /no valid boundary/)
  })

  it('other multipart types are passed as bytes', async () => {
    const answer = await post(app, photo, '/form', 'multipart/mixed; boundary=b')
    expect(answer.json()).toMatchObject({ files: {}, folders: 0 })
    expectError(await post(app, photo, '/picture', 'multipart/mixed; boundary=b'), 415, /^Send /)
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

  it('Requests, Limits: a file of 10 MiB is stored, and one more byte is 413', async () => {
    expect((await app.inject(fileOf(10 * mebi))).json()).toMatchObject({
      files: { photo: { size: 10 * mebi } },
    })
    const over = await app.inject(fileOf(10 * mebi + 1))
    expectError(over, 413, /^A file is larger than 10485760 bytes\.$/)
  })

  it("Requests, Limits: a route's limit raises the file limit too", async () => {
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
    expectError(await post(app, body), status, message)
  })

  it('Requests, Limits: 20 files and 100 fields are accepted', async () => {
    const parts = [...many(20, file('f', 'a')), ...many(100, field('a'))]
    expect((await post(app, multipartOf('b', ...parts))).status).toBe(200)
  })

  it('Requests, Limits: the application can set each of them', async () => {
    const limits = { file: '1kb', multipart: '4kb', files: 1, fields: 1, partHeader: 200 }
    await using strict = await startUploads({ listen: false, limits })
    const statusOf = async (...parts: { head: string; body: string }[]) => {
      const body = multipartOf('b', ...parts)
      const headers = { 'content-type': formType }
      return (await strict.inject({ method: 'POST', url: '/form', headers, body })).status
    }
    expect(await statusOf(file('f', 'a', 'x'.repeat(1024)), field('a'))).toBe(200)
    expect(await statusOf(file('f', 'a', 'x'.repeat(1025)))).toBe(413)
    expect(await statusOf(field('a', 'x'.repeat(4096)))).toBe(413)
    expect(await statusOf(file('f', 'a'), file('f', 'a'))).toBe(413)
    expect(await statusOf(field('a'), field('b'))).toBe(413)
    expect(await statusOf(file('f', 'a'.repeat(200)))).toBe(431)
  })

  it('Requests, Limits: a file limit above the multipart limit raises it, unless both are set', async () => {
    await using lifted = await startUploads({ listen: false, limits: { file: '22mb' } })
    const answer = await lifted.inject(fileOf(22 * mebi))
    expect(answer.json()).toMatchObject({ files: { photo: { size: 22 * mebi } } })
    const limits = { file: '4kb', multipart: '2kb' }
    await using limited = await startUploads({ listen: false, limits })
    expectError(
      await limited.inject(fileOf(3 * 1024)),
      413,
      /^The body is larger than 2048 bytes\.$/,
    )
  })

  it.each(['announced', 'in chunks'])(
    'Requests, Limits: the client can read the 413 for a large upload, %s',
    async (how) => {
      const start = `--b\r\n${headOf('f', 'a')}\r\n\r\n`
      const bytes = Buffer.concat([Buffer.from(start), Buffer.alloc(11 * mebi)])
      const framing =
        how === 'announced' ? `Content-Length: ${bytes.length}` : 'Transfer-Encoding: chunked'
      const head = Buffer.from(
        `POST /form HTTP/1.1\r\nHost: x\r\nContent-Type: ${formType}\r\n${framing}\r\n\r\n`,
      )
      const chunk = how === 'announced' ? '' : `${bytes.length.toString(16)}\r\n`
      const answer = await exchange(app.url, Buffer.concat([head, Buffer.from(chunk), bytes]))
      expect(answer).toMatch(/^HTTP\/1\.1 413 /)
      expect(answer).toMatch(
        /\{"error":"A file is larger than 10485760 bytes\.","code":"PAYLOAD_TOO_LARGE"\}$/,
      )
    },
  )
})
