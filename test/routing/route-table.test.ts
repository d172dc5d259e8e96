import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { parsePattern, type Pattern, joinPaths } from '../../src/routing/pattern.js'
import { RouteTable } from '../../src/routing/route-table.js'
import { matchSlowly } from './reference-matcher.js'
import { seed } from '../random.js'
import { Problems } from '../../src/errors/problems.js'

interface Place {
  readonly text: string
}

function tableOf(...texts: string[]): RouteTable<Place> {
  const table = new RouteTable<Place>()
  for (const text of texts) table.add('GET', patternOf(text), { text })
  return table
}

function patternOf(text: string): Pattern {
  const problems = new Problems()
  const pattern = parsePattern(text, problems)
  if (pattern === undefined) throw new Error(JSON.stringify(problems.list))
  return pattern
}

function find(table: RouteTable<Place>, path: string): [string | undefined, (string | number)[]] {
  const values: (string | number)[] = []
  return [table.match('GET', path, values)?.text, values]
}

describe('RouteTable.match', () => {
  it.each<[string, string, (string | number)[] | undefined]>([
    ['/', '/', []],
    ['/', '//', undefined],
    ['/items', '/items', []],
    ['/items', '/items/', []],
    ['/items', '/Items', undefined],
    ['/items', '/items//', undefined],
    ['/items', '//items', undefined],
    ['/items', '/item', undefined],
    ['/items/<id>', '/items/seven', ['seven']],
    ['/items/{id}', '/items/seven', ['seven']],
    ['/items/<id>', '/items/', undefined],
    ['/items/<id>', '/items/a/b', undefined],
    ['/items/<id>/parts', '/items//parts', undefined],
    ['/items/<id:int>', '/items/7', [7]],
    ['/items/{id:int}', '/items/7', [7]],
    ['/items/<id:int>', '/items/-7', [-7]],
    ['/items/<id:int>', '/items/007', [7]],
    ['/items/<id:int>', '/items/-0', [0]],
    ['/items/<id:int>', '/items/+7', undefined],
    ['/items/<id:int>', '/items/7.0', undefined],
    ['/items/<id:int>', '/items/1e3', undefined],
    ['/items/<id:int>', '/items/-', undefined],
    ['/items/<id:int>', '/items/%37', [7]],
    ['/items/<id:int>', '/items/٧', undefined],
    ['/items/<id:int>', '/items/9007199254740991', [9007199254740991]],
    ['/items/<id:int>', '/items/9007199254740992', undefined],
    ['/x/<x:float>', '/x/1.5', [1.5]],
    ['/x/<x:float>', '/x/1', [1]],
    ['/x/<x:float>', '/x/.5', [0.5]],
    ['/x/<x:float>', '/x/-.5', [-0.5]],
    ['/x/<x:float>', '/x/-0', [0]],
    ['/x/<x:float>', '/x/5.', undefined],
    ['/x/<x:float>', '/x/.', undefined],
    ['/x/<x:float>', '/x/1e3', undefined],
    ['/x/<x:float>', '/x/NaN', undefined],
    ['/x/<x:float>', '/x/Infinity', undefined],
    ['/x/<x:float>', `/x/${'9'.repeat(400)}`, undefined],
    ['/x/<x:float>', '/x/1.2.3', undefined],
    [
      '/u/<id:uuid>',
      '/u/0190A5F8-0000-7000-8000-00000000abcd',
      ['0190a5f8-0000-7000-8000-00000000abcd'],
    ],
    ['/u/<id:uuid>', '/u/0190a5f8000070008000000000000abc', undefined],
    ['/s/<name:slug>', '/s/a_B-9', ['a_B-9']],
    ['/s/<name:slug>', '/s/a.b', undefined],
    ['/docs/<rest:path>', '/docs/a/b/c.txt', ['a/b/c.txt']],
    ['/docs/<rest:path>', '/docs/a', ['a']],
    ['/docs/<rest:path>', '/docs/', undefined],
    ['/docs/<rest:path>', '/docs', undefined],
    ['/docs/<rest:path>', '/docs/a//b/', ['a//b']],
    ['/docs/<rest:path>', '/docs//a', ['/a']],
    ['/docs/<rest:path>', '/docs/a%2Fb%20c', ['a/b c']],
    ['/docs/<rest:path>', '/docs/%252e', ['%2e']],
    ['/<rest:path>', '/anything/at/all', ['anything/at/all']],
    ['/items/<id>', '/items/a%2Fb', ['a/b']],
    ['/items/<id>', '/items/a+b', ['a+b']],
    ['/items/<id>', '/items/%2B', ['+']],
    ['/items/<id>', '/items/%2541', ['%41']],
    ['/café/<id>', '/caf%C3%A9/1', ['1']],
    ['/a%20b', '/a%20b', undefined],
    ['/a%20b', '/a%2520b', []],
  ])('%s, requested by %s, returns %j', (pattern, path, expected) => {
    const [found, values] = find(tableOf(pattern), path)
    expect(found === undefined ? undefined : values).toEqual(expected)
  })

  it.each([
    ['/items/new', '/items/new'],
    ['/items/7', '/items/<id:int>'],
    ['/items/7.5', '/items/<x:float>'],
    ['/items/0190a5f8-0000-7000-8000-00000000abcd', '/items/<key:uuid>'],
    ['/items/lamp', '/items/<name:slug>'],
    ['/items/l%C3%A4mp', '/items/<any>'],
    ['/items/a/b', '/items/<rest:path>'],
  ])('%s matches %s, in any order of declaration', (path, winner) => {
    const texts = [
      '/items/<rest:path>',
      '/items/<any>',
      '/items/<name:slug>',
      '/items/<key:uuid>',
      '/items/<x:float>',
      '/items/<id:int>',
      '/items/new',
    ]
    expect(find(tableOf(...texts), path)[0]).toBe(winner)
    expect(find(tableOf(...texts.toReversed()), path)[0]).toBe(winner)
  })

  it('backtracks from a choice without a match, and drops its values', () => {
    const table = tableOf('/a/<id:int>/x', '/a/<name>/y', '/<rest:path>')
    expect(find(table, '/a/7/y')).toEqual(['/a/<name>/y', ['7']])
    expect(find(table, '/a/7/z')).toEqual(['/<rest:path>', ['a/7/z']])
  })

  it.each(['/items/%ZZ', '/unknown/%', '/items/%C3%28', '/items/%00', '/%E0%80%80'])(
    'returns 400 for the malformed path %s, known or not',
    (path) => {
      expect(() => tableOf('/items/<id>').match('GET', path, [])).toThrow(
        expect.objectContaining({ status: 400, code: 'MALFORMED_ENCODING' }),
      )
    },
  )

  it('matches HEAD as GET', () => {
    expect(tableOf('/items').match('HEAD', '/items', [])?.text).toBe('/items')
  })

  it('agrees with the slow matcher on random routes and paths', () => {
    const type = fc.constantFrom('', ':int', ':float', ':uuid', ':slug')
    const part = fc.oneof(
      fc.constantFrom('a', 'b', '7', '1.5', 'é'),
      type.map((suffix) => `<p${suffix}>`),
    )
    const tail = fc.constantFrom('', '', '', '/<rest:path>')
    const pattern = fc.tuple(fc.array(part, { maxLength: 4 }), tail).map(([parts, rest]) => {
      const named = parts.map((text, index) => text.replace('<p', `<p${index}`))
      return `/${named.join('/')}${rest}`.replace('//', '/')
    })
    const piece = fc.oneof(
      fc.constantFrom(
        'a',
        'b',
        '7',
        '-0',
        '1.5',
        '.5',
        '',
        'é',
        '%C3%A9',
        'a%2Fb',
        'a-b',
        '99999999999999999999',
      ),
      fc.uuid(),
      fc.string({ maxLength: 3 }).map(encodeURIComponent),
    )
    const path = fc.array(piece, { maxLength: 5 }).map((parts) => `/${parts.join('/')}`)
    fc.assert(
      fc.property(
        fc.array(pattern, { maxLength: 12 }),
        fc.array(path, { maxLength: 12 }),
        (texts, paths) => {
          const table = new RouteTable<Place>()
          const added: Pattern[] = []
          for (const text of texts) {
            const parsed = patternOf(text)
            if (table.add('GET', parsed, { text: parsed.text }) === undefined) added.push(parsed)
          }
          for (const requested of paths) {
            if (decodeURIComponent(requested).includes('\0')) continue
            const expected = matchSlowly(added, requested)
            const [found, values] = find(table, requested)
            expect([requested, found, values]).toEqual([
              requested,
              expected === undefined ? undefined : added[expected.index]?.text,
              expected?.values ?? [],
            ])
          }
        },
      ),
      { numRuns: 2000, seed },
    )
  })
})

describe('RouteTable.add', () => {
  it.each([
    ['/x/<a:int>', '/x/<b:int>'],
    ['/x/<a>', '/x/{b}'],
    ['/x', '/x/'],
    ['/x/<a:path>', '/x/<b:path>'],
  ])('returns the existing route when %s meets %s', (first, second) => {
    const table = tableOf(first)
    expect(table.add('GET', patternOf(second), { text: 'second' })).toEqual({ text: first })
    expect(table.add('POST', patternOf(second), { text: 'second' })).toBeUndefined()
  })
})

describe('RouteTable.allowedMethods', () => {
  it('lists the methods of a path, HEAD with GET', () => {
    const table = tableOf('/items/<id:int>')
    table.add('DELETE', patternOf('/items/<id>'), { text: 'delete' })
    expect(table.allowedMethods('/items/7')).toEqual(['GET', 'HEAD', 'DELETE'])
    expect(table.allowedMethods('/items/lamp')).toEqual(['DELETE'])
    expect(table.allowedMethods('/lamp')).toEqual([])
  })
})

describe('parsePattern', () => {
  it('reads both spellings as one', () => {
    const angle = parsePattern('/a/<id:int>/<rest:path>', new Problems())
    const brace = parsePattern('/a/{id:int}/{rest:path}/', new Problems())
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
    const problems = new Problems()
    expect(parsePattern(text, problems.at('GET it (A.b)'))).toBeUndefined()
    expect(problems.list[0]).toEqual({
      code,
      message: expect.stringContaining(message),
      remedy: expect.stringContaining(remedy),
    })
    expect(problems.list[0]?.message).toMatch(/^GET it \(A\.b\): /)
  })

  it('reports every problem of one pattern', () => {
    const problems = new Problems()
    parsePattern('/<a:foo>/<rest:path>/<a>', problems)
    expect(problems.list.map((problem) => problem.code)).toEqual([
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
