/** The media type of a body, and JSON. Source: decisions, Requests; RFC 8259; RFC 9110 §8.3. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { HttpError } from '../../../src/index.js'
import { readMediaType } from '../../../src/http/bodies/media-type.js'
import { readJson } from '../../../src/http/bodies/json.js'
import { seed } from '../../random.js'

function read(text: string): unknown {
  return readJson(Buffer.from(text))
}

function refusalOf(bytes: Buffer | string): HttpError {
  try {
    readJson(Buffer.from(bytes))
  } catch (error) {
    if (error instanceof HttpError) return error
    throw error
  }
  throw new Error('It was accepted.')
}

const nested = (levels: number, open = '[', close = ']') =>
  open.repeat(levels) + (open === '{"a":' ? '1' : '') + close.repeat(levels)

describe('readJson', () => {
  it.each(['{"a":[1,2.5,"x",null,true]}', '[]', '"text"', '0', 'null', ' {"a" : 1}\n'])(
    'reads %j',
    (text) => {
      expect(read(text)).toEqual(JSON.parse(text))
    },
  )

  it('reads any JSON value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
        const text = JSON.stringify(value)
        fc.pre(!/__proto__/.test(text))
        expect(read(text)).toEqual(JSON.parse(text))
      }),
      { seed },
    )
  })

  it('skips a byte order mark', () => {
    expect(readJson(Buffer.from('\ufeff{"a":1}'))).toEqual({ a: 1 })
  })

  it.each(['{', '{"a":}', '{a:1}', "{'a':1}", '[1,]', 'NaN', '{} {}', '\0', 'undefined', '{"a":1'])(
    'returns 400 for %j',
    (text) => {
      const refusal = refusalOf(text)
      expect(refusal).toMatchObject({ status: 400, code: 'MALFORMED_JSON' })
      expect(refusal.message).toMatch(/^The body is not valid JSON(, see at position \d+)?\.$/)
    },
  )

  it.each([
    ['a lone continuation byte', [0x22, 0x80, 0x22]],
    ['an overlong slash', [0x22, 0xc0, 0xaf, 0x22]],
    ['a surrogate', [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ['a character that is cut off', [0x22, 0xf0, 0x9f, 0x98, 0x22]],
    ['UTF-16', [0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]],
  ])('returns 400 for %s', (_what, bytes) => {
    expect(refusalOf(Buffer.from(bytes))).toMatchObject({ status: 400, code: 'INVALID_UTF8' })
  })

  it('keeps a replacement character that was sent as one', () => {
    expect(read('"\ufffd"')).toBe('\ufffd')
  })

  it.each([
    '{"__proto__":{"admin":true}}',
    '{"a":[{"b":{"__proto__":1}}]}',
    '{"\\u005f_proto_\\u005F":{}}',
    '{"constructor":{"prototype":{"admin":true}}}',
    '[{"c\\u006fnstructor":{"prototyp\\u0065":1}}]',
  ])('returns 400 for the prototype key in %s', (text) => {
    expect(refusalOf(text)).toMatchObject({ status: 400, code: 'PROTOTYPE_KEY' })
  })

  it.each(['{"constructor":"Renault"}', '{"a":"__proto__"}', '"__proto__"', '["\\u0041"]'])(
    'accepts %s, which changes no prototype',
    (text) => {
      expect(read(text)).toEqual(JSON.parse(text))
    },
  )

  it.each([
    ['lists', '[', ']'],
    ['objects', '{"a":', '}'],
  ])('reads 64 levels of %s and returns 400 for 65', (_what, open, close) => {
    expect(read(nested(64, open, close))).toBeDefined()
    expect(refusalOf(nested(65, open, close))).toMatchObject({
      status: 400,
      code: 'JSON_TOO_DEEP',
      message: 'The JSON body is nested more than 64 levels deep.',
    })
  })

  it('returns 400 for half a megabyte of brackets', () => {
    expect(refusalOf('['.repeat(500_000))).toMatchObject({ status: 400, code: 'JSON_TOO_DEEP' })
  })

  const keys = (count: number): string =>
    `{${Array.from({ length: count }, (_, index) => `"k${index}":"a:b"`).join(',')}}`

  it('reads 1,000 keys of an object and returns 400 for 1,001, at any level', () => {
    expect(Object.keys(read(keys(1000)) as object)).toHaveLength(1000)
    expect(read(`[${keys(900)},${keys(900)}]`)).toHaveLength(2)
    expect(read(`{"a":${keys(999)},"b":${keys(999)}}`)).toHaveProperty('b')
    for (const text of [keys(1001), `[{"a":${keys(1001)}}]`, `{"a":[{}],${keys(1000).slice(1)}`]) {
      expect(refusalOf(text)).toMatchObject({
        status: 400,
        code: 'JSON_TOO_COMPLEX',
        message: 'The JSON body has an object with more than 1000 keys.',
      })
    }
  })

  it('reads 100,000 objects and lists and returns 400 for more', () => {
    expect(read(`[${'{},'.repeat(99_998)}[]]`)).toHaveLength(99_999)
    expect(refusalOf(`[${'{},'.repeat(99_999)}[]]`)).toMatchObject({
      status: 400,
      code: 'JSON_TOO_COMPLEX',
    })
  })

  it('counts no brackets in strings, whatever is escaped there', () => {
    const text = JSON.stringify(['['.repeat(100), '\\"{{'.repeat(100), '"'.repeat(9), '\\'])
    expect(read(text)).toEqual(JSON.parse(text))
  })

  it('agrees with a recursive count on the depth of any value', () => {
    const depthOf = (value: unknown): number =>
      typeof value === 'object' && value !== null
        ? 1 + Math.max(0, ...Object.values(value).map(depthOf))
        : 0
    const tricky = fc.array(fc.constantFrom('[', '{', '"', '\\', ']', '}', 'a', 'é')).map(String)
    const wrapped = fc.tuple(fc.dictionary(tricky, tricky), fc.integer({ min: 60, max: 68 }))
    fc.assert(
      fc.property(wrapped, ([core, levels]) => {
        fc.pre(!('__proto__' in core && Object.hasOwn(core, '__proto__')))
        let value: unknown = core
        for (let level = 0; level < levels; level++)
          value = level % 2 ? [value] : { k: value, z: 1 }
        const text = JSON.stringify(value)
        if (depthOf(value) <= 64) expect(read(text)).toEqual(JSON.parse(text))
        else expect(refusalOf(text).code).toBe('JSON_TOO_DEEP')
      }),
      { seed },
    )
  })
})

describe('readMediaType', () => {
  it.each([
    ['application/json', 'application/json', {}],
    ['Application/JSON', 'application/json', {}],
    [' \tapplication/json\t ', 'application/json', {}],
    ['application/json;', 'application/json', {}],
    ['application/json ; charset=utf-8', 'application/json', { charset: 'utf-8' }],
    ['text/plain;;CHARSET="utf-8" ;', 'text/plain', { charset: 'utf-8' }],
    ['text/plain; a="x\\"y\\\\z"; b=', undefined, {}],
    ['text/plain; a="x\\"y\\\\z;,"', 'text/plain', { a: 'x"y\\z;,' }],
    ['application/vnd.api+json;v=1', 'application/vnd.api+json', { v: '1' }],
    ['multipart/form-data; boundary=----x', 'multipart/form-data', { boundary: '----x' }],
  ])('reads %j', (text, essence, parameters) => {
    const type = readMediaType(text)
    expect(type?.essence).toBe(essence)
    expect({ ...type?.parameters }).toEqual(parameters)
  })

  it.each([
    '',
    'json',
    '/json',
    'application/',
    'application /json',
    'application/json, text/plain',
    'application/json charset=utf-8',
    'application/json; charset',
    'application/json; charset="utf-8',
    'application/json; charset=utf-8; charset=latin1',
    'application/json; charset="utf-8"x',
    'application/jsön',
  ])('reads no media type from %j', (text) => {
    expect(readMediaType(text)).toBeUndefined()
  })

  it('protects parameters from prototype members', () => {
    expect(readMediaType('a/b; __proto__=1; constructor=2')?.parameters).toEqual(
      Object.assign(Object.create(null), { ['__proto__']: '1', constructor: '2' }),
    )
    expect(Object.getPrototypeOf(readMediaType('a/b')?.parameters)).toBeNull()
  })

  it('never throws, whatever is sent', () => {
    const pieces = fc.constantFrom('a/b', ';', '=', '"', '\\', ' ', 'charset', 'é', ',', '\0')
    const texts = fc.array(pieces, { maxLength: 30 }).map((list) => list.join(''))
    fc.assert(
      fc.property(texts, (text) => {
        const type = readMediaType(text)
        expect(type === undefined || /^[^\s;"]+\/[^\s;"]+$/.test(type.essence)).toBe(true)
      }),
      { seed },
    )
  })

  it('reads its own output', () => {
    const token = fc.stringMatching(/^[a-z0-9!#$&^_.+-]{1,12}$/)
    const value = fc.stringMatching(/^[ -~]{0,20}$/)
    fc.assert(
      fc.property(token, token, token, value, (type, subtype, name, text) => {
        const quoted = text.replace(/["\\]/g, '\\$&')
        const read = readMediaType(`${type}/${subtype}; ${name}="${quoted}"`)
        expect(read?.essence).toBe(`${type}/${subtype}`)
        expect(read?.parameters[name]).toBe(text)
      }),
      { seed },
    )
  })
})
