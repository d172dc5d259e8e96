/** Reads what only the SQL of a table says: its checks, and the columns that are compared without regard to case. */

export interface TableText {
  /** The conditions of checks, as they were written. */
  readonly checks: readonly string[]
  /** In lower case. */
  readonly caselessColumns: ReadonlySet<string>
}

/** @param sql `create table product (price real check (price >= 0))` */
export function readTableText(sql: string): TableText {
  const checks: string[] = []
  const caselessColumns = new Set<string>()
  let [depth, checkStart] = [0, -1]
  /** The tokens of a definition outside of its parentheses, in lower case. */
  let words: string[] = []
  for (const { 0: token, index } of sql.matchAll(tokens)) {
    if (/^(?:--|\/\*)/.test(token)) continue
    if (token === '(' && ++depth === 2 && words.at(-1) === 'check') checkStart = index + 1
    if (token === ')' && depth-- === 2 && checkStart >= 0) {
      checks.push(sql.slice(checkStart, index))
      checkStart = -1
    }
    if (depth !== 1) continue
    if (token === ',') words = []
    else if (token !== '(' && token !== ')') {
      words.push(token.toLowerCase())
      const [name = ''] = words
      // Spaces at the end do not count with rtrim.
      if (words.at(-2) === 'collate' && /^\W?(?:nocase|rtrim)/.test(words.at(-1) ?? ''))
        caselessColumns.add(/^\w/.test(name) ? name : name.slice(1, -1))
    }
  }
  return { checks, caselessColumns }
}

/** Texts and names in quotes, comments, words, and the symbols that structure a definition. */
const tokens =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|--[^\n]*|\/\*[^]*?\*\/|[(),]|[\p{L}_][\p{L}\p{N}_$]*/giu
