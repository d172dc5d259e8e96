/** `query @live`: a query whose answer stays true. Source: decisions, "Third storey: live answers". */
import type { GraphQLDirective } from 'graphql'
import { graphqlLibrary } from './library.js'
import type { Operation } from './operation.js'
import type { Variables } from './outcome.js'

export interface AskedLive {
  /** The whole answer each time, for clients that know no differences. */
  readonly whole: boolean
}

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

/** @returns undefined for operations that are not live */
export function readLive({ node }: Operation, variables: Variables): AskedLive | undefined {
  const asked = node.directives?.find(({ name }) => name.value === 'live')
  if (asked === undefined) return undefined
  const { getDirectiveValues } = graphqlLibrary()
  const { whole } = getDirectiveValues(liveDirective(), node, coercible(variables)) ?? {}
  return { whole: whole === true }
}

/** A variable stands for true or false alone: what else it is, the operation is refused for. */
function coercible(variables: Variables): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(variables).filter(([, value]) => typeof value === 'boolean'),
  )
}
