/**
 * Removes values that follow the name of a secret: from GraphQL documents, and from other texts, such as `password: x`,
 * `"token":"x"`, `pin=x` and `Key (hash)=(x)`.
 */
import type { ASTNode, Location, ValueNode } from 'graphql'
import { graphqlLibrary } from '../../graphql/library.js'
import { hiddenText } from '../../core/secrets.js'

interface RedactedDocument {
  readonly text: string
  /** Names of variables that are used as secrets, such as `p` in `login(password: $p)`. */
  readonly secretVariables: ReadonlySet<string>
}

interface DocumentRules {
  readonly isSecret: (name: string) => boolean
  /** Redacts a text. */
  readonly text: (text: string) => string
  /** Called with each value that is removed. */
  readonly hide: (value: string) => void
}

/** @returns true if the text begins like a GraphQL document, possibly after comments */
export function isGraphqlDocument(text: string): boolean {
  return /^[\s,\uFEFF]*(?:#[^\n]*\n[\s,]*)*(?:\{\s*[\w.#"]|(?:query|mutation|subscription|fragment)\b)/.test(
    text,
  )
}

/** @returns undefined if the document cannot be parsed */
export function redactDocument(source: string, rules: DocumentRules): RedactedDocument | undefined {
  const { parse, TokenKind, visit } = graphqlLibrary()
  const variables = new Set<string>()
  const replacements: { readonly from: number; readonly to: number; readonly text: string }[] = []
  const replace = ({ loc }: { readonly loc?: Location | undefined }, text: string): void => {
    if (loc !== undefined) replacements.push({ from: loc.start, to: loc.end, text })
  }
  /** Replaces all values below the name of a secret. */
  const hide = (value: ValueNode): void => {
    visit(value, {
      Variable: ({ name }) => void variables.add(name.value),
      StringValue: (node) => {
        rules.hide(node.value)
        replace(node, `"${hiddenText}"`)
      },
      IntValue: (node) => {
        rules.hide(node.value)
        replace(node, hiddenText)
      },
      FloatValue: (node) => {
        replace(node, hiddenText)
      },
      EnumValue: (node) => {
        replace(node, hiddenText)
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
        const redacted = rules.text(node.value)
        if (redacted !== node.value) replace(node, JSON.stringify(redacted))
      },
    })
    // Default values come before the argument that uses the variable, so they need a second pass.
    visit(document as ASTNode, {
      VariableDefinition: ({ variable, defaultValue }) => {
        if (defaultValue !== undefined && variables.has(variable.name.value)) hide(defaultValue)
      },
    })
    for (let token = document.loc?.startToken; token != null; token = token.next ?? undefined) {
      if (token.kind !== TokenKind.COMMENT) continue
      const redacted = rules.text(token.value)
      if (redacted !== token.value)
        replacements.push({ from: token.start, to: token.end, text: `#${redacted}` })
    }
  } catch {
    return undefined
  }
  return { text: applyReplacements(source, replacements), secretVariables: variables }
}

interface Replacement {
  readonly from: number
  readonly to: number
  readonly text: string
}

function applyReplacements(source: string, replacements: readonly Replacement[]): string {
  let text = ''
  let at = 0
  for (const { from, to, text: replacement } of [...replacements].sort((a, b) => a.from - b.from)) {
    if (from < at) continue
    text += source.slice(at, from) + replacement
    at = to
  }
  return text + source.slice(at)
}

/** A name, its closing quote, and the separator before the value. */
const nameAndSeparator =
  /(?<!\/\/|@|[\w.$-])([A-Za-z_$][\w.$-]*(?:\[[\w.]*\])*)((?:\\*["'`])?\s*(?:=>|:=|[:=])\s*|\)=\()/g
/** `the token "x" is wrong`. */
const quotedAfterName =
  /(?<!\w-*)([A-Za-z][\w-]*)((?:\s+(?:is|was|of|with|named))?\s+)(["'`])(?=\S)/g
/** `name="password"` of a form's part, with an empty line before the value. */
const formParts = /\bname="([^"\r\n]*)"[^\r\n]*(?:\r?\n[^\r\n]+)*\r?\n\r?\n/gi
/** Words after a secret's name that are not its value, such as `token expired`. */
const harmlessValue =
  /^(?:E[A-Z]{4,}|\d{1,3}|expired|missing|invalid|malformed|required|wrong|null|undefined|true|false|none|not|must|is|was|has|too|a|an|the|string|number|boolean|unknown)\b(?![\w-]*\d)/i

interface NamedRules {
  readonly isSecret: (name: string) => boolean
  /** Called with each value that is removed. */
  readonly hide: (value: string) => void
}

export function redactNamed(text: string, rules: NamedRules): string {
  return [formParts, nameAndSeparator, quotedAfterName].reduce(
    (redacted, pattern) => redactMatches(redacted, pattern, rules),
    text,
  )
}

function redactMatches(text: string, pattern: RegExp, { isSecret, hide }: NamedRules): string {
  let result = ''
  let at = 0
  for (const match of text.matchAll(pattern)) {
    const [all, name = '', separator = ''] = match
    if (match.index < at || isSourceLocation(name) || !isSecret(name)) continue
    const from =
      match.index + (pattern === quotedAfterName ? name.length + separator.length : all.length)
    if (separator === ': ' && isDeclaration(name, text.slice(from))) continue
    const to = pattern === formParts ? endOfPart(text, from) : endOfValue(text, from, all)
    const value = text.slice(from, to)
    if (value === '' || value.includes(hiddenText)) continue
    const mark = quotesOf(value)
    hide(value.slice(mark.length, value.length - mark.length))
    result += `${text.slice(at, from)}${mark}${hiddenText}${mark}`
    at = to
  }
  return result + text.slice(at)
}

/** The quotes around a value, `"` or `\\"`; an empty text if there are none. */
function quotesOf(value: string): string {
  const [mark = ''] = /^\\*(?:"""|["'`])/.exec(value) ?? []
  return value.length >= 2 * mark.length && value.endsWith(mark) ? mark : ''
}

/** `token.ts:12:5` is a location in a source file. */
function isSourceLocation(name: string): boolean {
  return /\.[cm]?[jt]sx?$/.test(name)
}

/** `Contract.code: pattern /a+/ can take very long.` is a sentence about a class member, not a value. */
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
  if (harmlessValue.test(rest)) return from
  // The value of `a=b c=d` is one word, the value of `Cookie: a; b` is the rest of the line.
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
