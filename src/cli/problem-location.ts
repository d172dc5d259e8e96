/**
 * Finds the source line of a configuration problem by the names in its message. `ItemController.show: unknown type "integer".`
 * leads to the class, in it to the member, and there to the text `integer`.
 */
import { readFileSync } from 'node:fs'
import { escapePattern } from '../core/text.js'
import type { Problem } from '../errors/declaration-error.js'

export interface SourceLocation {
  /** Absolute path. */
  readonly file: string
  /** From 1. */
  readonly line: number
  /** From 1. */
  readonly column: number
  /** The number of characters to mark. */
  readonly length: number
  /** All lines of the file. */
  readonly lines: readonly string[]
}

/** A range of lines of a file. Indexes are from 0, and `end` is the last line. */
interface Block {
  readonly file: string
  readonly lines: readonly string[]
  readonly start: number
  readonly end: number
  /** The line of the name. */
  readonly line: number
  readonly name: string
}

const maxCallLines = 200

/** An index of the classes in an application's sources. */
export class SourceIndex {
  readonly #files = new Map<string, readonly string[]>()
  readonly #classes = new Map<string, Block>()

  /** @param files absolute paths. The first declaration of a name counts */
  constructor(files: Iterable<string>) {
    for (const file of files) {
      const lines = readFileSync(file, 'utf8').split(/\r?\n/)
      this.#files.set(file, lines)
      lines.forEach((text, line) => {
        const name = classDeclaration.exec(text)?.[1]
        if (name !== undefined && !this.#classes.has(name))
          this.#classes.set(name, classBlock(file, lines, line, name))
      })
    }
  }

  /** @returns undefined if no name of the message is in the sources */
  locate({ message }: Pick<Problem, 'message'>): SourceLocation | undefined {
    const block = this.#classIn(message) ?? this.#callIn(message)
    if (block === undefined) return undefined
    for (const text of mentionedTexts(message)) {
      const found = findInBlock(block, text)
      if (found !== undefined) return found
    }
    return toLocation(
      block,
      block.line,
      (block.lines[block.line] ?? '').indexOf(block.name),
      block.name,
    )
  }

  /** The text of a class from its name on. @returns undefined if the sources do not declare it */
  classText(name: string): string | undefined {
    const block = this.#classes.get(name)
    return block && textOf(block)
  }

  /** The text of a member from its name on. @returns undefined if the class itself does not declare it */
  memberText(className: string, member: string): string | undefined {
    const owner = this.#classes.get(className)
    const block = owner && memberBlock(owner, member)
    return block && textOf(block)
  }

  /** Finds the first class that the message names, and its member if the message names one: `Item.price`. */
  #classIn(message: string): Block | undefined {
    for (const [, className = '', member] of withoutQuotes(message).matchAll(dottedName)) {
      const found = this.#classes.get(className)
      if (found === undefined) continue
      return (member === undefined ? undefined : memberBlock(found, member)) ?? found
    }
    return undefined
  }

  /** Finds the call that the message begins with: `bootstrap: port is "x".`, `GraphQL.registerRoute x: …`, `GraphQL: …`. */
  #callIn(message: string): Block | undefined {
    const [, name, method] = /^([A-Za-z]\w*)(?:\.([a-z]\w*))?(?=[ :.])/.exec(message) ?? []
    if (name === undefined) return undefined
    if (!/^[A-Z]/.test(name)) return this.#findCall(name, `(?<![\\w$.])${name}\\(`)
    const created = this.#findCall(name, `\\bnew ${name}\\(`)
    // Without an instance, a method of the same name is one of another class.
    if (created === undefined || method === undefined) return created
    return this.#findCall(method, `\\.${method}\\(`) ?? created
  }

  #findCall(name: string, pattern: string): Block | undefined {
    const call = new RegExp(pattern)
    for (const [file, lines] of this.#files) {
      const line = lines.findIndex((text) => call.test(text) && !isCommentOrImport.test(text))
      if (line !== -1) {
        const end = Math.min(endOfBlock(lines, line), line + maxCallLines)
        return { file, lines, start: line, end, line, name }
      }
    }
    return undefined
  }
}

const classDeclaration = /^\s*(?:export\s+)?(?:default\s+)?(?:abstract\s+)?class\s+([\w$]+)/
const dottedName = /([A-Za-z_$][\w$]*)(?:\.([A-Za-z_$][\w$]*))?/g
const isCommentOrImport = /^\s*(?:\/\/|\/?\*|import\b)/

function withoutQuotes(message: string): string {
  return message.replace(/"[^"]*"|'[^']*'/g, '')
}

/** Texts that the message quotes, then the name of the option that it is about: `limit is 5`. */
function mentionedTexts(message: string): string[] {
  const quoted = [...message.matchAll(/"([^"]+)"|'([^']+)'|`([^`]+)`/g)].flatMap(
    ([, double, single, code]) => double ?? single ?? code ?? [],
  )
  const option =
    /^[^:]*?[:.] ?(?:[a-z]\w*\.)?([a-z]\w*)(?:\[\d+\])? (?:is|are|cannot|names|must|has|needs)\b/.exec(
      message,
    )?.[1]
  return option === undefined ? quoted : [...quoted, option]
}

/** The class with its decorators. */
function classBlock(file: string, lines: readonly string[], line: number, name: string): Block {
  let start = line
  while (
    start > 0 &&
    !/^\s*$|^(?:import|export|const|function|\/|\s*\*)|^\}$/.test(lines[start - 1] ?? '')
  )
    start -= 1
  return { file, lines, start, end: endOfBlock(lines, line), line, name }
}

/** The last line of the block that begins in a line: the next one that closes it with the same indentation. */
function endOfBlock(lines: readonly string[], line: number): number {
  const first = lines[line] ?? ''
  if (!/[{([]\s*$/.test(first)) return line
  const indent = indentOf(first)
  const length = lines
    .slice(line + 1)
    .findIndex((text) => text.trim() !== '' && indentOf(text) <= indent)
  return length === -1 ? lines.length - 1 : line + 1 + length
}

function textOf({ lines, line, end }: Block): string {
  return lines.slice(line, end + 1).join('\n')
}

function indentOf(text: string): number {
  return text.length - text.trimStart().length
}

/** The member with its decorators. @returns undefined if the class does not declare it */
function memberBlock(owner: Block, name: string): Block | undefined {
  const { file, lines } = owner
  const isBody = (line: number): boolean => line > owner.line && line < owner.end
  const indent = indentOf(lines[owner.line + 1] ?? '')
  const isMember = new RegExp(
    `^(?:(?:public|private|protected|readonly|static|async|override|declare|get|set)\\s+)*${escapePattern(name)}\\s*[!?]?\\s*[:(=;<]`,
  )
  const isAfterDecorator = new RegExp(`^@.*\\)\\s+${escapePattern(name)}\\s*[!?]?\\s*[:(=;<]`)
  const line = lines.findIndex((text, index) => {
    const code = text.trimStart()
    return (
      isBody(index) &&
      indentOf(text) === indent &&
      (isMember.test(code) || isAfterDecorator.test(code))
    )
  })
  if (line === -1) return undefined
  let start = line
  // Decorators, and the lines of their options.
  while (isBody(start - 1) && isDecoratorLine(lines[start - 1] ?? '', indent)) start -= 1
  return { file, lines, start, end: endOfBlock(lines, line), line, name }
}

function isDecoratorLine(text: string, indent: number): boolean {
  const code = text.trim()
  if (code === '' || code === '}') return false
  return indentOf(text) > indent || /^[@)\]}]/.test(code)
}

function findInBlock(block: Block, text: string): SourceLocation | undefined {
  const pattern = new RegExp(`(?<![\\w$])${escapePattern(text)}(?![\\w$])`)
  for (let line = block.start; line <= block.end; line += 1) {
    const source = block.lines[line] ?? ''
    const column = isCommentOrImport.test(source) ? -1 : source.search(pattern)
    if (column !== -1) return toLocation(block, line, column, text)
  }
  return undefined
}

function toLocation(
  { file, lines }: Block,
  line: number,
  column: number,
  text: string,
): SourceLocation {
  return { file, lines, line: line + 1, column: Math.max(0, column) + 1, length: text.length }
}
