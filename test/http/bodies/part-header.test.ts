import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { HttpError } from '../../../src/index.js'
import { readPartHeader } from '../../../src/http/bodies/multipart-parser.js'
import { seed } from '../../random.js'

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
