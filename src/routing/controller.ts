/** The decorators of routes: `@Controller('/items')` on a class, `@Get`, `@Post`, `@Put`, `@Patch`, `@Delete` on its methods. */
import { type ClassReference, createClassMetadata, type Class } from '../metadata/class-metadata.js'
import { decorate, toDecorator, type AnyDecorator } from '../metadata/dialect.js'

export interface ControllerMetadata {
  /** The path before every route of the class; `''` if there is none. */
  readonly path: string
  readonly crud: ClassReference | undefined
  readonly only: readonly string[] | undefined
  readonly version: string | undefined
  /** The options as written, which are checked at the start. */
  readonly options: object
}

export interface ControllerOptions {
  /** A record. The class also gets routes to list, aggregate, find, create, update and delete it. */
  crud?: ClassReference
  /** The routes that `crud` adds. Default all. */
  only?: readonly ('list' | 'aggregate' | 'find' | 'create' | 'update' | 'delete')[]
  /** The version of the API that its routes belong to: `'2'`. Default: all of them. */
  version?: string
}

const controllerMetadata = createClassMetadata<ControllerMetadata>('controller')

/**
 * Makes a class a controller, optionally with a path that all its routes begin with.
 *
 * @param path begins with `/` and may have parameters (`/shops/<shop:int>`). Mistakes are reported at the start
 */
export function Controller(path?: string, options?: ControllerOptions): AnyDecorator
export function Controller(target: Class): void
export function Controller(value: unknown, context: DecoratorContext): void
export function Controller(...args: unknown[]): AnyDecorator | undefined {
  const isBare = decorate(args, ({ owner }) => {
    controllerMetadata.write(owner, {
      path: '',
      crud: undefined,
      only: undefined,
      version: undefined,
      options: {},
    })
  })
  if (isBare) return undefined
  const path = typeof args[0] === 'string' ? args[0] : ''
  const options = (args[1] ?? {}) as ControllerOptions
  const { crud, only, version } = options
  return toDecorator(({ owner }) => {
    controllerMetadata.write(owner, { path, crud, only, version, options })
  })
}

/** @returns `undefined` for a class without `@Controller` */
export function readController(owner: Class): ControllerMetadata | undefined {
  return controllerMetadata.read(owner)
}
