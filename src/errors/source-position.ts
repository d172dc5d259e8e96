/** Positions in the sources of an application, for messages. They come from stacks. */
import { dirname, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface SourcePosition {
  /** Absolute path. */
  readonly file: string
  /** From 1. */
  readonly line: string
}

/** @returns the first position in a stack that is in the application, and not in an installed package */
export function findSourcePosition(stack: string): SourcePosition | undefined {
  for (const position of positionsIn(stack))
    if (!/[\\/]node_modules[\\/]/.test(position.file)) return position
  return undefined
}

/** Packages whose functions call decorators. */
const helperPackages =
  /[\\/]node_modules[\\/](?:tslib|reflect-metadata|@swc[\\/]helpers|@babel[\\/]runtime)[\\/]/

/**
 * Remembers where a decorator is applied.
 *
 * @param decorator the function that the compiler calls
 * @returns a function that returns the file and line: `src/mail.ts:12`
 */
export function rememberPosition(
  decorator: (...args: unknown[]) => unknown,
): () => string | undefined {
  const holder: { stack?: string } = {}
  // Reading the text of the stack is slow, and rarely needed.
  Error.captureStackTrace(holder, decorator)
  return () => {
    // In the built package, all files are in one folder.
    const ownFolder = dirname(fileURLToPath(import.meta.url))
    for (const { file, line } of positionsIn(holder.stack ?? ''))
      if (!helperPackages.test(file) && dirname(file) !== ownFolder)
        return `${displayPath(file)}:${line}`
    return undefined
  }
}

function* positionsIn(stack: string): Generator<SourcePosition, void> {
  for (const [, url, line] of stack.matchAll(
    /\(?((?:file:\/\/|\/|[A-Za-z]:[\\/])[^()\n]*?):(\d+):\d+\)?$/gm,
  )) {
    if (url === undefined || line === undefined) continue
    try {
      const file = url.startsWith('file:') ? fileURLToPath(url.replace(/\?.*$/, '')) : url
      yield { file, line }
    } catch {
      // The URL is not a file on this machine.
    }
  }
}

/** @returns the path relative to the working directory, if the file is below it */
export function displayPath(file: string): string {
  const path = relative(process.cwd(), file)
  return path.startsWith('..') ? file : path
}
