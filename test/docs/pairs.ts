/**
 * What the pages `docs/coming-from-….md` hold beside each other: below each heading the same thing in another library and in
 * ours, and what both answer.
 *
 * The first line of a block of code names its library: `// Express`, `// Filigree`. A `console` block has requests with their
 * answers, a `graphql` block an operation and the `json` block behind it its result; a `json` block without an operation is the
 * value that a block of code exports as `answer`. All of them hold for each library, or for the one that their first line names:
 * `# Express`, `// Express`.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../repository/source-files.js'
import { readCommands } from '../tutorial/pages.js'

export type Ask =
  | { readonly kind: 'request'; readonly command: string; readonly answer: string }
  | { readonly kind: 'operation'; readonly operation: string; readonly result: unknown }
  | { readonly kind: 'value'; readonly value: unknown }

export interface Pair {
  readonly title: string
  /** Code by library. */
  readonly blocks: ReadonlyMap<string, string>
  readonly asks: readonly (Ask & { readonly of: string | undefined })[]
}

export interface PairPage {
  /** `express` of `coming-from-express.md`. */
  readonly name: string
  readonly pairs: readonly Pair[]
}

export function readPairPages(): PairPage[] {
  const folder = join(root, 'docs')
  return readdirSync(folder)
    .map((file) => ({ file, name: /^coming-from-(.+)\.md$/.exec(file)?.[1] }))
    .filter((page): page is { file: string; name: string } => page.name !== undefined)
    .map(({ file, name }) => ({ name, pairs: readPairs(readFileSync(join(folder, file), 'utf8')) }))
}

function readPairs(markdown: string): Pair[] {
  return markdown
    .split(/^## /m)
    .slice(1)
    .map((section) => readPair(section.slice(0, section.indexOf('\n')), section))
    .filter(({ blocks }) => blocks.size > 0)
}

function readPair(title: string, section: string): Pair {
  const blocks = new Map<string, string>()
  const asks: (Ask & { of: string | undefined })[] = []
  let operation: { text: string; of: string | undefined } | undefined
  for (const [, language, text = ''] of section.matchAll(/^```(\w+)\n([^]*?)^```$/gm)) {
    const of = /^(?:#|\/\/) (\w+)\n/.exec(text)?.[1]
    if (language === 'ts' && of !== undefined) blocks.set(of, text)
    if (language === 'console')
      for (const { command, answer } of readCommands(text))
        asks.push({ kind: 'request', command, answer, of })
    if (language === 'graphql') operation = { text, of }
    if (language === 'json') {
      const json = JSON.parse(text.replace(/^\/\/.*\n/, '')) as unknown
      if (operation === undefined) asks.push({ kind: 'value', value: json, of })
      else
        asks.push({
          kind: 'operation',
          operation: operation.text,
          result: json,
          of: operation.of ?? of,
        })
    }
  }
  return { title, blocks, asks }
}
