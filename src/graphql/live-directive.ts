/** The directive `@live` of live queries. */
import type { GraphQLDirective } from 'graphql'
import { graphqlLibrary } from './library.js'

let directive: GraphQLDirective | undefined

/** The same in every schema. */
export function liveDirective(): GraphQLDirective {
  const { DirectiveLocation, GraphQLBoolean, GraphQLDirective, GraphQLNonNull } = graphqlLibrary()
  directive ??= new GraphQLDirective({
    name: 'live',
    description:
      'A live query: sends its result once, and then a diff whenever the result changes. Requires Accept: text/event-stream or graphql-transport-ws.',
    locations: [DirectiveLocation.QUERY],
    args: {
      whole: {
        type: new GraphQLNonNull(GraphQLBoolean),
        defaultValue: false,
        description: 'Send the complete result each time, for clients that cannot apply diffs.',
      },
    },
  })
  return directive
}
