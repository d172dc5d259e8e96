/** Formats JSON and GraphQL in the editors of the IDE. It stands in for Prettier, whose parsers for JSON are large. */
import { applyEdits, format as findEdits } from 'jsonc-parser'
import type { Options } from 'prettier'
import { format as formatGraphql } from 'prettier/standalone'

export function format(text: string, options: Options): Promise<string> {
  if (options.parser !== 'jsonc') return formatGraphql(text, options)
  const edits = findEdits(text, undefined, {
    insertSpaces: true,
    tabSize: 2,
    insertFinalNewline: true,
  })
  return Promise.resolve(applyEdits(text, edits))
}

export const parsers = {}
export const printers = {}
