import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { readMediaType } from '../../../src/http/bodies/body-types.js'
import { seed } from '../../random.js'

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
