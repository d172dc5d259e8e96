/** Reads the names of a handler's arguments from its source text, because handlers get their arguments by name. */
import { parseText, type MethodDefinition, type Pattern } from '../metadata/parse-text.js'

/** The names in order; or the reason why they cannot be read, as the end of a sentence that begins with the handler. */
export type ArgumentNames = { readonly names: readonly string[] } | { readonly unreadable: string }

/**
 * Reads the names of a handler's arguments. If another decorator replaced the method by a function, reads the names of
 * that function. If that function accepts any arguments (`(...args)`, `arguments`, a bound function, a proxy), reads the
 * names of the method.
 *
 * @param current the function that is called
 * @param declared the method as its class declares it
 */
export function readHandlerNames(current: unknown, declared: unknown): ArgumentNames {
  const read = readArgumentNames(current)
  if (current === declared || declared === undefined) return read
  const declaredNames = readArgumentNames(declared)
  if (!('names' in read)) return declaredNames
  if (read.names.length > 0 || !('names' in declaredNames) || declaredNames.names.length === 0)
    return read
  if (/\barguments\b/.test(Function.prototype.toString.call(current))) return declaredNames
  return {
    unreadable: `is wrapped by a function without arguments, so that ${declaredNames.names.join(', ')} would be undefined`,
  }
}

/** @param method a method of a class, or the function by which a decorator replaced it */
export function readArgumentNames(method: unknown): ArgumentNames {
  const text = Function.prototype.toString.call(method)
  // The source text of a proxy or a bound function is not available.
  if (/\{\s*\[native code\]\s*\}\s*$/.test(text))
    return { unreadable: 'has no readable source text' }
  const simple = simpleSignature.exec(text)
  if (simple?.[1] !== undefined) {
    return {
      names: simple[1]
        .split(',')
        .map((name) => name.trim())
        .filter((name) => name !== ''),
    }
  }
  const parameters = parseParameters(text)
  if (parameters === undefined) return { unreadable: 'has no readable source text' }
  const names: string[] = []
  for (const [index, parameter] of parameters.entries()) {
    const name = nameOf(parameter)
    if (name === undefined) {
      const reason = parameter.type === 'RestElement' ? '' : ', because it is destructured'
      return { unreadable: `has no name for its argument ${index + 1}${reason}` }
    }
    names.push(name)
  }
  return { names }
}

/** A method with simple names only. Other methods are parsed. */
const simpleSignature =
  /^(?:async\s*)?\*?\s*[A-Za-z_$][\w$]*\s*\((\s*(?:[A-Za-z_$][\w$]*\s*(?:,\s*[A-Za-z_$][\w$]*\s*)*)?)\)\s*\{/

function nameOf(parameter: Pattern): string | undefined {
  if (parameter.type === 'Identifier') return parameter.name
  return parameter.type === 'AssignmentPattern' ? nameOf(parameter.left) : undefined
}

/** Parses the text as a member of a class, otherwise as an expression, such as the arrow function of a wrapper. */
function parseParameters(text: string): readonly Pattern[] | undefined {
  const member = parseText(`(class extends Object { ${text} })`)
  const expression = member ?? parseText(`(${text})`)
  const statement = expression?.body[0]
  if (statement?.type !== 'ExpressionStatement') return undefined
  const node = statement.expression
  if (node.type === 'ArrowFunctionExpression' || node.type === 'FunctionExpression') {
    return node.params
  }
  if (node.type !== 'ClassExpression') return undefined
  return (node.body.body[0] as MethodDefinition | undefined)?.value.params
}
