/** Packages: modules with options, made by a function. `@Module({ imports: [audit({ keep: '90d' })] })`. */
import type { Class } from '../metadata/class-metadata.js'
import { writePackage, type ModuleOptions } from './module.js'

/**
 * Makes a function that returns a module. Each call returns a new module; if one is imported in several places, it
 * counts once.
 *
 * @param make gives the options of `@Module`, from the options of the package
 */
export function createModule<Arguments extends readonly unknown[]>(
  make: (...args: Arguments) => ModuleOptions,
): (...args: Arguments) => Class {
  return (...args) => {
    const options: unknown = make(...args)
    if (typeof options !== 'object' || options === null) {
      throw new TypeError(
        'createModule: the function does not return a module. Return { providers, use, … }.',
      )
    }
    const Package = class {}
    const { name } = make
    Object.defineProperty(Package, 'name', { value: name === '' ? 'createModule' : name })
    writePackage(Package, options)
    return Package
  }
}
