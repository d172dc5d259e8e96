/** Collects the source text of generated functions, and the objects that they refer to by name. */

/** Collects the text of functions that refer to each other, and turns it into code once. */
export class FunctionSet {
  readonly #functions: string[] = []
  readonly #constants: unknown[] = []
  readonly #names = new Map<unknown, string>()

  /** Returns a name for a value in the generated code. The same value has the same name. */
  constant(value: unknown): string {
    const existing = this.#names.get(value)
    if (existing !== undefined) return existing
    const name = `c${this.#constants.length}`
    this.#constants.push(value)
    this.#names.set(value, name)
    return name
  }

  add(text: string): void {
    this.#functions.push(text)
  }

  /** Compiles an expression over `v`, to test it before it is used in generated code. */
  tryOut(expression: string): (v: unknown) => unknown {
    const probe = this.#build(`function probe(v) { return ${expression} }`, 'probe')
    return probe as (v: unknown) => unknown
  }

  /**
   * Compiles the functions. Their text contains only declarations, with quoted names and values as constants, never input.
   *
   * @param name the function to return
   */
  compile(name: string): unknown {
    return this.#build(this.#functions.join('\n'), name)
  }

  #build(functions: string, name: string): unknown {
    const constants = this.#constants.map((_, index) => `const c${index} = constants[${index}]`)
    const text = [`'use strict'`, ...constants, functions, `return ${name}`].join('\n')
    // eslint-disable-next-line @typescript-eslint/no-implied-eval -- compiling declarations is the purpose
    const build = new Function('constants', text) as (constants: readonly unknown[]) => unknown
    return build(this.#constants)
  }
}

/** A JavaScript string literal. */
export function quote(text: string): string {
  return JSON.stringify(text)
}

/** Code that reads a property. Members of `Object.prototype` do not count. */
export function readProperty(object: string, name: string): string {
  const read = `${object}[${quote(name)}]`
  return name in Object.prototype
    ? `(Object.hasOwn(${object}, ${quote(name)}) ? ${read} : undefined)`
    : read
}
