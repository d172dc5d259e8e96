/** `query @live`: the result is sent once, and then what changes. */
import type { GraphQLDirective } from 'graphql'
import { graphqlLibrary } from './library.js'

let directive: GraphQLDirective | undefined

/** The same in every schema. */
export function liveDirective(): GraphQLDirective {
  const { DirectiveLocation, GraphQLBoolean, GraphQLDirective, GraphQLNonNull } = graphqlLibrary()
  directive ??= new GraphQLDirective({
    name: 'live',
    description:
      'Sent with Accept: text/event-stream, or by graphql-transport-ws, the answer stays true: whenever it changes, what differs is sent.',
    locations: [DirectiveLocation.QUERY],
    args: {
      whole: {
        type: new GraphQLNonNull(GraphQLBoolean),
        defaultValue: false,
        description: 'Send the whole answer each time, for clients that know no differences.',
      },
    },
  })
  return directive
}
