import { describe, expect, it } from '@jest/globals'
import { specifiedScalarTypes } from 'graphql'
import { readTypeNotation, toGraphqlType } from '../../src/graphql/type-notation.js'

describe('readTypeNotation', () => {
  it.each([
    ['ID', 'ID', []],
    ['[Item]', 'Item', ['list']],
    ['Float!', 'Float', ['required']],
    ['[Int!]!', 'Int', ['required', 'list', 'required']],
    [' [ [Int] ! ] ', 'Int', ['list', 'required', 'list']],
  ])('parses %s', (text, name, wrappers) => {
    expect(readTypeNotation(text)).toEqual({ name, wrappers })
  })

  it.each(['', '!', '[Int', 'Int]', 'Int!!', '2d', 'a b', '[]', '[Int][Int]', '[[[[[[[Int]]]]]]]'])(
    'refuses "%s"',
    (text) => {
      expect(readTypeNotation(text)).toBeUndefined()
    },
  )
})

describe('toGraphqlType', () => {
  const lookup = (name: string) => specifiedScalarTypes.find((type) => type.name === name)

  it.each(['ID', '[Int]', 'Float!', '[Int!]!', '[[String!]]!'])('makes the type %s', (text) => {
    expect(String(toGraphqlType(text, lookup))).toBe(text)
  })

  it('knows only the types of the lookup', () => {
    expect(toGraphqlType('[Item]', lookup)).toBeUndefined()
  })
})
