import type { Problem } from '../../src/index.js'
import { describe, expect, it } from '@jest/globals'
import { joinPaths, parsePattern } from '../../src/routing/pattern.js'

describe('parsePattern', () => {
  it('reads both spellings as one', () => {
    const angle = parsePattern('/a/<id:int>/<rest:path>', 'x', [])
    const brace = parsePattern('/a/{id:int}/{rest:path}/', 'x', [])
    expect(brace).toEqual(angle)
    expect(angle?.names).toEqual(['id', 'rest'])
    expect(angle?.text).toBe('/a/<id:int>/<rest:path>')
  })

  it.each([
    ['items', 'RELATIVE_PATH', 'path "items" is relative.', '"/items"'],
    ['/a//b', 'MALFORMED_PATTERN', 'two slashes', 'Remove one'],
    ['/a?x=1', 'MALFORMED_PATTERN', 'ends before "?"', '`query`'],
    [
      '/a/<id>.json',
      'MALFORMED_PATTERN',
      'segment "<id>.json" mixes',
      'either text or one parameter',
    ],
    ['/a/<id', 'MALFORMED_PATTERN', 'segment "<id" mixes', 'either text'],
    ['/a/<id}', 'MALFORMED_PATTERN', 'mixes', 'either text'],
    ['/a/<>', 'EMPTY_PARAMETER_NAME', 'has no name', 'Name it'],
    ['/a/<:int>', 'EMPTY_PARAMETER_NAME', 'has no name', 'Name it'],
    ['/a/<__proto__>', 'MALFORMED_PARAMETER_NAME', '"__proto__"', 'letters'],
    ['/a/<1st>', 'MALFORMED_PARAMETER_NAME', '"1st"', 'letters'],
    ['/a/<id>/<id:int>', 'DUPLICATE_PARAMETER_NAME', 'two parameters are named "id"', 'Rename'],
    ['/a/<rest:path>/b', 'PATH_NOT_LAST', '<rest:path> takes the whole rest', 'last segment'],
    [
      '/a/<id:integer>',
      'UNKNOWN_PATH_TYPE',
      'unknown type "integer".',
      'Did you mean "int"? Types: int, float, path, uuid, slug.',
    ],
    ['/a/<id:>', 'UNKNOWN_PATH_TYPE', 'unknown type "".', 'Types: int'],
  ])('refuses %s with %s', (text, code, message, remedy) => {
    const problems: Problem[] = []
    expect(parsePattern(text, 'GET it (A.b)', problems)).toBeUndefined()
    expect(problems[0]).toEqual({
      code,
      message: expect.stringContaining(message),
      remedy: expect.stringContaining(remedy),
    })
    expect(problems[0]?.message).toMatch(/^GET it \(A\.b\): /)
  })

  it('reports every problem of one pattern', () => {
    const problems: Problem[] = []
    parsePattern('/<a:foo>/<rest:path>/<a>', 'x', problems)
    expect(problems.map((problem) => problem.code)).toEqual([
      'UNKNOWN_PATH_TYPE',
      'DUPLICATE_PARAMETER_NAME',
      'PATH_NOT_LAST',
    ])
  })
})

describe('joinPaths', () => {
  it.each([
    ['/items', '/', '/items'],
    ['/items', '', '/items'],
    ['', '', '/'],
    ['/', '/a', '/a'],
    ['/items/', '/a', '/items/a'],
    ['/items', '/a/', '/items/a/'],
  ])('joins "%s" and "%s" to %s', (base, path, joined) => {
    expect(joinPaths(base, path)).toBe(joined)
  })
})
