/** `@Controller('/items')`: the note that makes a class's methods routes under one path. */
import { readTarget, toDecorator, type AnyDecorator } from '../metadata/dialect.js'
import { createClassNote, type Class } from '../metadata/note.js'

export interface ControllerNote {
  /** The path before every route of the class; `''` where it has none. */
  readonly path: string
}

const controllerNote = createClassNote<ControllerNote>('controller')

/**
 * Makes a class a controller. Written bare, or with the path that all its routes begin with.
 *
 * @param path starts with `/`, may hold parameters (`/shops/<shop:int>`); its faults are reported at bootstrap
 */
export function Controller(path?: string): AnyDecorator
export function Controller(target: Class): void
export function Controller(...args: unknown[]): AnyDecorator | undefined {
  const bare = readTarget(args)
  if (bare !== undefined) {
    controllerNote.write(bare.owner, { path: '' })
    return undefined
  }
  const path = typeof args[0] === 'string' ? args[0] : ''
  return toDecorator(({ owner }) => {
    controllerNote.write(owner, { path })
  })
}

/** @returns `undefined` for a class without `@Controller` */
export function readController(owner: Class): ControllerNote | undefined {
  return controllerNote.read(owner)
}
