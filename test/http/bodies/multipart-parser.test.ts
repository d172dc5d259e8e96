import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { MultipartParser, readPartHeader } from '../../../src/http/bodies/multipart-parser.js'
import { headOf, multipartOf } from './body-server.js'
import { seed } from '../../random.js'
import { HttpError } from '../../../src/index.js'

const mebi = 1024 * 1024

/** The parts found in a body that arrives in chunks of this size. */
function findAll(boundary: string, body: Buffer, size: number): { kind: string; bytes?: Buffer }[] {
  const parser = new MultipartParser(boundary, 8192)
  const found: { kind: string; bytes?: Buffer }[] = []
  for (let start = 0; start < body.length; start += size) {
    found.push(...parser.take(body.subarray(start, start + size)))
  }
  parser.finish()
  return found
}

const browsers = '----WebKitFormBoundaryKbQ8fPzX1yVn0sEt'

function readAll(found: Iterable<unknown>): void {
  for (const { kind } of found as Iterable<{ kind: string }>) expect(kind).not.toBe('end')
}

const chunkSize = 16 * 1024

/** How many bytes the parser reads for a chunk of 16 KiB in a part. */
function countReads(boundary: string, text: string): number {
  const parser = new MultipartParser(boundary, 8192)
  readAll(parser.take(Buffer.from(`--${boundary}\r\n${headOf('f')}\r\n\r\n`)))
  let reads = 0
  const watched = (bytes: Buffer): Buffer =>
    new Proxy(bytes, {
      get(target, key) {
        if (typeof key === 'string' && /^\d/.test(key)) reads++
        if (key === 'subarray') {
          return (start: number, end?: number) => watched(target.subarray(start, end))
        }
        // A native search reads at most all bytes.
        if (key === 'indexOf') reads += target.length
        const value: unknown = Reflect.get(target, key, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  readAll(parser.take(watched(Buffer.alloc(chunkSize, text))))
  return reads
}

describe('MultipartParser', () => {
  it.each([
    ['a', 'a'],
    ['CR', '\r'],
    ['LF', '\n'],
    ['CR LF', '\r\n'],
    ['-', '-'],
    ['CR LF - -', '\r\n--'],
    ['the beginnings of the boundary', '\r\n--bound'],
    ['a boundary without its end', '\r\n--boundary-'],
    ['a boundary with CR behind it', '\r\n--boundary\r'],
    ['many beginnings', '\r\r\n\r\n-\r\n--\r\n--b'],
  ])('emits the bytes of a part once for each chunk: %s', (_what, text) => {
    const content = Buffer.alloc(2 * mebi, text)
    const body = Buffer.concat([
      Buffer.from(`--boundary\r\n${headOf('f', 'a')}\r\n\r\n`),
      content,
      Buffer.from('\r\n--boundary--'),
    ])
    for (const size of [64 * 1024, 65_537]) {
      const found = findAll('boundary', body, size)
      expect(found.length).toBeLessThanOrEqual(Math.ceil(body.length / size) + 3)
      const bytes = Buffer.concat(found.flatMap((one) => one.bytes ?? []))
      expect(bytes.equals(content)).toBe(true)
    }
  })

  it.each([
    ['CR', '\r'],
    ['LF', '\n'],
    ['CR LF', '\r\n'],
    ['-', '-'],
    ['CR LF - -', '\r\n--'],
    ['the beginnings of the boundary', `\r\n--${browsers.slice(0, 9)}`],
    ['longer beginnings of it', `\r\n--${browsers.slice(0, -1)}`],
    ['a boundary without its end', `\r\n--${browsers}x`],
  ])('scans as many bytes as for any other body, three times at most: %s', (_what, text) => {
    expect(countReads(browsers, text)).toBeLessThanOrEqual(3 * countReads(browsers, 'z'))
  })

  it.each(['b', 'boundary', '-'.repeat(70), 'b'.repeat(200)])(
    'reads each byte a few times at most, for any content: %s',
    (boundary) => {
      const begin = `\r\n--${boundary}`
      for (const text of [
        ...new Set(begin),
        begin.slice(1),
        `${begin.slice(0, -1)}\r`,
        `\n${begin}`,
        `\r\n--x${boundary}--`,
        `${begin.slice(0, 5)}x${begin.slice(5)}--`,
      ]) {
        expect(countReads(boundary, text)).toBeLessThanOrEqual(6 * chunkSize)
      }
    },
  )

  it('finds the same parts wherever chunks begin', () => {
    const texts = fc.array(
      fc.constantFrom('\r', '\n', '\r\n', '-', '--', 'b', '--b', '\r\n--b', '\r\n--bb', 'x', ' '),
      { maxLength: 12 },
    )
    const safe = texts
      .map((pieces) => pieces.join(''))
      .filter((text) => !/\r\n--b(?:\r\n|--)/.test(`\r\n${text}\r\n`))
    fc.assert(
      fc.property(
        fc.array(safe, { maxLength: 4 }),
        fc.integer({ min: 1, max: 40 }),
        (all, size) => {
          const body = Buffer.from(
            multipartOf('b', ...all.map((text) => ({ head: headOf('a'), body: text }))),
            'latin1',
          )
          const values: string[] = []
          let current = ''
          for (const { kind, bytes } of findAll('b', body, size)) {
            if (kind === 'head') current = ''
            else if (kind === 'end') values.push(current)
            else current += bytes?.toString('latin1') ?? ''
          }
          expect(values).toEqual(all)
        },
      ),
      { numRuns: 400, seed },
    )
  })
})

/** As the parser passes it: one character per byte. */
function read(disposition: string, type?: string) {
  const value = Buffer.from(disposition).toString('latin1')
  const headers = { 'content-disposition': value }
  return readPartHeader(type === undefined ? headers : { ...headers, 'content-type': type })
}

describe('readPartHeader', () => {
  it.each([
    ['form-data; name="a"', 'a', undefined],
    ['Form-Data;name=a', 'a', undefined],
    ['form-data; name="a"; filename="b.txt"', 'a', 'b.txt'],
    ['form-data; filename=b.txt; name=a', 'a', 'b.txt'],
    ['form-data; name=""', '', undefined],
    ['form-data; name="a"; filename=""', 'a', ''],
    ['form-data; name="größe"; filename="日本 😀.png"', 'größe', '日本 😀.png'],
    ['form-data; name="a%22b%0D%0Ac%0ad"', 'a"b\r\nc\nd', undefined],
    ['form-data; name="100%25"', '100%25', undefined],
    ['form-data; name="a\\"b"', 'a"b', undefined],
    ['form-data; name="a"; filename="C:\\"', 'a', 'C:\\'],
    ['form-data; name="a"; filename="x; name=evil"', 'a', 'x; name=evil'],
    ['form-data; name="a"; filename="..&#0047;x"', 'a', '..&#0047;x'],
    ['form-data; name="a"; filename="f"; filename*=utf-8\'\'%e4', 'a', 'f'],
  ])('reads %s', (disposition, name, fileName) => {
    expect(read(disposition)).toEqual({ name, fileName, type: 'application/octet-stream' })
  })

  it.each([
    ['Image/PNG; q=1', 'image/png'],
    ['not a type', 'application/octet-stream'],
  ])('reads the media type from %j', (type, essence) => {
    expect(read('form-data; name="a"; filename="b"', type).type).toBe(essence)
  })

  it.each([
    ['', 'A part of the body is not form-data.'],
    ['attachment; name="a"', 'A part of the body is not form-data.'],
    ['form-dataX; name="a"', 'A part of the body is not form-data.'],
    ['form-data', 'A part of the body has no name.'],
    ['form-data; filename="a"', 'A part of the body has no name.'],
    ['form-data; name="a', 'A part of the body has a malformed Content-Disposition.'],
    ['form-data; name="a"; name="b"', 'A part of the body has a malformed Content-Disposition.'],
    ['form-data; name="a" x', 'A part of the body has a malformed Content-Disposition.'],
    [`form-data; name="${'n'.repeat(201)}"`, "A field's name is longer than 200 characters."],
  ])('returns 400 for %j', (disposition, message) => {
    expect(() => read(disposition)).toThrow(
      expect.objectContaining({ status: 400, code: 'MALFORMED_MULTIPART', message }),
    )
  })

  it('returns 400 for a name that is not UTF-8', () => {
    const headers = { 'content-disposition': 'form-data; name="\xff"' }
    expect(() => readPartHeader(headers)).toThrow('A name in the body is not valid UTF-8.')
  })

  it.each(['__proto__', 'constructor', 'prototype'])('returns 400 for the name %s', (name) => {
    expect(() => read(`form-data; name="${name}"`)).toThrow(
      expect.objectContaining({ status: 400, code: 'PROTOTYPE_KEY' }),
    )
  })

  it('throws only HttpError, whatever is sent', () => {
    const pieces = fc.constantFrom('form-data', ';', ' name=', 'filename=', '"', '\\', 'ÿ', '%22')
    const texts = fc.array(pieces, { maxLength: 30 }).map((list) => list.join(''))
    fc.assert(
      fc.property(texts, (text) => {
        try {
          readPartHeader({ 'content-disposition': text })
        } catch (error) {
          expect(error).toBeInstanceOf(HttpError)
        }
      }),
      { seed },
    )
  })

  it('is linear in the length of the header', () => {
    const header = `form-data; name="a"${'; filename="'.repeat(20_000)}`
    expect(() => read(header)).toThrow('malformed Content-Disposition')
  })
})
