/**
 * The steps that a page of the tutorial asks its reader to do, in order.
 *
 * A code block that begins with `// src/app.ts` (`# …` and `-- …` in other languages) is the complete file. With
 * `// in src/app.ts` it contains declarations, which replace declarations of the same name or are appended. `…` in a file
 * name stands for a part that a command has chosen. In a `console` block each line after `$ ` is a command, and the lines below
 * are its output. All other blocks are only read.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

export type Step =
  | {
      readonly kind: 'file'
      readonly file: string
      readonly text: string
      readonly isCompleteFile: boolean
    }
  | Command

export interface Command {
  readonly kind: 'command'
  readonly command: string
  readonly response: string
}

export interface Page {
  readonly name: string
  readonly steps: readonly Step[]
}

/** The pages of a folder in order: of the tutorial `01-….md`, `02-….md` … */
export function readPages(folder: string, names = /^\d\d-.+\.md$/): Page[] {
  return readdirSync(folder)
    .filter((name) => names.test(name))
    .sort()
    .map((name) => ({ name, steps: readSteps(readFileSync(join(folder, name), 'utf8')) }))
}

export function readSteps(markdown: string): Step[] {
  const blocks = markdown.matchAll(/^```(\w+)\n([^]*?)^```$/gm)
  return [...blocks].flatMap(([, language = '', text = '']) =>
    language === 'console' ? readCommands(text) : readFile(text),
  )
}

function readFile(text: string): Step[] {
  const [, inside, file] = /^(?:\/\/|#|--) (in )?([\w./…-]+\.\w+|\.\w+)\n/.exec(text) ?? []
  if (file === undefined) return []
  // JSON has no comments, so the name of the file is removed.
  const content = /^package\.json$|\/package\.json$/.test(file) ? text.replace(/^.*\n/, '') : text
  return [{ kind: 'file', file, text: content, isCompleteFile: inside === undefined }]
}

/** A command continues in the next line after a backslash, or while a quote is open. */
export function readCommands(text: string): Command[] {
  const steps: { kind: 'command'; command: string; response: string }[] = []
  let isOpen = false
  for (const line of text.trimEnd().split('\n')) {
    const last = steps.at(-1)
    if (last !== undefined && isOpen) last.command += `\n${line}`
    else if (line.startsWith('$ '))
      steps.push({ kind: 'command', command: line.slice(2), response: '' })
    else if (last !== undefined) last.response += `${line}\n`
    const { command } = steps.at(-1) ?? { command: '' }
    isOpen = command.endsWith('\\') || (command.match(/'/g) ?? []).length % 2 === 1
    if (!isOpen && line.endsWith("'") && last?.response !== '') isOpen = false
  }
  return steps
}

/** A pattern for the output, in which everything that differs between runs is free. */
export function toPattern(command: string, response: string): RegExp {
  const timestamp = /"\d{4}-\d\d-\d\dT[\d:.]+Z"/g
  const token = /eyJ[\w-]+\.[\w-]+\.[\w-]+/g
  const parts = response
    .trim()
    .replace(timestamp, '"…"')
    .replace(token, '…')
    .split(/\s*…\s*/)
    .map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&').replace(/\s*\n\s*/g, '\\s*\\n\\s*'))
  const head = `$ ${command}\n`.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  return new RegExp(`^${head}\\s*${parts.join('[^]*?')}\\s*$`)
}

/**
 * Merges the declarations of a block into a file: declarations of the same name are replaced, others and imports are added. If
 * the block has a line `…`, its classes keep the members of the file that they do not name.
 */
export function mergeDeclarations(file: string, block: string): string {
  const code = block.replace(/^ *…\n/gm, '')
  const isPartial = code !== block
  const merged = splitStatements(file)
  for (const part of splitStatements(code)) {
    const at = merged.findIndex(({ name }) => name === part.name)
    const old = merged[at]
    if (old !== undefined)
      merged[at] = isPartial ? { ...part, text: mergeMembers(old.text, part.text) } : part
    else if (part.isImport) merged.unshift(part)
    else merged.push(part)
  }
  return merged.map(({ text }) => text).join('')
}

/** @returns the class `text` with the members of the class `old` that it does not have */
function mergeMembers(old: string, text: string): string {
  const [before, after] = [old, text].map(readClass)
  if (before === undefined || after === undefined) return text
  const names = new Set(after.members.map(({ name }) => name))
  const members = [...before.members.filter(({ name }) => !names.has(name)), ...after.members]
  return `${after.head}${members.map((member) => member.text).join('')}\n}\n`
}

/** @returns the text up to the opening brace, and the members. Undefined if the text is not a class */
function readClass(
  text: string,
): { head: string; members: { name: string; text: string }[] } | undefined {
  const [statement] = ts.createSourceFile('class.ts', text, ts.ScriptTarget.Latest, true).statements
  if (statement === undefined || !ts.isClassDeclaration(statement)) return undefined
  const members = statement.members.map((member) => ({
    name: member.name?.getText() ?? 'constructor',
    text: member.getFullText(),
  }))
  return { head: text.slice(0, statement.members.pos), members }
}

interface Part {
  readonly name: string
  readonly text: string
  readonly isImport: boolean
}

/** Top-level statements with the comments before them. */
function splitStatements(text: string): Part[] {
  const file = ts.createSourceFile('block.ts', text, ts.ScriptTarget.Latest, true)
  return file.statements.map((statement) => {
    const text = `${statement.getFullText()}\n`
    if (ts.isImportDeclaration(statement))
      return { name: `import ${statement.moduleSpecifier.getText()}`, text, isImport: true }
    const named = ts.isVariableStatement(statement)
      ? statement.declarationList.declarations[0]
      : statement
    const name = named !== undefined && 'name' in named ? (named.name as ts.Node).getText() : text
    return { name, text, isImport: false }
  })
}
