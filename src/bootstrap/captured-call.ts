/**
 * For commands that describe an application: while they load its file, `bootstrap` starts nothing and passes its
 * arguments to the command. So a program in a single file can be described like one that exports its module.
 */
import type { Class } from '../metadata/class-metadata.js'
import type { BootstrapOptions } from './options.js'

/** The arguments of `bootstrap`. */
export interface BootstrapCall {
  readonly module: Class
  readonly options: BootstrapOptions
}

let take: ((call: BootstrapCall) => void) | undefined

/**
 * Loads a file and captures its first call of `bootstrap`. That call never returns, so the code after it does not run.
 *
 * @returns the call or, if there was none, the loaded module
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

/** @returns true if a command wanted the call: then nothing must be started */
export function isCaptured(call: BootstrapCall): boolean {
  take?.(call)
  return take !== undefined
}
