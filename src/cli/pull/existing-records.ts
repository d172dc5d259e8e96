/**
 * Reads the records in the files of an earlier run, which people may have changed since. Only what a decorator says in place
 * is read: `@Record({ … })`, `@Field('…', { … })` and relations. A program of its own, because a project's code must not run to
 * compare it.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { toColumnName, toSnakeCase } from '../../records/model/generated-names.js'
import { tableName, type ClassFile } from './pulled-record.js'

export interface ExistingRecord extends ClassFile {
  /** With its schema: `billing.orders`. */
  readonly table: string
  readonly settings: ReadonlyMap<string, string>
  /** By column. */
  readonly fields: ReadonlyMap<string, ExistingMember>
  readonly relations: readonly ExistingMember[]
  /** The file has no other record. */
  readonly isAlone: boolean
}

export interface ExistingMember {
  readonly property: string
  /** `Field`, `BelongsTo`, `HasMany`, `ManyToMany` */
  readonly decorator: string
  /** The first argument: `'integer'`, `() => Customer`. */
  readonly value: string
  /** Code by option, without white space, in single quotation marks. */
  readonly settings: ReadonlyMap<string, string>
}

/** @returns the records of all files of a folder; none if it does not exist */
export async function readExistingRecords(folder: string): Promise<ExistingRecord[]> {
  const names = await readdir(folder).catch(() => [])
  const files = names.filter((name) => /(?<!\.d)\.ts$/.test(name) && name !== 'index.ts').sort()
  const records: ExistingRecord[] = []
  for (const file of files)
    records.push(...parseRecords(await readFile(join(folder, file), 'utf8'), file.slice(0, -3)))
  return records
}

export function parseRecords(source: string, fileName: string): ExistingRecord[] {
  const code = withoutComments(source)
  const starts = [...code.matchAll(/@Record\b/g)].map(({ index }) => index)
  return starts.flatMap((start, index): ExistingRecord[] => {
    const part = code.slice(start, starts[index + 1])
    const [, className] = /\bclass\s+([\w$]+)/.exec(part) ?? []
    if (className === undefined) return []
    const [, settings] = readArguments(part, '@Record'.length)
    const members = readMembers(part.slice(part.indexOf('class')))
    const name = textOf(settings.get('table')) ?? toSnakeCase(className)
    return [
      {
        className,
        fileName,
        table: tableName({ schema: textOf(settings.get('schema')), name }),
        settings,
        fields: new Map(
          members
            .filter(({ decorator }) => decorator === 'Field')
            .map((member) => [columnOf(member), member]),
        ),
        relations: members.filter(({ decorator }) => decorator !== 'Field'),
        isAlone: starts.length === 1,
      },
    ]
  })
}

function columnOf({ property, settings }: ExistingMember): string {
  return textOf(settings.get('column')) ?? toColumnName(property)
}

/** @param code `'orders'` */
function textOf(code: string | undefined): string | undefined {
  return code === undefined ? undefined : /^'(.*)'$/.exec(code)?.[1]?.replaceAll("\\'", "'")
}

function readMembers(code: string): ExistingMember[] {
  const decorators = [...code.matchAll(/@(Field|BelongsTo|HasMany|ManyToMany)\b/g)]
  return decorators.flatMap(({ 0: text, 1: decorator = '', index }): ExistingMember[] => {
    const [value, settings, end] = readArguments(code, index + text.length)
    const property = readProperty(code, end)
    return property === undefined ? [] : [{ property, decorator, value, settings }]
  })
}

/** Skips further decorators of the property. */
function readProperty(code: string, start: number): string | undefined {
  const rest = code.slice(start)
  const [, another] = /^\s*(@[\w.]+)/.exec(rest) ?? []
  if (another !== undefined) {
    const after = start + rest.indexOf(another) + another.length
    return readProperty(code, readArguments(code, after)[2])
  }
  return /^\s*(?:(?:declare|public|readonly)\s+)*([\w$]+)\s*[!?]?\s*:/.exec(rest)?.[1]
}

/** @returns the first argument, the options, and the position after the call */
function readArguments(
  code: string,
  start: number,
): [value: string, settings: ReadonlyMap<string, string>, end: number] {
  const open = /^(?:<[^()]*>)?\s*\(/.exec(code.slice(start))
  if (open === null) return ['', new Map(), start]
  const first = start + open[0].length
  const end = closingOf(code, first)
  const values = splitList(code.slice(first, end))
  const options = values.find((one) => one.startsWith('{'))
  return [values.find((one) => one !== options) ?? '', readObject(options), end + 1]
}

function readObject(code: string | undefined): ReadonlyMap<string, string> {
  if (code === undefined) return new Map()
  return new Map(
    splitList(code.slice(1, -1)).flatMap((entry): [string, string][] => {
      const [, name, value] = /^'?([\w$]+)'?:(.*)$/s.exec(entry) ?? []
      return name === undefined || value === undefined ? [] : [[name, value]]
    }),
  )
}

/** `'id', { list: true, }` → `'id'`, `{list:true}` */
function splitList(code: string): string[] {
  const items: string[] = []
  let item = ''
  for (let at = 0; at < code.length; at++) {
    const letter = code[at] ?? ''
    if (quotes.has(letter)) {
      const end = endOfText(code, at)
      item += inSingleQuotes(code.slice(at, end))
      at = end - 1
    } else if (brackets.has(letter)) {
      const end = closingOf(code, at + 1)
      item += `${letter}${splitList(code.slice(at + 1, end)).join(',')}${code[end] ?? ''}`
      at = end
    } else if (letter === ',') {
      items.push(item)
      item = ''
    } else if (!/\s/.test(letter)) item += letter
  }
  return [...items, item].filter((one) => one !== '')
}

/** Code in the form of `splitList`, for comparisons. */
export function normalizeCode(code: string): string {
  return splitList(code).join(',')
}

function inSingleQuotes(text: string): string {
  if (!text.startsWith('"')) return text
  return `'${text.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
}

const quotes: ReadonlySet<string> = new Set(["'", '"', '`'])
const brackets: ReadonlySet<string> = new Set(['(', '[', '{'])
const closing: ReadonlySet<string> = new Set([')', ']', '}'])

/** @returns the position of the bracket that closes the one before `start` */
function closingOf(code: string, start: number): number {
  let depth = 1
  for (let at = start; at < code.length; at++) {
    const letter = code[at] ?? ''
    if (quotes.has(letter)) at = endOfText(code, at) - 1
    else if (brackets.has(letter)) depth++
    else if (closing.has(letter) && --depth === 0) return at
  }
  return code.length
}

/** @returns the position after the text that begins at `start` */
function endOfText(code: string, start: number): number {
  for (let at = start + 1; at < code.length; at++) {
    if (code[at] === '\\') at++
    else if (code[at] === code[start]) return at + 1
  }
  return code.length
}

function withoutComments(source: string): string {
  const parts = source.matchAll(
    /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`|\/\*[^]*?\*\/|\/\/[^\n]*|[^'"`/]+|[^]/g,
  )
  return [...parts].map(([part]) => (/^\/[/*]/.test(part) ? ' ' : part)).join('')
}
