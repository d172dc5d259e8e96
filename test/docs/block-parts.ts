/** Reads the top-level declarations of a code block, and the decorators of its classes. */
import ts from 'typescript'

export interface BlockClass {
  readonly name: string
  /** The names of its decorators: `Controller`. */
  readonly decorators: readonly string[]
}

export interface BlockParts {
  readonly classes: readonly BlockClass[]
  /** Variables with their constructor: `{ name: 'quotes', type: 'GraphQL' }` for `const quotes = new GraphQL()`. */
  readonly variables: readonly { readonly name: string; readonly type: string }[]
}

export function readParts(code: string): BlockParts {
  const { statements } = ts.createSourceFile('block.ts', code, ts.ScriptTarget.Latest, true)
  const classes = statements.filter(ts.isClassDeclaration).map((declared) => ({
    name: declared.name?.text ?? '',
    decorators: (ts.getDecorators(declared) ?? []).map(({ expression }) => nameOf(expression)),
  }))
  const variables = statements
    .filter(ts.isVariableStatement)
    .flatMap(({ declarationList }) => [...declarationList.declarations])
    .map(({ name, initializer }) => ({
      name: name.getText(),
      type: initializer === undefined ? '' : nameOf(initializer),
    }))
  return { classes, variables }
}

function nameOf(expression: ts.Expression): string {
  if (ts.isCallExpression(expression) || ts.isNewExpression(expression))
    return expression.expression.getText()
  return expression.getText()
}

/** @returns the names of the classes with the decorator */
export function withDecorator({ classes }: BlockParts, decorator: string): string[] {
  return classes.filter(({ decorators }) => decorators.includes(decorator)).map(({ name }) => name)
}
