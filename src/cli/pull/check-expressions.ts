/**
 * Parses the conditions of check constraints as far as rules of fields need it. Both engines write the same SQL here: PostgreSQL
 * prints an expression from its catalogue, and SQLite stores what people wrote.
 */

export type CheckExpression =
  | { readonly is: 'name'; readonly name: string; readonly isQuoted: boolean }
  | { readonly is: 'literal'; readonly text: string; readonly isNumber: boolean }
  | { readonly is: 'list'; readonly items: readonly CheckExpression[] }
  | { readonly is: 'cast'; readonly of: CheckExpression; readonly type: string }
  | { readonly is: 'call'; readonly name: string; readonly items: readonly CheckExpression[] }
  | {
      readonly is: 'compare'
      /** `=`, `<>`, `<`, `<=`, `>`, `>=`, `~` */
      readonly operator: string
      readonly left: CheckExpression
      readonly right: CheckExpression
    }
  | { readonly is: 'in'; readonly of: CheckExpression; readonly items: readonly CheckExpression[] }
  | { readonly is: 'null'; readonly of: CheckExpression }
  | { readonly is: 'and' | 'or'; readonly items: readonly CheckExpression[] }
  /** A part that no rule can express. */
  | { readonly is: 'other' }

/** @returns `undefined` for SQL that this parser does not know */
export function parseCheck(sql: string): CheckExpression | undefined {
  const tokens = readTokens(sql)
  if (tokens === undefined) return undefined
  try {
    return new CheckParser(tokens).parse()
  } catch (error) {
    if (error instanceof UnknownSyntax) return undefined
    throw error
  }
}

class UnknownSyntax extends Error {}

interface SqlToken {
  readonly is: 'word' | 'name' | 'text' | 'number' | 'symbol'
  /** A word is in lower case. A name and a text have no quotes. */
  readonly text: string
}

const other = { is: 'other' } as const

const patterns: readonly (readonly [SqlToken['is'] | 'space', RegExp])[] = [
  ['space', /(?:\s+|--[^\n]*|\/\*[^]*?\*\/)/y],
  ['text', /'(?:[^']|'')*'/y],
  ['name', /"(?:[^"]|"")*"|`(?:[^`]|``)*`/y],
  ['number', /(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?/iy],
  ['word', /[\p{L}_][\p{L}\p{N}_$]*/uy],
  ['symbol', /::|[<>!=]=|<>|->>?|!?~{1,2}\*?|@>|<@|&&|\|\||[<>=+\-*/%@|&?#^!(),.[\]]/y],
]

function readTokens(sql: string): SqlToken[] | undefined {
  const tokens: SqlToken[] = []
  for (let position = 0; position < sql.length;) {
    const bracketed = startsName(tokens.at(-1)) ? /\[([^\]]*)\]/y : undefined
    if (bracketed !== undefined) bracketed.lastIndex = position
    const name = bracketed?.exec(sql)
    if (name != null) {
      tokens.push({ is: 'name', text: name[1] ?? '' })
      position += name[0].length
      continue
    }
    const found = matchToken(sql, position)
    if (found === undefined) return undefined
    if (found.is !== 'space') tokens.push({ is: found.is, text: found.text })
    position = found.end
  }
  return tokens
}

/** Whether a bracket begins a name of SQLite, `[order date]`. After other tokens it belongs to an array. */
function startsName(before: SqlToken | undefined): boolean {
  if (before === undefined) return true
  if (before.is === 'symbol') return !/^(?:\)|\]|\[)$/.test(before.text)
  return before.is === 'word' && ['and', 'or', 'not', 'between', 'in'].includes(before.text)
}

function matchToken(
  sql: string,
  position: number,
): { is: SqlToken['is'] | 'space'; text: string; end: number } | undefined {
  for (const [is, pattern] of patterns) {
    pattern.lastIndex = position
    const [text] = pattern.exec(sql) ?? []
    if (text !== undefined) return { is, text: toTokenText(is, text), end: position + text.length }
  }
  return undefined
}

function toTokenText(is: SqlToken['is'] | 'space', text: string): string {
  if (is === 'word') return text.toLowerCase()
  if (is !== 'text' && is !== 'name') return text
  const mark = text.charAt(0)
  return text.slice(1, -1).replaceAll(mark + mark, mark)
}

const comparisons: Readonly<Record<string, string>> = {
  '=': '=',
  '==': '=',
  '<>': '<>',
  '!=': '<>',
  '<': '<',
  '<=': '<=',
  '>': '>',
  '>=': '>=',
  '~': '~',
}

/** Words after an operand that begin a test which no rule can express. */
const otherTests: ReadonlySet<string> = new Set(['like', 'ilike', 'glob', 'regexp', 'match'])

class CheckParser {
  readonly #tokens: readonly SqlToken[]
  #position = 0

  constructor(tokens: readonly SqlToken[]) {
    this.#tokens = tokens
  }

  parse(): CheckExpression {
    const expression = this.#or()
    if (this.#position < this.#tokens.length) throw new UnknownSyntax()
    return expression
  }

  #or(): CheckExpression {
    const items = [this.#and()]
    while (this.#takeWord('or')) items.push(this.#and())
    return items.length === 1 && items[0] !== undefined ? items[0] : { is: 'or', items }
  }

  #and(): CheckExpression {
    const items = [this.#not()]
    while (this.#takeWord('and')) items.push(this.#not())
    return items.length === 1 && items[0] !== undefined ? items[0] : { is: 'and', items }
  }

  #not(): CheckExpression {
    if (!this.#takeWord('not')) return this.#test()
    this.#not()
    return other
  }

  #test(): CheckExpression {
    const left = this.#operand()
    const operator = this.#peek('symbol')
    if (operator !== undefined && comparisons[operator] !== undefined) {
      this.#position++
      return this.#comparison(left, comparisons[operator])
    }
    if (this.#takeWord('is')) return this.#is(left)
    const isNegated = this.#takeWord('not')
    const test = this.#inOrBetween(left)
    if (test !== undefined) return isNegated ? other : test
    if (otherTests.has(this.#peek('word') ?? '')) {
      this.#position++
      this.#operand()
      return other
    }
    if (isNegated) throw new UnknownSyntax()
    return left
  }

  /** `= 5`, `= any (array[…])` */
  #comparison(left: CheckExpression, operator: string): CheckExpression {
    if (this.#takeWord('all')) {
      this.#operand()
      return other
    }
    if (!this.#takeWord('any')) return { is: 'compare', operator, left, right: this.#operand() }
    const list = withoutCasts(this.#operand())
    return operator === '=' && list.is === 'list'
      ? { is: 'in', of: left, items: list.items }
      : other
  }

  #is(left: CheckExpression): CheckExpression {
    const isNegated = this.#takeWord('not')
    if (this.#takeWord('null')) return isNegated ? other : { is: 'null', of: left }
    this.#operand()
    return other
  }

  #inOrBetween(left: CheckExpression): CheckExpression | undefined {
    if (this.#takeWord('in')) {
      this.#take('(')
      return { is: 'in', of: left, items: this.#itemsUntil(')') }
    }
    if (!this.#takeWord('between')) return undefined
    const from = this.#operand()
    if (!this.#takeWord('and')) throw new UnknownSyntax()
    const to = this.#operand()
    return {
      is: 'and',
      items: [
        { is: 'compare', operator: '>=', left, right: from },
        { is: 'compare', operator: '<=', left, right: to },
      ],
    }
  }

  #operand(): CheckExpression {
    let operand = this.#withCasts(this.#primary())
    for (;;) {
      const operator = this.#peek('symbol')
      if (operator === undefined || /^[(),.[\]]$/.test(operator)) break
      if (comparisons[operator] !== undefined) break
      this.#position++
      this.#withCasts(this.#primary())
      operand = other
    }
    // The text is compared by another order, perhaps without case.
    if (!this.#takeWord('collate')) return operand
    this.#primary()
    return other
  }

  #withCasts(operand: CheckExpression): CheckExpression {
    if (!this.#takeSymbol('::')) return operand
    return this.#withCasts({ is: 'cast', of: operand, type: this.#type() })
  }

  /** `character varying(20)[]` */
  #type(): string {
    let type = this.#next('word', 'name').text
    while (this.#takeSymbol('.')) type += `.${this.#next('word', 'name').text}`
    for (let word = this.#peek('word'); word !== undefined; word = this.#peek('word')) {
      if (!typeWords.has(word)) break
      this.#position++
      type += ` ${word}`
    }
    if (this.#takeSymbol('('))
      type += `(${this.#itemsUntil(')')
        .map((item) => (item.is === 'literal' ? item.text : ''))
        .join()})`
    while (this.#takeSymbol('[')) {
      this.#take(']')
      type += '[]'
    }
    return type
  }

  #primary(): CheckExpression {
    if (this.#takeSymbol('(')) {
      const expression = this.#or()
      if (this.#takeSymbol(',')) {
        this.#itemsUntil(')')
        return other
      }
      this.#take(')')
      return expression
    }
    if (this.#takeSymbol('-')) return { is: 'literal', text: `-${this.#number()}`, isNumber: true }
    if (this.#takeSymbol('+')) return { is: 'literal', text: this.#number(), isNumber: true }
    const token = this.#next('word', 'name', 'text', 'number')
    if (token.is === 'text') return { is: 'literal', text: token.text, isNumber: false }
    if (token.is === 'number') return { is: 'literal', text: token.text, isNumber: true }
    if (token.is === 'word' && unknownWords.has(token.text)) throw new UnknownSyntax()
    if (token.text === 'array' && token.is === 'word' && this.#takeSymbol('['))
      return { is: 'list', items: this.#itemsUntil(']') }
    if (this.#takeSymbol('(')) return { is: 'call', name: token.text, items: this.#itemsUntil(')') }
    if (!this.#takeSymbol('.'))
      return { is: 'name', name: token.text, isQuoted: token.is === 'name' }
    // A column of a row, or a function in a schema.
    this.#position--
    while (this.#takeSymbol('.')) this.#next('word', 'name')
    if (this.#takeSymbol('(')) this.#itemsUntil(')')
    return other
  }

  #number(): string {
    return this.#next('number').text
  }

  #itemsUntil(end: string): CheckExpression[] {
    const items: CheckExpression[] = []
    while (!this.#takeSymbol(end)) {
      items.push(this.#or())
      if (this.#takeSymbol(',')) continue
      this.#take(end)
      break
    }
    return items
  }

  /** The text of the next token if it is of this sort. */
  #peek(is: SqlToken['is']): string | undefined {
    const token = this.#tokens[this.#position]
    return token?.is === is ? token.text : undefined
  }

  #next(...sorts: readonly SqlToken['is'][]): SqlToken {
    const token = this.#tokens[this.#position++]
    if (token === undefined || !sorts.includes(token.is)) throw new UnknownSyntax()
    return token
  }

  #take(symbol: string): void {
    if (!this.#takeSymbol(symbol)) throw new UnknownSyntax()
  }

  #takeSymbol(symbol: string): boolean {
    if (this.#peek('symbol') !== symbol) return false
    this.#position++
    return true
  }

  #takeWord(word: string): boolean {
    if (this.#peek('word') !== word) return false
    this.#position++
    return true
  }
}

/** Words of types that have several: `timestamp with time zone`. */
const typeWords: ReadonlySet<string> = new Set([
  ...['varying', 'precision', 'with', 'without', 'time', 'zone'],
])
const unknownWords: ReadonlySet<string> = new Set(['case', 'select', 'exists', 'cast', 'row'])

/** The expression within parentheses and casts. */
export function withoutCasts(expression: CheckExpression): CheckExpression {
  return expression.is === 'cast' ? withoutCasts(expression.of) : expression
}
