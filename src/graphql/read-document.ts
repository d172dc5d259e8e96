/** Parses documents after checking their size. */
import type { DocumentNode, GraphQLError } from 'graphql'
import { graphqlCodes } from './errors.js'
import { graphqlLibrary } from './library.js'
import type { GraphqlLimits } from './limits.js'

/** Levels of nested brackets that the parser and the validator can process without exhausting the stack. */
const deepestBrackets = 200

/**
 * The maximum number of lines for each allowed token. The lexer needs 100 ms for 200,000 lines of comments or block
 * strings.
 */
const linesPerToken = 5

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
    const { kind } = lexer.advance()
    if (kind === TokenKind.EOF) return undefined
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
