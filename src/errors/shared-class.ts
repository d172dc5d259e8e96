/** Classes whose instances every copy of the package accepts. `copies.ts` knows the copies. */

type AnyClass = abstract new (...args: never[]) => object

/**
 * Makes `instanceof` true for the instances that other copies created. `instanceof` of a subclass stays as it is.
 *
 * @param name of the class in all copies. Choose a new name if the properties of the class change
 */
export function acceptOtherCopies(type: AnyClass, name: string): void {
  const brand = Symbol.for(`filigree.${name}`)
  Object.defineProperty(type.prototype, brand, { value: true })
  Object.defineProperty(type, Symbol.hasInstance, {
    value(this: unknown, value: unknown): boolean {
      if (this !== type) return Function.prototype[Symbol.hasInstance].call(this, value)
      return typeof value === 'object' && value !== null && brand in value
    },
  })
}
