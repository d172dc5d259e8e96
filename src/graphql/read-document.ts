/** Reads a document's text, having made sure that it is small enough to be read at all. */
import type { DocumentNode, GraphQLError } from 'graphql'
import { graphqlCodes } from './errors.js'
import { graphqlLibrary } from './library.js'
import type { GraphqlLimits } from './limits.js'

/** Brackets in brackets that every parser and validator takes without running out of stack. */
const deepestBrackets = 200

/** Lines of a document for each token that it may have. The lexer needs 100 ms for 200,000 lines of comments or of a block string. */
const linesPerToken = 5

/**
 * Parses a document. The text is scanned first, token by token and without recursion: a text of 20,000 levels would
 * overflow the parser's stack.
 *
 * @returns the document, or the one error that it has
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
  // Each line has a character at least.
  if (text.length <= maxLines) return false
  let lines = 1
  for (const end of ['\n', '\r']) {
    let position = -1
    while ((position = text.indexOf(end, position + 1)) !== -1) if (++lines > maxLines) return true
  }
  return false
}

/** An error entry with the limit's code. */
export function overLimit(
  limit: Exclude<keyof GraphqlLimits, 'listMax'>,
  message: string,
): GraphQLError {
  const { GraphQLError } = graphqlLibrary()
  return new GraphQLError(message, { extensions: { code: graphqlCodes[limit] } })
}

/** @throws {GraphQLError} where the text is no GraphQL; the parser would not read further than that either */
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
