/** Long documents whose fields may conflict. Source: GraphQL specification, 5.3.2, Field Selection Merging. */
import { describe, expect, it } from '@jest/globals'
import { buildSchema, OverlappingFieldsCanBeMergedRule, parse, validate } from 'graphql'
import { mergeableFieldsRule } from '../../src/graphql/mergeable-fields.js'
import { createLibrary } from './library.js'
import { createRandom, rounds, seed } from '../random.js'

const schema = buildSchema(`
  interface Named { name: String, owner: Person, size(unit: String, range: [Range]): Int }
  input Range { from: Int, to: Int }
  type Person implements Named { name: String, owner: Person, size(unit: String, range: [Range]): Int, age: Int, friends: [Person] }
  type Thing implements Named { name: String, owner: Person, size(unit: String, range: [Range]): Int, age: String, friends: [Thing!] }
  union Any = Person | Thing
  type Query { named: Named, any: Any, person: Person }
`)

/** So many selections that the own rule checks the document. */
const padding = `padding: person { ${'name '.repeat(60)} }`

const conflictsBy = (rule: typeof mergeableFieldsRule, text: string): boolean =>
  validate(schema, parse(text), [rule]).length > 0

describe('fields of a long document', () => {
  it.each([
    ['the same field twice', '{ named { name name } }', false],
    ['different fields', '{ named { a: name a: size } }', true],
    ['different arguments', '{ named { size(unit: "m") size(unit: "k") } }', true],
    ['an argument and none', '{ named { size(unit: "m") size } }', true],
    [
      'arguments in another order',
      '{ named { size(unit: "m", range: [{ from: 1, to: 2 }]) size(range: [{ to: 2, from: 1 }], unit: "m") } }',
      false,
    ],
    [
      'different fields of two objects',
      '{ any { ...on Person { a: name } ...on Thing { a: age } } }',
      false,
    ],
    [
      'different shapes of two objects',
      '{ any { ...on Person { age } ...on Thing { age } } }',
      true,
    ],
    [
      'different lists of two objects',
      '{ any { ...on Person { friends { name } } ...on Thing { friends { name } } } }',
      true,
    ],
    ['an interface and its object', '{ named { a: name ...on Thing { a: age } } }', true],
    [
      'fields below merged fields',
      '{ named { owner { a: name } ...on Thing { owner { a: age } } } }',
      true,
    ],
    ['a leaf and an object', '{ person { a: name a: owner { name } } }', true],
    [
      'fragments',
      `{ person { ...A ...B } } fragment A on Person { a: name } fragment B on Named { a: size }`,
      true,
    ],
    [
      'fragments that spread each other',
      `{ person { ...A } } fragment A on Person { name ...B } fragment B on Named { name ...A }`,
      false,
    ],
    [
      'fragments that contain each other',
      `{ person { ...A ...B } } fragment A on Person { owner { ...A ...B } friends { ...A ...B } } fragment B on Person { owner { ...B ...A } friends { ...B ...A } }`,
      false,
    ],
  ])('conflict as by graphql-js: %s', (_, text, conflicts) => {
    const long = text.replace('{', `{ ${padding}`)
    expect(conflictsBy(OverlappingFieldsCanBeMergedRule, long)).toBe(conflicts)
    expect(conflictsBy(mergeableFieldsRule, long)).toBe(conflicts)
  })

  it('conflict as by graphql-js in random documents', () => {
    const random = createRandom(seed)
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
    const found = { true: 0, false: 0 }
    const select = (levels: number): string => {
      const leaf = (): string =>
        pick([
          'name',
          'a: name',
          'size',
          'a: size',
          'size(unit: "m")',
          'b: age',
          'age',
          '...A',
          '...B',
          '...C',
        ])
      const inner = (): string =>
        pick([
          'owner',
          'c: owner',
          'friends',
          '...on Person',
          '...on Thing',
          '...on Named',
          '...',
        ]) + select(levels - 1)
      const parts = Array.from({ length: 1 + Math.floor(random() * 3) }, () =>
        levels > 0 && random() < 0.5 ? inner() : leaf(),
      )
      return `{ ${parts.join(' ')} }`
    }
    for (let round = 0; round < rounds(2000); round++) {
      const text = `{ ${padding} ${pick(['named', 'any', 'person'])} ${select(3)} }
        fragment A on Person ${select(1).replaceAll('...A', 'name').replaceAll('...B', '...C')}
        fragment B on Thing ${select(1).replaceAll('...B', 'name').replaceAll('...A', '...C')}
        fragment C on Named { ${pick(['name', 'a: name', 'owner { name }', 'owner { a: age }'])} }`
      const conflicts = conflictsBy(OverlappingFieldsCanBeMergedRule, text)
      found[`${conflicts}`]++
      expect([text, conflictsBy(mergeableFieldsRule, text)]).toEqual([text, conflicts])
    }
    expect(Math.min(found.true, found.false)).toBeGreaterThan(100)
  })

  it('name the fields in the error', async () => {
    const graphql = createLibrary()
    graphql.schema.build()
    const { errors } = await graphql.execute(
      `{ book(id: 1) { ${'id '.repeat(60)} a: title a: isbn } }`,
    )
    expect(errors).toMatchObject([
      {
        message:
          'Fields "a" conflict because "title" and "isbn" are different fields. Use different aliases on the fields to fetch both if this was intentional.',
        extensions: { code: 'GRAPHQL_VALIDATION_FAILED' },
      },
    ])
  })
})
