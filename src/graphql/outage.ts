/**
 * Whether an operation has no result because the database does not answer: then the whole answer is 503, as everywhere
 * else. Source: decisions, Second storey: rulings, "The database is gone".
 */
import type { GraphQLError } from 'graphql'
import { HttpError } from '../errors/http-error.js'
import { thrownIn } from './error-entries.js'
import { graphqlLibrary } from './library.js'
import type { Operation } from './operation.js'
import type { Outcome } from './outcome.js'

/** The code of what repositories throw where the database does not answer. */
const unavailable = 'DATABASE_UNAVAILABLE'

/** @returns what was thrown; `undefined` where something was read or, as far as is known, written */
export function findOutage(
  { data, text, errors }: Outcome,
  operation: Operation,
): HttpError | undefined {
  const error = errors?.find((one) => toOutage(one) !== undefined)
  if (error === undefined) return undefined
  const result = text === undefined ? data : (JSON.parse(text) as object | null)
  if (result === undefined || result === null) {
    return isAfterOthers(error, operation) ? undefined : toOutage(error)
  }
  return Object.values(result).every((value) => value === null) ? toOutage(error) : undefined
}

/** The fields of a mutation that stood before this one were done, though `data` is null: the same again would do them twice. */
function isAfterOthers({ path }: GraphQLError, operation: Operation): boolean {
  if (operation.node.operation !== graphqlLibrary().OperationTypeNode.MUTATION) return false
  const [first] = [...operation.everyRoot()].map(([key]) => key)
  return path !== undefined && path[0] !== first
}

function toOutage(error: GraphQLError): HttpError | undefined {
  const thrown = thrownIn(error)
  return thrown instanceof HttpError && thrown.code === unavailable ? thrown : undefined
}
