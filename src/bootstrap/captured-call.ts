/**
 * Lets commands observe calls of `bootstrap`. While they load an application's file, `bootstrap` starts nothing and passes
 * its arguments to the command. So a program in a single file can be described like one that exports its module.
 */
import type { Class } from '../metadata/class-metadata.js'
import type { BootstrapOptions } from './options.js'

/** The arguments of `bootstrap`. */
export interface BootstrapCall {
  readonly module: Class
  readonly options: BootstrapOptions
}

let take: ((call: BootstrapCall) => void) | undefined
let wasCalled = false

/** @returns true if a program of this process has called `bootstrap` */
export function wasBootstrapCalled(): boolean {
  return wasCalled
}

/**
 * Loads a file and captures its first call of `bootstrap`. That call never returns, so the code after it does not run.
 *
 * @returns the call or, if there was none, the loaded module
 */
export async function captureBootstrap<T>(
  load: () => Promise<T>,
): Promise<{ readonly call: BootstrapCall } | { readonly loaded: T }> {
  const call = new Promise<{ call: BootstrapCall }>((resolve) => {
    take = (captured) => {
      resolve({ call: captured })
    }
  })
  try {
    return await Promise.race([call, load().then((loaded) => ({ loaded }))])
  } finally {
    take = undefined
  }
}

/** Called by `bootstrap`. @returns true if a command captures the call. Then nothing must be started */
export function isCaptured(call: BootstrapCall): boolean {
  wasCalled = true
  take?.(call)
  return take !== undefined
}
