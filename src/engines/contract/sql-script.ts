/** Reads the text of SQL scripts as far as changes of the schema need it: where statements end, and which comments begin a line. */
import type { DialectAbilities } from './dialect.js'

/** How scripts of different databases differ. */
export type ScriptSyntax = Pick<DialectAbilities, 'nestedComments'>

/** `create index a …; -- b` → `['create index a …']`: a part that contains only comments is left out. */
export function splitStatements(script: string, syntax: ScriptSyntax): string[] {
  const statements: string[] = []
  let start = 0
  let hasStatement = false
  let nesting = new Nesting()
  const finish = (end: number): void => {
    if (hasStatement) statements.push(script.slice(start, end).trim())
    start = end + 1
    hasStatement = false
    nesting = new Nesting()
  }
  for (let position = 0; position < script.length;) {
    const end = skip(script, position, syntax)
    nesting.read(script.slice(position, end))
    if (script[position] === ';' && !nesting.isInside) finish(position)
    else hasStatement ||= !/^(?:\s|--|\/\*)/.test(script.slice(position, position + 2))
    position = end
  }
  finish(script.length)
  return statements
}

/**
 * The parts of a statement that may contain semicolons: parentheses, as in a rule of several statements, and the body
 * `begin atomic … end` of a function. Source: psql, which ends statements in the same way.
 */
class Nesting {
  #parentheses = 0
  #blocks = 0
  /** The first words of the statement. */
  readonly #words: string[] = []

  get isInside(): boolean {
    return this.#parentheses > 0 || this.#blocks > 0
  }

  read(token: string): void {
    if (token === '(') this.#parentheses++
    else if (token === ')') this.#parentheses--
    else if (/^[a-z]/i.test(token)) this.#readWord(token.toLowerCase())
  }

  #readWord(word: string): void {
    if (this.#words.length < 4) this.#words.push(word)
    const [create, ...rest] = this.#words
    const isRoutine =
      create === 'create' && /^(?:or replace )?(?:function|procedure)\b/.test(rest.join(' '))
    if (!isRoutine) return
    if (word === 'begin' || (word === 'case' && this.#blocks > 0)) this.#blocks++
    else if (word === 'end' && this.#blocks > 0) this.#blocks--
  }
}

/** A comment `-- …` that is alone on its line. */
export interface LineComment {
  /** The whole line. */
  readonly text: string
  /** From 1. */
  readonly line: number
  /** The position of the line in the script, and of the line after it. */
  readonly start: number
  readonly end: number
}

/** The comments that are alone on their lines. Lines within texts, names and other comments are not among them. */
export function readLineComments(script: string, syntax: ScriptSyntax): LineComment[] {
  const comments: LineComment[] = []
  let line = 1
  let lineStart = 0
  for (let position = 0; position < script.length;) {
    const end = skip(script, position, syntax)
    if (script.startsWith('--', position) && script.slice(lineStart, position).trim() === '')
      comments.push({ text: script.slice(lineStart, end), line, start: lineStart, end: end + 1 })
    for (let at = script.indexOf('\n', position); at >= 0 && at < end;) {
      line++
      lineStart = at + 1
      at = script.indexOf('\n', lineStart)
    }
    position = end
  }
  return comments
}

/**
 * Splits a script before each of its statements that drops a table. Such statements cannot be part of a trigger.
 *
 * @returns the parts in order; all but the first begin with `drop table`
 */
export function splitBeforeDroppedTables(script: string, syntax: ScriptSyntax): string[] {
  const parts: string[] = []
  let start = 0
  for (let position = 0; position < script.length;) {
    if (dropTable.test(script.slice(position, position + 200)) && position > start) {
      parts.push(script.slice(start, position))
      start = position
    }
    position = skip(script, position, syntax)
  }
  return [...parts, script.slice(start)]
}

const dropTable = /^drop\s+table\b/i

/** The script without its comments. */
export function removeComments(script: string, syntax: ScriptSyntax): string {
  return removeTokens(script, syntax, /^(?:--|\/\*)/)
}

/** The words and symbols of a script: without comments, texts and quoted names. */
export function readBareCode(script: string, syntax: ScriptSyntax): string {
  return removeTokens(script, syntax, /^(?:--|\/\*|[eE]?'|"|\$)/)
}

function removeTokens(script: string, syntax: ScriptSyntax, removed: RegExp): string {
  let rest = ''
  for (let position = 0; position < script.length;) {
    const end = skip(script, position, syntax)
    const token = script.slice(position, end)
    // A single character is a symbol, for example the minus of a sum.
    rest += token.length > 1 && removed.test(token) ? ' ' : token
    position = end
  }
  return rest
}

/** Tokens whose semicolons do not end a statement. All other text is skipped character by character. */
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

/** @returns the position after the token that starts here */
function skip(script: string, position: number, syntax: ScriptSyntax): number {
  if (script.startsWith('/*', position)) return skipComment(script, position, syntax)
  for (const token of tokens) {
    token.lastIndex = position
    if (token.test(script)) return token.lastIndex
  }
  return position + 1
}

function skipComment(script: string, position: number, { nestedComments }: ScriptSyntax): number {
  let depth = 0
  const delimiters = /\/\*|\*\//g
  delimiters.lastIndex = position
  for (let mark = delimiters.exec(script); mark !== null; mark = delimiters.exec(script)) {
    if (mark[0] === '*/') depth--
    else if (depth === 0 || nestedComments) depth++
    if (depth === 0) return delimiters.lastIndex
  }
  return script.length
}
