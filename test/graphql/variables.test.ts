/** Compares compiled readers of variables and arguments with graphql-js, which they replace. */
import { describe, expect, it } from '@jest/globals'
import {
  buildSchema,
  getArgumentValues,
  getVariableValues,
  parse,
  type FieldNode,
  type OperationDefinitionNode,
} from 'graphql'
import type { FieldError } from '../../src/errors/field-error.js'
import { describeVariableErrors } from '../../src/graphql/variable-errors.js'
import { compileVariables } from '../../src/graphql/variables.js'
import { compileArguments } from '../../src/graphql/planner/compile-arguments.js'

const schema = buildSchema(`
  enum Color { RED GREEN }
  input Leaf { size: Int!, color: Color = RED, constructor: String }
  input Tree { name: String, leaves: [Leaf!], tree: Tree, grid: [[Int]] }
  input OneOnly @oneOf { a: Int, b: String }
  type Query {
    f(a: Int, b: Int = 5, c: Int!, d: Int! = 7, ids: [ID!], tree: Tree, leaf: Leaf, one: OneOnly, x: Float): String
  }
`)

const nothing = Symbol('left out')
const values: unknown[] = [
  ...[nothing, undefined, null, true, false, 0, -0, 1, 1.5, 2 ** 31, -(2 ** 31), -(2 ** 31) - 1],
  ...[2 ** 31 - 1, 2 ** 53, Number.NaN, '', '1', 'RED', 'x'],
  ...[[], [1], [null], [[1, 2], null], [[1], 'x'], ['a', 'b'], [1, 'RED'], new Set([1, 2])],
  ...[{}, { a: 1 }, { a: 1, b: 'x' }, { a: null }, { size: 1 }, { size: 1, color: 'GREEN' }],
  ...[{ size: 1, other: 2 }, { size: '1' }, { size: null }, { size: 1, color: null }],
  ...[{ name: 'oak', leaves: [{ size: 1 }] }, { leaves: { size: 1 } }, { leaves: [null] }],
  ...[{ tree: { tree: { leaves: [] } } }, { tree: { tree: { leaf: 1 } } }, { grid: [[1], 2] }],
  ...[{ name: undefined }, { name: 1 }, JSON.parse('{"__proto__":{"size":1}}')],
]

const types = [
  ...['Int', 'Int!', 'Float', 'String', 'String!', 'Boolean!', 'ID', 'ID!', 'Color', 'Color!'],
  ...[
    '[Int]',
    '[Int!]!',
    '[[Int!]]',
    '[ID!]',
    'Leaf',
    'Leaf!',
    '[Leaf!]',
    'Tree',
    'Tree!',
    'OneOnly',
  ],
]
const defaults: Record<string, string> = {
  Int: '3',
  'Int!': '4',
  Color: 'GREEN',
  '[Int]': '5',
  Leaf: '{ size: 2 }',
  '[ID!]': 'null',
}

const definitionsOf = (text: string) =>
  (parse(text).definitions[0] as OperationDefinitionNode).variableDefinitions ?? []

describe('compiled variables', () => {
  const declared = types.flatMap((type) => [
    `$v: ${type}`,
    ...(type in defaults ? [`$v: ${type} = ${defaults[type] ?? ''}`] : []),
  ])

  it.each(declared)('match graphql-js, or are left to it: %s', (declaration) => {
    const definitions = definitionsOf(`query (${declaration}) { __typename }`)
    const read = compileVariables(schema, definitions)
    for (const value of values) {
      const provided = value === nothing ? {} : { v: value }
      const { coerced, errors } = getVariableValues(schema, definitions, provided)
      const compiled = read(provided)
      if (errors !== undefined) expect(compiled).toBeUndefined()
      else if (compiled !== undefined) expect(compiled).toEqual(coerced)
    }
  })

  it.each([
    ['$v: Int!', 1],
    ['$v: ID', 7],
    ['$v: [Int!]!', [1, 2]],
    ['$v: [Int!]!', 1],
    ['$v: Tree', { name: 'oak', leaves: [{ size: 1 }], tree: { grid: [[1]] } }],
    ['$v: Color', 'RED'],
    ['$v: String', null],
  ])('of a common kind are read without graphql-js: %s', (declaration, v) => {
    const definitions = definitionsOf(`query (${declaration}) { __typename }`)
    const { coerced } = getVariableValues(schema, definitions, { v })
    const compiled = compileVariables(schema, definitions)({ v })
    expect(compiled).toStrictEqual(coerced)
  })

  it('may have names of prototype members', () => {
    const definitions = definitionsOf('query ($constructor: Int, $toString: ID) { __typename }')
    const read = compileVariables(schema, definitions)({ toString: 'a' })
    expect(Object.entries(read ?? {})).toEqual([['toString', 'a']])
  })
})

describe('errors of variables', () => {
  const declared = types.map((type) => `$v: ${type}`)

  it.each(declared)('have the path of each invalid value: %s', (declaration) => {
    const definitions = definitionsOf(`query (${declaration}) { __typename }`)
    for (const value of values) {
      const input = value === nothing ? {} : { v: value }
      const { errors = [] } = getVariableValues(schema, definitions, input)
      const described = describeVariableErrors(errors, { schema, definitions, input })
      expect(described.map(({ message }) => message)).toEqual(errors.map(({ message }) => message))
      for (const { message, extensions } of described) {
        const [{ path }] = extensions.errors as [FieldError]
        const at = /" at "([^"]+)"|$/.exec(message)?.[1] ?? 'v'
        expect(`${path}.`).toContain(`${at.replaceAll('[', '.').replaceAll(']', '')}.`)
      }
    }
  })

  it('have the code and the message of REST for missing and unknown fields', () => {
    const definitions = definitionsOf('query ($a: Int!, $leaf: Leaf, $tree: [Tree]) { __typename }')
    const input = {
      leaf: { color: 'BLUE', constructor: null },
      tree: [{ name: 1 }, { nam: 'oak' }],
    }
    const { errors = [] } = getVariableValues(schema, definitions, input)
    const described = describeVariableErrors(errors, { schema, definitions, input })
    expect(described.flatMap(({ extensions }) => extensions.errors)).toEqual([
      { path: 'a', code: 'required', message: 'a is required' },
      { path: 'leaf.size', code: 'required', message: 'leaf.size is required' },
      { path: 'leaf.color', code: 'type', message: 'Value "BLUE" does not exist in "Color" enum.' },
      {
        path: 'tree.0.name',
        code: 'type',
        message: 'String cannot represent a non string value: 1',
      },
      { path: 'tree.1.nam', code: 'unknown', message: 'tree.1.nam is unknown' },
    ])
  })

  it('beyond the limit have no path', () => {
    const definitions = definitionsOf('query ($v: [Int]) { __typename }')
    const input = { v: ['a', 'b', 'c'] }
    const { errors = [] } = getVariableValues(schema, definitions, input, { maxErrors: 2 })
    const described = describeVariableErrors(errors, { schema, definitions, input })
    expect(described.map(({ extensions }) => extensions)).toMatchObject([
      { code: 'BAD_VARIABLES', errors: [{ path: 'v.0' }] },
      { code: 'BAD_VARIABLES', errors: [{ path: 'v.1' }] },
      { code: 'BAD_VARIABLES' },
    ])
    expect(described[2]?.extensions).not.toHaveProperty('errors')
  })
})

describe('a variable named __proto__', () => {
  it('is left to graphql-js', () => {
    const definitions = definitionsOf('query ($__proto__: Int) { __typename }')
    const provided = JSON.parse('{"__proto__":1}') as Record<string, unknown>
    expect(compileVariables(schema, definitions)(provided)).toBeUndefined()
  })
})

describe('compiled arguments', () => {
  const field = schema.getQueryType()?.getFields().f
  if (field === undefined) throw new Error('no field')

  const nodeOf = (args: string) =>
    (parse(`{ f(${args}) }`).definitions[0] as OperationDefinitionNode).selectionSet
      .selections[0] as FieldNode
  const variables: Record<string, unknown>[] = [
    ...[{}, { v: 1 }, { v: null }, { v: undefined }, { v: 1, w: 2 }, { v: [1] }, { w: null }],
  ]

  it.each([
    ...['c: 1', 'c: $v', 'a: $v, c: 1', 'b: $v, c: 1', 'd: $v, c: 1', 'a: null, c: $v', 'a: $v'],
    ...['ids: ["a", $v], c: 1', 'ids: $v, c: 1', 'tree: { name: $v }, c: 1', 'c: null, a: $v'],
    ...[
      'tree: { leaves: [{ size: $v }] }, c: $w',
      'a: $v, b: $w, c: 3, d: null',
      'a: $toString, c: 1',
      'leaf: { size: $v, color: $w, constructor: $toString }, c: 1',
      'leaf: { color: $v, size: 2 }, c: 1',
      'leaf: { size: 1, constructor: null, color: $w }, c: 1',
      'tree: { name: $w, tree: { name: "b", leaves: $v, tree: { name: $v } } }, c: 1',
      'tree: { grid: [[$v], 2], leaves: { size: 3 } }, c: 1',
      'one: { a: $v }, c: 1',
    ],
  ])('are the same as in graphql-js: f(%s)', (args) => {
    const node = nodeOf(args)
    const source = compileOrThrow(() => compileArguments(field, node))
    for (const each of variables) {
      const expected = attempt(() => getArgumentValues(field, node, each))
      const read = attempt(() => (source instanceof Error ? fail(source) : source.read(each)))
      expect(read).toEqual(expected)
    }
  })
})

function attempt(run: () => unknown): unknown {
  try {
    return { gives: run() }
  } catch (error) {
    return { throws: (error as Error).message }
  }
}

function compileOrThrow<T>(run: () => T): T | Error {
  try {
    return run()
  } catch (error) {
    return error as Error
  }
}

function fail(error: Error): never {
  throw error
}
