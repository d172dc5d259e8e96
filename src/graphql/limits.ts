/** Limits of the size and cost of operations. Source: decisions, GraphQL. */
import type { Problem } from '../errors/declaration-error.js'
import { refuseUnknownNames } from '../errors/unknown-options.js'

/**
 * The limits of an operation. An operation over a limit is rejected like an invalid document, with the limit's code.
 */
export interface GraphqlLimits {
  /** Bytes of the document, and of the request body. Default 1,048,576. Code `DOCUMENT_TOO_LARGE`. */
  readonly bytes: number
  /** Names, numbers, strings and punctuation of the document. Default 2,000. Code `TOO_MANY_TOKENS`. */
  readonly tokens: number
  /** Values of the variables. An object counts as ten more. Default 100,000. Code `TOO_MANY_VALUES`. */
  readonly values: number
  /** Levels of nested selection sets, with fragments expanded. Default 12. Code `TOO_DEEP`. */
  readonly depth: number
  /** Fields with an alias, with fragments expanded. Default 30. Code `TOO_MANY_ALIASES`. */
  readonly aliases: number
  /** Root fields of the operation, with fragments expanded. Default 20. Code `TOO_MANY_ROOT_FIELDS`. */
  readonly rootFields: number
  /**
   * 1 a field, times the limit inside lists, and what its filters, orders and offsets make the database do. Default:
   * the application's `limits.cost`, 5,000. Code `TOO_COSTLY`.
   */
  readonly cost: number
  /** The maximum of `limit` and `first` in generated lists. Default 1,000. */
  readonly listMax: number
}

export const defaultGraphqlLimits: GraphqlLimits = Object.freeze({
  bytes: 1_048_576,
  tokens: 2_000,
  values: 100_000,
  depth: 12,
  aliases: 30,
  rootFields: 20,
  cost: 5_000,
  listMax: 1_000,
})

const limitNames = Object.fromEntries(
  Object.keys(defaultGraphqlLimits).map((name) => [name, true]),
) as Record<keyof GraphqlLimits, true>

export function refuseUnknownLimits(options: object, problems: Problem[]): void {
  refuseUnknownNames('GraphQL limits', options, limitNames, problems)
}

/** @param options without unknown names; `Infinity` turns a limit off */
export function resolveGraphqlLimits(
  options: Partial<GraphqlLimits>,
  problems: Problem[],
): GraphqlLimits {
  for (const [name, value] of Object.entries(options)) {
    if (typeof value === 'number' && value >= 1) continue
    problems.push({
      code: 'INVALID_OPTION',
      message: `GraphQL limits.${name} is ${String(value)}.`,
      remedy: 'Use a number from 1, or Infinity for no limit.',
    })
  }
  return Object.freeze({ ...defaultGraphqlLimits, ...options })
}
