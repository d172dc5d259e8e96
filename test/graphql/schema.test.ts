import { describe, expect, it } from '@jest/globals'
import { DeclarationError, GraphQL, type Problem } from 'filigree'
import { plainSdl } from './plain-sdl.js'

const resolve = () => null

/** The problems of a schema. */
function problemsOf(declare: (schema: GraphQL['schema']) => void): readonly Problem[] {
  const { schema } = new GraphQL()
  declare(schema)
  try {
    schema.build()
    return []
  } catch (error) {
    if (error instanceof DeclarationError) return error.problems
    throw error
  }
}

describe('Schema', () => {
  it('prints itself in the schema language', () => {
    const graphql = new GraphQL()
    graphql.schema
      .addEnum('Color', ['red', 'green'])
      .addInput('QuoteInput', { text: 'String!', color: { type: 'Color', default: 'red' } })
      .addType('Quote', { id: 'ID!', tags: '[String!]', old: { type: 'Int', deprecated: 'late' } })
      .addQuery('quotes', {
        type: '[Quote!]!',
        args: { limit: { type: 'Int', default: 10 } },
        resolve,
      })
      .addMutation('addQuote', { type: 'Quote', args: { input: 'QuoteInput!' }, resolve })
      .addField('Quote', 'shout', { type: 'String', args: { loud: 'Boolean' }, resolve })
    expect(plainSdl(graphql.sdl)).toBe(`enum Color {
  red
  green
}

input QuoteInput {
  text: String!
  color: Color = red
}

type Quote {
  id: ID!
  tags: [String!]
  old: Int @deprecated(reason: "late")
  shout(loud: Boolean): String
}

type Query {
  quotes(limit: Int = 10): [Quote!]!
}

type Mutation {
  addQuote(input: QuoteInput!): Quote
}`)
  })

  it('allows types to refer to each other in any order', () => {
    const found = problemsOf((schema) =>
      schema
        .addQuery('a', { type: 'A', resolve })
        .addType('A', { b: 'B' })
        .addType('B', { as: '[A]' }),
    )
    expect(found).toEqual([])
  })

  it.each<[string, (schema: GraphQL['schema']) => void, string, string]>([
    [
      'an unknown type',
      (schema) =>
        schema.addType('Item', { id: 'ID' }).addQuery('items', { type: '[Itm]', resolve }),
      'UNKNOWN_TYPE',
      'GraphQL Query.items: unknown type "Itm". Did you mean "Item"?',
    ],
    [
      'something that is not a type',
      (schema) => schema.addQuery('a', { type: '[Int', resolve }),
      'INVALID_TYPE_NOTATION',
      'GraphQL a: "[Int" is not a type.',
    ],
    [
      'two queries of one name',
      (schema) =>
        schema.addQuery('a', { type: 'Int', resolve }).addQuery('a', { type: 'Int', resolve }),
      'DUPLICATE_NAME',
      'GraphQL Query "a" is declared twice.',
    ],
    [
      'two types of one name',
      (schema) =>
        schema
          .addType('A', { a: 'Int' })
          .addType('A', { a: 'Int' })
          .addQuery('a', { type: 'A', resolve }),
      'DUPLICATE_NAME',
      'GraphQL Type "A" is declared twice.',
    ],
    [
      'a name that GraphQL keeps for itself',
      (schema) => schema.addQuery('__a', { type: 'Int', resolve }),
      'INVALID_NAME',
      'GraphQL Query "__a": this name cannot be used.',
    ],
    [
      'the name of a built-in type',
      (schema) => schema.addType('String', { a: 'Int' }).addQuery('a', { type: 'Int', resolve }),
      'RESERVED_NAME',
      'Type "String" has the name of a built-in type.',
    ],
    [
      'a type without fields',
      (schema) => schema.addType('A', {}).addQuery('a', { type: 'Int', resolve }),
      'EMPTY_TYPE',
      'Type "A" has no fields.',
    ],
    [
      'no query',
      (schema) => schema.addMutation('a', { type: 'Int', resolve }),
      'NO_QUERIES',
      'no query',
    ],
    [
      'a query without a resolver',
      (schema) => schema.addQuery('a', { type: 'Int' }),
      'NO_RESOLVER',
      'Query "a" has no resolve.',
    ],
    [
      'a subscription without events',
      (schema) =>
        schema.addQuery('a', { type: 'Int', resolve }).addSubscription('b', { type: 'Int' }),
      'NO_SUBSCRIBE',
      'Subscription "b" has no subscribe.',
    ],
    [
      'an object type as an argument',
      (schema) =>
        schema.addType('A', { a: 'Int' }).addQuery('a', { type: 'Int', args: { a: 'A' }, resolve }),
      'WRONG_TYPE',
      'GraphQL Query.a.a: A is an object type.',
    ],
    [
      'an input type as a field',
      (schema) => schema.addInput('A', { a: 'Int' }).addQuery('a', { type: 'A', resolve }),
      'WRONG_TYPE',
      'GraphQL Query.a: A is an input type.',
    ],
    [
      'a field of an unknown type',
      (schema) =>
        schema
          .addType('Item', { a: 'Int' })
          .addQuery('a', { type: 'Item', resolve })
          .addField('Itm', 'b', { type: 'Int', resolve }),
      'UNKNOWN_TYPE',
      'there is no object type "Itm"',
    ],
    [
      'a field that is there already',
      (schema) =>
        schema
          .addType('A', { a: 'Int' })
          .addQuery('a', { type: 'A', resolve })
          .addField('A', 'a', { type: 'Int', resolve }),
      'DUPLICATE_NAME',
      'GraphQL Field "A.a" is declared twice.',
    ],
    [
      'contradicting access',
      (schema) => schema.addQuery('a', { type: 'Int', resolve, secured: true, noAuth: true }),
      'CONTRADICTING_ACCESS',
      'Query "a" is both secured and noAuth.',
    ],
    [
      'an unknown option',
      (schema) => schema.addQuery('a', { type: 'Int', resolve, resolver: resolve } as never),
      'UNKNOWN_OPTION',
      'GraphQL query a: unknown option "resolver".',
    ],
  ])('refuses %s', (_what, declare, code, message) => {
    const found = problemsOf(declare)
    expect(found.map((problem) => problem.code)).toContain(code)
    expect(found.map((problem) => `${problem.message} ${problem.remedy}`).join('\n')).toContain(
      message,
    )
  })

  it('reports all problems together', () => {
    const found = problemsOf((schema) =>
      schema.addQuery('a', { type: 'B', resolve }).addQuery('c', { type: 'D', resolve }),
    )
    expect(found.map(({ code }) => code)).toEqual(['UNKNOWN_TYPE', 'UNKNOWN_TYPE'])
  })

  it('accepts additions after it was used', async () => {
    const graphql = new GraphQL()
    graphql.schema.addQuery('a', { type: 'Int', resolve: () => 1 })
    expect(await graphql.execute('{ a }')).toEqual({ data: { a: 1 } })
    graphql.schema.addQuery('b', { type: 'Int', resolve: () => 2 })
    expect(await graphql.execute('{ a b }')).toEqual({ data: { a: 1, b: 2 } })
  })

  it.each([
    [{ limits: { dept: 3 } }, 'UNKNOWN_OPTION', 'Did you mean "depth"?'],
    [{ limits: { depth: 0 } }, 'INVALID_OPTION', 'GraphQL limits: depth is 0.'],
    [{ ids: true }, 'UNKNOWN_OPTION', 'unknown option "ids"'],
  ])('refuses the options %j', async (options, code, message) => {
    const graphql = new GraphQL(options)
    graphql.schema.addQuery('a', { type: 'Int', resolve })
    const failure = await graphql.execute('{ a }').catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(DeclarationError)
    expect((failure as DeclarationError).problems[0]?.code).toBe(code)
    expect((failure as DeclarationError).message).toContain(message)
  })
})
