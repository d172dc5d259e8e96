/** Parses the source text of methods and classes, which JavaScript stores. The parser is loaded lazily. */
import { createRequire } from 'node:module'
import type { Parser, Program } from 'acorn'

export type { ClassBody, MethodDefinition, Pattern, PropertyDefinition } from 'acorn'

/** @returns `undefined` for text that the parser rejects: `[native code]`, or syntax that is newer than the parser */
export function parseText(text: string): Program | undefined {
  try {
    return loadParser().parse(text, { ecmaVersion: 'latest', checkPrivateFields: false })
  } catch {
    return undefined
  }
}

let parser: typeof Parser | undefined

function loadParser(): typeof Parser {
  parser ??= (createRequire(import.meta.url)('acorn') as { Parser: typeof Parser }).Parser
  return parser
}
