/** Limits of the size and cost of operations, and the parser that checks the size of documents. Source: decisions, GraphQL. */
import type { DocumentNode, GraphQLError } from 'graphql'
import { declareOptions, type Option, type ValuesOf } from '../options/declare-options.js'
import { option } from '../options/option.js'
import { defaultLimits } from '../http/limits.js'
import { graphqlCodes } from './errors.js'
import { graphqlLibrary } from './library.js'

const limit = (defaultValue: number): Option<number, number> =>
  option
    .of<number>((value) => Number(value) >= 1, 'Use a number from 1, or Infinity for no limit.')
    .shown()
    .default(defaultValue)

/** `Infinity` turns a limit off. */
export const limitOptions = declareOptions({
  /** Bytes of the document, and of the request body. Default 1,048,576. Code `DOCUMENT_TOO_LARGE`. */
  bytes: limit(1_048_576),
  /** Names, numbers, strings and punctuation of the document. Default 2,000. Code `TOO_MANY_TOKENS`. */
  tokens: limit(2_000),
  /** Values of the variables. An object counts as ten more. Default 100,000. Code `TOO_MANY_VALUES`. */
  values: limit(100_000),
  /** Levels of nested selection sets, with fragments expanded. Default 12. Code `TOO_DEEP`. */
  depth: limit(12),
  /** Fields with an alias, with fragments expanded. Default 30. Code `TOO_MANY_ALIASES`. */
  aliases: limit(30),
  /** Root fields of the operation, with fragments expanded. Default 20. Code `TOO_MANY_ROOT_FIELDS`. */
  rootFields: limit(20),
  /**
   * 1 a field, times the limit inside lists, and what its filters, orders and offsets make the database do. Default:
   * the application's `limits.cost`, 5,000. Code `TOO_COSTLY`.
   */
  cost: limit(defaultLimits.cost),
  /** The maximum of `limit` and `first` in generated lists. Default 1,000. */
  listMax: limit(1_000),
})

/**
 * The limits of an operation. An operation over a limit is rejected like an invalid document, with the limit's code.
 */
export interface GraphqlLimits extends ValuesOf<typeof limitOptions> {}

/** Levels of nested brackets that the parser and the validator can process without exhausting the stack. */
const deepestBrackets = 200

/**
 * The maximum number of lines for each allowed token. The lexer needs 100 ms for 200,000 lines of comments or block
 * strings.
 */
const linesPerToken = 5

/**
 * The maximum length of a name in a document or in variables. graphql-js compares each unknown name with those of the
 * schema, which takes 100 ms for 500,000 characters.
 */
export const longestName = 1000

/**
 * Parses a document. Its tokens are counted first, without recursion, because deeply nested text would overflow the
 * parser's stack.
 *
 * @returns the document or its error
 */
export function readDocument(text: string, limits: GraphqlLimits): DocumentNode | GraphQLError {
  const { GraphQLError, parse } = graphqlLibrary()
  if (text.length > limits.bytes || Buffer.byteLength(text) > limits.bytes) {
    return overLimit('bytes', `The document is longer than ${limits.bytes} bytes.`)
  }
  const maxLines = linesPerToken * limits.tokens
  if (hasMoreLines(text, maxLines)) {
    return overLimit('tokens', `The document has more than ${maxLines} lines.`)
  }
  try {
    return scan(text, limits) ?? parse(text)
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error
    return error
  }
}

function hasMoreLines(text: string, maxLines: number): boolean {
  // Each line has at least one character.
  if (text.length <= maxLines) return false
  let lines = 1
  for (const end of ['\n', '\r']) {
    let position = -1
    while ((position = text.indexOf(end, position + 1)) !== -1) if (++lines > maxLines) return true
  }
  return false
}

/** The error of a limit, with the limit's code. */
export function overLimit(
  limit: Exclude<keyof GraphqlLimits, 'listMax'>,
  message: string,
): GraphQLError {
  const { GraphQLError } = graphqlLibrary()
  return new GraphQLError(message, { extensions: { code: graphqlCodes[limit] } })
}

/** Counts tokens and nested brackets. @throws {GraphQLError} a syntax error of the lexer */
function scan(text: string, limits: GraphqlLimits): GraphQLError | undefined {
  const { Lexer, Source, TokenKind } = graphqlLibrary()
  const lexer = new Lexer(new Source(text))
  let tokens = 0
  let level = 0
  for (;;) {
    const { kind, start, end } = lexer.advance()
    if (kind === TokenKind.EOF) return undefined
    if (kind === TokenKind.NAME && end - start > longestName) {
      return overLimit('tokens', `A name has more than ${longestName} characters.`)
    }
    tokens += 1
    if (tokens > limits.tokens) {
      return overLimit('tokens', `The document has more than ${limits.tokens} tokens.`)
    }
    if (kind === TokenKind.BRACE_L || kind === TokenKind.BRACKET_L || kind === TokenKind.PAREN_L) {
      level += 1
      if (level > deepestBrackets) {
        return overLimit('depth', `The document is nested deeper than ${deepestBrackets} levels.`)
      }
    } else if (
      kind === TokenKind.BRACE_R ||
      kind === TokenKind.BRACKET_R ||
      kind === TokenKind.PAREN_R
    ) {
      level -= 1
    }
  }
}
