/** A small hand-built schema that the tests of this folder share. */
import { GraphQL, type GraphQLOptions } from 'filigree'

const books = [
  { id: 1, title: 'Emma', pages: 474, tags: ['novel'], author: { name: 'Jane Austen' } },
  { id: 2, title: 'Walden', pages: 352, tags: [], author: { name: 'Henry Thoreau' } },
]

/** The titles that the mutation has written. */
export const written: string[] = []

interface BookInput {
  title: string
  notes?: { text: string }[]
}

export function createLibrary(options: GraphQLOptions = {}): GraphQL {
  const graphql = new GraphQL(options)
  graphql.schema
    .addType('Author', { name: 'String!', books: '[Book!]', self: 'Author' })
    .addType('Book', {
      id: 'ID!',
      title: 'String!',
      pages: 'Int',
      tags: '[String!]',
      author: 'Author',
      isbn: 'String',
    })
    .addInput('NoteInput', { text: 'String!' })
    .addInput('BookInput', { title: 'String!', notes: '[NoteInput!]' })
    .addQuery('book', {
      type: 'Book',
      args: { id: 'ID!' },
      resolve: (_root, { id }: { id: string }) => books.find((book) => String(book.id) === id),
    })
    .addQuery('books', {
      type: '[Book!]!',
      args: { limit: { type: 'Int', default: 10 } },
      resolve: async (_root, { limit }: { limit: number }) =>
        Promise.resolve(books.slice(0, limit)),
    })
    .addQuery('echo', {
      type: 'String',
      args: { text: { type: 'String', default: 'nothing' }, times: 'Int' },
      resolve: (_root, { text }: { text: string }) => text,
    })
    .addMutation('addBook', {
      type: 'Book',
      args: { input: 'BookInput!' },
      resolve: (_root, { input }: { input: BookInput }) => {
        written.push(input.title)
        return { id: 3, title: input.title, tags: input.notes?.map(({ text }) => text) ?? [] }
      },
    })
  return graphql
}
