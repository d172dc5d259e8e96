/** Leaves the secrets out of a document of GraphQL, and says which of its variables hold some. */
import type { ASTNode, Location, ValueNode } from 'graphql'
import { graphqlLibrary } from '../../graphql/library.js'
import { hiddenText } from './secret-shapes.js'

export interface RedactedDocument {
  readonly text: string
  /** Names of variables that are given for secrets: `p` of `login(password: $p)`. */
  readonly secretVariables: ReadonlySet<string>
}

export interface DocumentRules {
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
