/**
 * For commands that describe an application: while they load its file, `bootstrap` starts nothing, and the command gets
 * its arguments. So a program in one file can be described like one whose module is exported.
 */
import type { Class } from '../metadata/note.js'
import type { BootstrapOptions } from './options.js'

/** What `bootstrap` was called with. */
export interface BootstrapCall {
  readonly module: Class
  readonly options: BootstrapOptions
}

let take: ((call: BootstrapCall) => void) | undefined

/**
 * Loads a file, and catches the first call of `bootstrap` that it makes. Such a call is never answered, so that nothing
 * that the file does behind it happens.
 *
 * @returns the call, or what was loaded where there is none
 */
export async function captureBootstrap<T>(
  load: () => Promise<T>,
): Promise<{ readonly call: BootstrapCall } | { readonly loaded: T }> {
  const call = new Promise<{ call: BootstrapCall }>((resolve) => {
    take = (caught) => {
      resolve({ call: caught })
    }
  })
  try {
    return await Promise.race([call, load().then((loaded) => ({ loaded }))])
  } finally {
    take = undefined
  }
}

/** @returns true where a command wanted the call: then nothing may be started */
export function isCaptured(call: BootstrapCall): boolean {
  take?.(call)
  return take !== undefined
}
