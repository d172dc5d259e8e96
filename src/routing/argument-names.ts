/** Reads the names of a method's arguments from its source text: handlers are bound by name. */
import { parseText, type MethodDefinition, type Pattern } from '../metadata/parse-text.js'

/** The names in order; or why they cannot be read, as the end of a sentence that begins with the handler. */
export type ArgumentNames = { readonly names: readonly string[] } | { readonly unreadable: string }

/**
 * The names of a handler's arguments. If another decorator replaced the method by a function, they are that function's
 * names; if it takes any arguments (`(...args)`, `arguments`, a bound function, a proxy), they are the method's.
 *
 * @param current what is called
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

/**
 * @param method a method of a class; also a function a decorator put in its place
 */
export function readArgumentNames(method: unknown): ArgumentNames {
  const text = Function.prototype.toString.call(method)
  // The arguments that a proxy or a bound function passes on cannot be read.
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
      const apart = parameter.type === 'RestElement' ? '' : ', since it is taken apart'
      return { unreadable: `has no name for its argument ${index + 1}${apart}` }
    }
    names.push(name)
  }
  return { names }
}

/** A method with plain names only; everything else goes through the parser. */
const simpleSignature =
  /^(?:async\s*)?\*?\s*[A-Za-z_$][\w$]*\s*\((\s*(?:[A-Za-z_$][\w$]*\s*(?:,\s*[A-Za-z_$][\w$]*\s*)*)?)\)\s*\{/

function nameOf(parameter: Pattern): string | undefined {
  if (parameter.type === 'Identifier') return parameter.name
  return parameter.type === 'AssignmentPattern' ? nameOf(parameter.left) : undefined
}

/** Tried as a member of a class first, then as an expression: a wrapper's arrow or function. */
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
