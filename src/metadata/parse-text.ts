/** Reads what a method or a class declares, from the text that JavaScript keeps of it. The parser is loaded when it is first needed. */
import { createRequire } from 'node:module'
import type { Parser, Program } from 'acorn'

export type { ClassBody, MethodDefinition, Pattern, PropertyDefinition } from 'acorn'

/** @returns `undefined` for a text that is no JavaScript: `[native code]`, a syntax that is newer than the parser */
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
