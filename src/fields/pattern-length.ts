/** Finds out whether a regular expression limits the length of the text that it matches. */
import type { AST } from '@eslint-community/regexpp'
import { parsePattern } from './pattern-automaton.js'

/**
 * Whether longer text cannot match, as with `/^S\d{6}$/`: the pattern is anchored at both ends, and each repetition has a
 * limit. A pattern with a lookaround or a reference to a group counts as unlimited.
 *
 * @throws {SyntaxError} if the pattern is invalid
 */
export function limitsLength(pattern: RegExp): boolean {
  if (pattern.multiline) return false
  return parsePattern(pattern).every(({ elements }) => {
    const [first, last] = [elements[0], elements.at(-1)]
    const isAnchored = isAssertion(first, 'start') && isAssertion(last, 'end')
    return isAnchored && elements.every(isLimited)
  })
}

function isAssertion(element: AST.Element | undefined, kind: AST.Assertion['kind']): boolean {
  return element?.type === 'Assertion' && element.kind === kind
}

function isLimited(element: AST.Element): boolean {
  switch (element.type) {
    case 'Character':
    case 'CharacterClass':
    case 'CharacterSet':
    case 'ExpressionCharacterClass':
      return true
    case 'Group':
    case 'CapturingGroup':
      return element.alternatives.every(({ elements }) => elements.every(isLimited))
    case 'Quantifier':
      return element.max !== Infinity && isLimited(element.element)
    case 'Assertion':
      return !('alternatives' in element)
    case 'Backreference':
      return false
  }
}
