/** `@Controller('/items')`: the note that makes a class's methods routes under one path. */
import { type ClassReference, createClassMetadata, type Class } from '../metadata/class-metadata.js'
import { decorate, toDecorator, type AnyDecorator } from '../metadata/dialect.js'

export interface ControllerMetadata {
  /** The path before every route of the class; `''` where it has none. */
  readonly path: string
  readonly crud: ClassReference | undefined
  readonly only: readonly string[] | undefined
  readonly version: string | undefined
  /** What was given as options, to be checked at the start. */
  readonly options: object
}

export interface ControllerOptions {
  /** A record: the class gets routes to list, aggregate, find, create, update and delete it, beside its own. */
  crud?: ClassReference
  /** Which of them. Default all. */
  only?: readonly ('list' | 'aggregate' | 'find' | 'create' | 'update' | 'delete')[]
  /** The version of the API that its routes belong to: `'2'`. Default: all of them. */
  version?: string
}

const controllerMetadata = createClassMetadata<ControllerMetadata>('controller')

/**
 * Makes a class a controller. Written bare, or with the path that all its routes begin with.
 *
 * @param path starts with `/`, may hold parameters (`/shops/<shop:int>`); its faults are reported at bootstrap
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
