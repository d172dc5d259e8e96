/** The package `graphql`, loaded when GraphQL is first used, so that applications without GraphQL do not load it. */
import { createRequire } from 'node:module'
import type * as graphql from 'graphql'

/** The exports of the package `graphql`: the same functions and classes that applications import. */
export type GraphqlLibrary = typeof graphql

let library: GraphqlLibrary | undefined

/** Loaded synchronously: in Node the package is CommonJS, so the process has a single `GraphQLError`. */
export function graphqlLibrary(): GraphqlLibrary {
  library ??= createRequire(import.meta.url)('graphql') as GraphqlLibrary
  return library
}
