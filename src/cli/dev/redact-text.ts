/** Leaves out of a text what stands behind the name of a secret: `password: x`, `"token":"x"`, `pin=x`, `Key (hash)=(x)`. */

import type { ASTNode, Location, ValueNode } from 'graphql'
import { graphqlLibrary } from '../../graphql/library.js'
import { hiddenText } from './secret-patterns.js'

/** Leaves the secrets out of a document of GraphQL, and says which of its variables hold some. */

interface RedactedDocument {
  readonly text: string
  /** Names of variables that are given for secrets: `p` of `login(password: $p)`. */
  readonly secretVariables: ReadonlySet<string>
}

interface DocumentRules {
  readonly isSecret: (name: string) => boolean
  /** What is shown of a text. */
  readonly text: (text: string) => string
  /** Told of each value that is left out. */
  readonly hide: (value: string) => void
}

/** Begins as a document does, also behind comments. */
export function looksLikeDocument(text: string): boolean {
  return /^[\s,\uFEFF]*(?:#[^\n]*\n[\s,]*)*(?:\{\s*[\w.#"]|(?:query|mutation|subscription|fragment)\b)/.test(
    text,
  )
}

/** @returns undefined for what cannot be parsed */
export function redactDocument(source: string, rules: DocumentRules): RedactedDocument | undefined {
  const { parse, TokenKind, visit } = graphqlLibrary()
  const variables = new Set<string>()
  const cuts: { readonly from: number; readonly to: number; readonly text: string }[] = []
  const cut = ({ loc }: { readonly loc?: Location | undefined }, text: string): void => {
    if (loc !== undefined) cuts.push({ from: loc.start, to: loc.end, text })
  }
  /** Everything below a secret's name. */
  const hide = (value: ValueNode): void => {
    visit(value, {
      Variable: ({ name }) => void variables.add(name.value),
      StringValue: (node) => {
        rules.hide(node.value)
        cut(node, `"${hiddenText}"`)
      },
      IntValue: (node) => {
        rules.hide(node.value)
        cut(node, hiddenText)
      },
      FloatValue: (node) => {
        cut(node, hiddenText)
      },
      EnumValue: (node) => {
        cut(node, hiddenText)
      },
    })
  }
  const named = (node: { readonly name: { value: string }; readonly value: ValueNode }) => {
    if (!rules.isSecret(node.name.value)) return undefined
    hide(node.value)
    return false
  }
  try {
    const document = parse(source, { maxTokens: 20_000 })
    visit(document as ASTNode, {
      Argument: named,
      ObjectField: named,
      VariableDefinition: ({ variable, defaultValue }) => {
        if (defaultValue === undefined || !rules.isSecret(variable.name.value)) return undefined
        hide(defaultValue)
        return false
      },
      StringValue: (node) => {
        const shown = rules.text(node.value)
        if (shown !== node.value) cut(node, JSON.stringify(shown))
      },
    })
    // A default is found before the place that its variable is given to.
    visit(document as ASTNode, {
      VariableDefinition: ({ variable, defaultValue }) => {
        if (defaultValue !== undefined && variables.has(variable.name.value)) hide(defaultValue)
      },
    })
    for (let token = document.loc?.startToken; token != null; token = token.next ?? undefined) {
      if (token.kind !== TokenKind.COMMENT) continue
      const shown = rules.text(token.value)
      if (shown !== token.value) cuts.push({ from: token.start, to: token.end, text: `#${shown}` })
    }
  } catch {
    return undefined
  }
  return { text: applyCuts(source, cuts), secretVariables: variables }
}

interface Cut {
  readonly from: number
  readonly to: number
  readonly text: string
}

function applyCuts(source: string, cuts: readonly Cut[]): string {
  let text = ''
  let at = 0
  for (const { from, to, text: shown } of [...cuts].sort((a, b) => a.from - b.from)) {
    if (from < at) continue
    text += source.slice(at, from) + shown
    at = to
  }
  return text + source.slice(at)
}

/** A name, what closes its quotes, and what stands between it and its value. */
const names =
  /(?<!\/\/|@|[\w.$-])([A-Za-z_$][\w.$-]*(?:\[[\w.]*\])*)((?:\\*["'`])?\s*(?:=>|:=|[:=])\s*|\)=\()/g
/** `the token "x" is wrong`. */
const quoted = /\b([A-Za-z][\w-]*)((?:\s+(?:is|was|of|with|named))?\s+)(["'`])(?=\S)/g
/** `name="password"` of a form's part, with an empty line before the value. */
const parts = /\bname="([^"\r\n]*)"[^\r\n]*(?:\r?\n[^\r\n]+)*\r?\n\r?\n/gi
/** What is said of a secret that is not there, or that is another kind of thing. */
const said =
  /^(?:E[A-Z]{4,}|\d{1,3}|expired|missing|invalid|malformed|required|wrong|null|undefined|true|false|none|not|must|is|was|has|too|a|an|the|string|number|boolean|unknown)\b(?![\w-]*\d)/i

export interface NamedRules {
  readonly isSecret: (name: string) => boolean
  /** Told of each value that is left out. */
  readonly hide: (value: string) => void
}

export function redactNamed(text: string, rules: NamedRules): string {
  return [parts, names, quoted].reduce((shown, pattern) => cutBehind(shown, pattern, rules), text)
}

function cutBehind(text: string, pattern: RegExp, { isSecret, hide }: NamedRules): string {
  let shown = ''
  let at = 0
  for (const match of text.matchAll(pattern)) {
    const [all, name = '', behind = ''] = match
    if (match.index < at || isPlace(name) || !isSecret(name)) continue
    const from = match.index + (pattern === quoted ? name.length + behind.length : all.length)
    if (behind === ': ' && isDeclaration(name, text.slice(from))) continue
    const to = pattern === parts ? endOfPart(text, from) : endOfValue(text, from, all)
    const value = text.slice(from, to)
    if (value === '' || value.includes(hiddenText)) continue
    const [, mark = ''] = /^(\\*["'`]+)[\s\S]*\1$/.exec(value) ?? []
    hide(value.slice(mark.length, value.length - mark.length))
    shown += `${text.slice(at, from)}${mark}${hiddenText}${mark}`
    at = to
  }
  return shown + text.slice(at)
}

/** `token.ts:12:5` is a place in a source. */
function isPlace(name: string): boolean {
  return /\.[cm]?[jt]sx?$/.test(name)
}

/** `Contract.code: pattern /a+/ can take very long.` is a report about a declaration: a sentence about a member of a class. */
function isDeclaration(name: string, rest: string): boolean {
  return /^[A-Z]\w*\.[A-Za-z_]\w*$/.test(name) && /^[a-z]+(?: [^\s]+){3,}?\.(?:\s|$)/.test(rest)
}

function endOfPart(text: string, from: number): number {
  const end = text.slice(from).search(/\r?\n--/)
  return end === -1 ? text.length : from + end
}

function endOfValue(text: string, from: number, before: string): number {
  const rest = text.slice(from)
  const [mark] = /^\\*(?:"""|["'`])/.exec(rest) ?? []
  if (mark !== undefined) return from + endOfQuotes(rest, mark)
  if (/^[{[]/.test(rest)) return from + endOfBrackets(rest)
  if (before.endsWith(')=(')) return from + lengthUntil(rest, /\)/)
  if (said.test(rest)) return from
  // Of `a=b c=d` one word; of `Cookie: a; b` the line.
  if (/=>?\s*$/.test(before)) return from + lengthUntil(rest, /[\s,;&)}\]"']|$/)
  return from + lengthUntil(rest, /[\r\n,}]|$/)
}

function lengthUntil(text: string, end: RegExp): number {
  const at = text.search(end)
  return at === -1 ? text.length : at
}

function endOfQuotes(text: string, mark: string): number {
  const slashes = mark.lastIndexOf('\\') + 1
  for (let at = text.indexOf(mark, mark.length); at !== -1; at = text.indexOf(mark, at + 1)) {
    let before = 0
    while (text[at - 1 - before] === '\\') before++
    if (slashes > 0 ? before === 0 : before % 2 === 0) return at + mark.length
  }
  return text.length
}

function endOfBrackets(text: string): number {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    if ('{['.includes(text[at] ?? '')) depth++
    else if ('}]'.includes(text[at] ?? '') && --depth === 0) return at + 1
  }
  return text.length
}
