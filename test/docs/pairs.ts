/**
 * Reads the pairs of the pages `docs/coming-from-….md`: code of another library, code of Filigree, and the responses of both.
 *
 * A section (`##`) with blocks of code is one pair. The first line of a block names its library: `// Express`, `// Filigree`. A
 * `console` block has requests with their responses, a `graphql` block an operation, and the `json` block behind it its result. A
 * `json` block without an operation is the value that a block of code exports as `answer`. All of them hold for each library,
 * or for the one that their first line names: `# Express`, `// Express`.
 *
 * Each row of a table whose header names libraries is one pair too. `toProgram` says how the code of its cells becomes a
 * program. Blocks of the same section stand before it. The last cell has requests or operations with their results, in code:
 * `GET /items/7` → `{"id":7}`. A line of it that begins with `Express:` holds for that library.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../repository/source-files.js'
import { readCommands } from '../tutorial/pages.js'
import { toRowProgram } from './row-programs.js'

export type Check =
  | { readonly kind: 'request'; readonly command: string; readonly answer: string }
  | { readonly kind: 'operation'; readonly operation: string; readonly result: unknown }
  | { readonly kind: 'value'; readonly value: unknown }

export interface Pair {
  readonly title: string
  /** Code by library. */
  readonly blocks: ReadonlyMap<string, string>
  readonly checks: readonly (Check & { readonly of: string | undefined })[]
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
    .flatMap((section) => {
      const pair = readPair(section.slice(0, section.indexOf('\n')), section)
      return [...(pair.checks.length > 0 ? [pair] : []), ...readRows(section, pair.blocks)]
    })
    .filter(({ blocks }) => blocks.size > 0)
}

/** The rows of a table whose header names libraries. */
function readRows(section: string, before: ReadonlyMap<string, string>): Pair[] {
  const lines = section.split('\n').filter((line) => line.startsWith('|'))
  const [header = [], , ...rows] = lines.map(readCells)
  if (!header.includes('Filigree') || header.at(-1) !== 'Result') return []
  return rows.map((cells) => {
    const codes = header
      .map((side, at) => ({ side, parts: readCode(cells[at] ?? '') }))
      .filter(({ side }, at) => at > 0 && side !== 'Result')
      .map(({ side, parts }) => [side, toRowProgram(side, parts, before.get(side))] as const)
    return {
      title: cells[0] ?? '',
      blocks: new Map(codes),
      checks: readResults(cells.at(-1) ?? ''),
    }
  })
}

function readCells(line: string): string[] {
  return line
    .replace(/\\\|/g, '\0')
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.replaceAll('\0', '|').trim())
}

/** The texts between backticks, of two also: ``` `` `a` `` ```. */
function readCode(cell: string): string[] {
  return [...cell.matchAll(/(`+)(.+?)\1(?!`)/g)].map(([, , text = '']) => text.trim())
}

/** Each line has requests or operations with their results, or one value. */
function readResults(cell: string): Pair['checks'] {
  return cell.split('<br>').flatMap((line) => {
    const of = /^\s*([A-Za-z]+): /.exec(line)?.[1]
    const parts = readCode(line)
    const [first = ''] = parts
    if (/^[A-Z]+ \//.test(first)) return readRequests(parts).map((ask) => ({ ...ask, of }))
    if (/^(?:\{ (?!")|mutation|subscription)/.test(first))
      return [
        { kind: 'operation', operation: first, result: { data: JSON.parse(parts[1] ?? '') }, of },
      ]
    return [{ kind: 'value', value: JSON.parse(first) as unknown, of }]
  })
}

/**
 * `GET /items/7`, then the headers that it has (`X-Tenant: acme`), then of its response the status (`404`), headers in lower case,
 * and the body. What a body is sent with follows the path: JSON, or the parts of a form, `title=Lamp photo=@lamp.txt`.
 */
function readRequests(parts: readonly string[]): Check[] {
  const checks: { kind: 'request'; command: string; answer: string }[] = []
  for (const part of parts) {
    const last = checks.at(-1)
    const [, method, path, body = ''] = /^([A-Z]+) (\/\S*) ?(.*)$/.exec(part) ?? []
    if (method !== undefined) {
      const sent = /^[[{"]/.test(body) ? `--json '${body}'` : body.replace(/\S+/g, '-F $&')
      const command = `curl -i -X ${method} 'localhost:3000${path}' ${sent}`.trim()
      checks.push({ kind: 'request', command, answer: 'HTTP/1.1 …' })
    } else if (last !== undefined && /^[A-Z][\w-]+: /.test(part)) last.command += ` -H '${part}'`
    else if (last !== undefined && /^\d{3}$/.test(part)) last.answer = `HTTP/1.1 ${part} …`
    else if (last !== undefined) last.answer += `\n${part}${/^[a-z-]+: /.test(part) ? '\n…' : ''}`
  }
  return checks
}

function readPair(title: string, section: string): Pair {
  const blocks = new Map<string, string>()
  const checks: (Check & { of: string | undefined })[] = []
  let operation: { text: string; of: string | undefined } | undefined
  for (const [, language, text = ''] of section.matchAll(/^```(\w+)\n([^]*?)^```$/gm)) {
    const of = /^(?:#|\/\/) (\w+)\n/.exec(text)?.[1]
    if (language === 'ts' && of !== undefined) blocks.set(of, text)
    if (language === 'console')
      for (const { command, response: answer } of readCommands(text))
        checks.push({ kind: 'request', command, answer, of })
    if (language === 'graphql') operation = { text, of }
    if (language === 'json') {
      const json = JSON.parse(text.replace(/^\/\/.*\n/, '')) as unknown
      if (operation === undefined) checks.push({ kind: 'value', value: json, of })
      else
        checks.push({
          kind: 'operation',
          operation: operation.text,
          result: json,
          of: operation.of ?? of,
        })
    }
  }
  return { title, blocks, checks }
}

/**
 * A value as pages show it: as JSON sends it, a stored row by its name alone, with the related rows that were loaded.
 */
export function toComparable(value: unknown): unknown {
  return showPlain(JSON.parse(JSON.stringify(value)) as unknown)
}

function showPlain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(showPlain)
  if (typeof value !== 'object' || value === null || !('id' in value && 'name' in value))
    return value
  const related = Object.entries(value).filter(
    ([, part]) => typeof part === 'object' && part !== null,
  )
  if (related.length === 0) return value.name
  return {
    name: value.name,
    ...Object.fromEntries(related.map(([name, part]) => [name, showPlain(part)])),
  }
}
