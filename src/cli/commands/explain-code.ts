/** Explains an error code with the tables of docs/errors.md, which has every code. */
import { didYouMean } from '../../errors/did-you-mean.js'
import { methods } from '../../routing/route-table.js'
import { exitCodes, type Terminal, toJson, UsageError } from '../command.js'
import { readPage } from './docs.js'

/** An entry of docs/errors.md. A code can have several, for example for REST and for GraphQL. */
interface Explanation {
  readonly code: string
  /** The headings above the entry: `At the start`, `Routes and access`. */
  readonly section: string
  /** The status of a response. Undefined for problems at the start, and in GraphQL. */
  readonly status: string | undefined
  readonly text: string
}

/** @returns true for a text such as `UNKNOWN_PATH_TYPE`, but not for a method of HTTP */
export function isErrorCode(text: string): boolean {
  return /^[A-Z][A-Z0-9_]{2,}$/.test(text) && !['HEAD', ...methods].includes(text)
}

/** @returns the exit code @throws {UsageError} the code is unknown */
export async function explainCode(
  code: string,
  json: boolean,
  { out }: Pick<Terminal, 'out'>,
): Promise<number> {
  const all = readExplanations(await readPage('errors'))
  const found = all.filter((one) => one.code === code)
  if (found.length === 0) {
    const codes = new Set(all.map((one) => one.code))
    const suggestion = didYouMean(code, codes)
    throw new UsageError(
      `unknown error code ${code}. ${suggestion === '' ? 'filigree docs errors lists all codes.' : suggestion}`,
    )
  }
  await out(json ? toJson(found) : found.map(toText).join('\n'))
  return exitCodes.done
}

/** Reads the rows of tables whose first or second cell has codes. */
function readExplanations(page: string): Explanation[] {
  const headings: string[] = []
  return page.split('\n').flatMap((line) => {
    const [, marks, heading] = /^(#{2,3}) (.+)$/.exec(line) ?? []
    if (marks !== undefined && heading !== undefined) headings.splice(marks.length - 2, 2, heading)
    if (!line.startsWith('|')) return []
    const cells = line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('\\|', '|'))
    const index = cells.findIndex((cell) => /^`[A-Z0-9_]{3,}`/.test(cell))
    if (index === -1) return []
    const codes = [...(cells[index] ?? '').matchAll(/`([A-Z0-9_]+)`/g)].flatMap(
      ([, code]) => code ?? [],
    )
    const text = plainText(cells[index + 1] ?? '')
    const status = index === 0 ? undefined : cells[0]
    return codes.map((code) => ({ code, section: headings.join(', '), status, text }))
  })
}

/** Removes the Markdown of links. */
function plainText(text: string): string {
  return text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
}

function toText({ code, section, status, text }: Explanation): string {
  const origin = status === undefined ? section : `${section}, status ${status}`
  const sentence = `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.:]$/.test(text) ? '' : '.'}`
  return `${code} (${origin})\n  ${sentence}\n`
}
