/** Splits a script of PostgreSQL's SQL into its statements. Source: PostgreSQL, Lexical Structure. */

/** `create index a …; -- b` → `['create index a …']`: a part that contains only comments is left out. */
export function splitStatements(script: string): string[] {
  const statements: string[] = []
  let start = 0
  let says = false
  const finish = (end: number): void => {
    if (says) statements.push(script.slice(start, end).trim())
    start = end + 1
    says = false
  }
  for (let place = 0; place < script.length;) {
    const end = skip(script, place)
    if (script[place] === ';') finish(place)
    else says ||= !/^(?:\s|--|\/\*)/.test(script.slice(place, place + 2))
    place = end
  }
  finish(script.length)
  return statements
}

/** Tokens that may contain a semicolon which ends no statement; all other text is skipped character by character. */
const tokens = [
  /--[^\n]*/y,
  /[eE]'(?:[^'\\]|''|\\[^])*'/y,
  /'(?:[^']|'')*'/y,
  /"(?:[^"]|"")*"/y,
  // Dollar-quoted text, with or without a tag.
  /(\$(?:[\p{L}_][\p{L}\p{N}_]*)?\$)[^]*?\1/uy,
  // Names: an "e" or a "$" within a name starts no string.
  /[\p{L}_][\p{L}\p{N}_$]*/uy,
]

/** @returns the place behind the token that starts here */
function skip(script: string, place: number): number {
  if (script.startsWith('/*', place)) return skipComment(script, place)
  for (const token of tokens) {
    token.lastIndex = place
    if (token.test(script)) return token.lastIndex
  }
  return place + 1
}

/** Comments of this kind may be nested. */
function skipComment(script: string, place: number): number {
  let depth = 0
  const marks = /\/\*|\*\//g
  marks.lastIndex = place
  for (let mark = marks.exec(script); mark !== null; mark = marks.exec(script)) {
    depth += mark[0] === '/*' ? 1 : -1
    if (depth === 0) return marks.lastIndex
  }
  return script.length
}
