/** The cost that an operation may have before it is rejected. Source: decisions, GraphQL. */
import type { Problem } from '../errors/declaration-error.js'
import { refuseUnknownNames } from '../errors/unknown-options.js'

/** Each can be set; over one of them an operation is answered like an invalid document, with the limit's own code. */
export interface GraphqlLimits {
  /** Bytes of the document, and of the request's body. Default 1,048,576. Code `DOCUMENT_TOO_LARGE`. */
  readonly bytes: number
  /** Names, numbers, strings and punctuation of the document. Default 2,000. Code `TOO_MANY_TOKENS`. */
  readonly tokens: number
  /** Values of the variables, an object counting as ten more. Default 100,000. Code `TOO_MANY_VALUES`. */
  readonly values: number
  /** Nested selection sets, the root field's being 1, fragments expanded. Default 12. Code `TOO_DEEP`. */
  readonly depth: number
  /** Fields with an alias, fragments expanded. Default 30. Code `TOO_MANY_ALIASES`. */
  readonly aliases: number
  /** Fields of the operation itself, fragments expanded. Default 20. Code `TOO_MANY_ROOT_FIELDS`. */
  readonly rootFields: number
  /**
   * 1 a field, times the limit inside lists, and what its filters, orders and offsets make the database do. Default: the
   * application's `limits.cost`, 5,000. Code `TOO_COSTLY`.
   */
  readonly cost: number
  /** The largest `limit` and `first` of generated lists. Default 1,000. */
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

/** @param options with known names; `Infinity` turns a limit off */
export function resolveGraphqlLimits(
  options: Partial<GraphqlLimits>,
  problems: Problem[],
): GraphqlLimits {
  for (const [name, value] of Object.entries(options)) {
    if (typeof value === 'number' && value >= 1) continue
    problems.push({
      code: 'INVALID_OPTION',
      message: `GraphQL limits.${name} is ${String(value)}.`,
      remedy: 'Give a number from 1, or Infinity for no limit.',
    })
  }
  return Object.freeze({ ...defaultGraphqlLimits, ...options })
}
