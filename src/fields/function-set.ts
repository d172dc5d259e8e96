/** The text of a compiled check while it is written: functions, and the objects they refer to by name. */

/** Collects the text of functions that refer to each other, and turns it into code once. */
export class FunctionSet {
  readonly #functions: string[] = []
  readonly #constants: unknown[] = []
  readonly #names = new Map<unknown, string>()

  /** A name for a value in the written code; the same value has the same name. */
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

  /** An expression over `v` as a function, to try it before it is used in generated code. */
  tryOut(expression: string): (v: unknown) => unknown {
    const probe = this.#build(`function probe(v) { return ${expression} }`, 'probe')
    return probe as (v: unknown) => unknown
  }

  /**
   * Compiles what was written. The text is made of declarations only (names quoted, values by constant), never of input.
   *
   * @param name the function to hand out
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

/** Reads a property of `object`: names that every object inherits count only where they are its own. */
export function readProperty(object: string, name: string): string {
  const read = `${object}[${quote(name)}]`
  return name in Object.prototype
    ? `(Object.hasOwn(${object}, ${quote(name)}) ? ${read} : undefined)`
    : read
}
