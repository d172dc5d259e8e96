/** Checks the types of a project with the TypeScript compiler that the project has installed, in a process of low priority. */
import type { ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { constants, setPriority } from 'node:os'
import { dirname, join } from 'node:path'
import { type TypeCheckError, endGroup, readLines, spawnNode } from './child-process.js'

const errorLine = /^(.+?)\((\d+),(\d+)\): error (TS\d+): (.*)$/
const summaryLine = /Found (\d+) errors?\. Watching/

export interface TypeChecker {
  /** Called when sources have changed. */
  changed(): void
  close(): void
}

type OnResult = (errors: readonly TypeCheckError[]) => void

/**
 * @param onResult called after each check
 * @returns undefined if the project has no compiler or no tsconfig.json
 */
export function startTypeChecker(cwd: string, onResult: OnResult): TypeChecker | undefined {
  const compiler = findCompiler(cwd)
  if (compiler === undefined || !existsSync(join(cwd, 'tsconfig.json'))) return undefined
  const { file, version } = compiler
  // TypeScript 7 and later check faster than their watch mode notices changes, and it misses some.
  return Number(version.split('.')[0]) >= 7
    ? checkEach(cwd, file, onResult)
    : watch(cwd, file, onResult)
}

function watch(cwd: string, compiler: string, onResult: OnResult): TypeChecker {
  const child = start(cwd, compiler, ['--watch', '--preserveWatchOutput'])
  const reader = new ErrorReader()
  readLines(child.stdout, (line) => {
    reader.read(line)
    if (summaryLine.test(line)) onResult(reader.take())
  })
  return {
    changed: () => undefined,
    close: () => {
      endGroup(child, 'SIGKILL')
    },
  }
}

function checkEach(cwd: string, compiler: string, onResult: OnResult): TypeChecker {
  let running: ChildProcess | undefined
  const end = (): void => {
    if (running !== undefined) endGroup(running, 'SIGKILL')
    running = undefined
  }
  const check = (): void => {
    end()
    const child = start(cwd, compiler, [])
    running = child
    const reader = new ErrorReader()
    readLines(child.stdout, (line) => {
      reader.read(line)
    })
    child.once('close', () => {
      // Otherwise a newer check has started, or the checker was closed.
      if (running === child) onResult(reader.take())
    })
  }
  check()
  return { changed: check, close: end }
}

function start(cwd: string, compiler: string, options: readonly string[]): ChildProcess {
  const args = [compiler, '--noEmit', '--pretty', 'false', ...options]
  const child = spawnNode(args, { cwd, stdio: ['ignore', 'pipe', 'ignore'] })
  // The check must not slow down the start.
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL)
  child.on('error', () => undefined)
  return child
}

/** Collects the errors in the compiler's output, line by line. */
class ErrorReader {
  #found: TypeCheckError[] = []

  read(line: string): void {
    const last = this.#found.at(-1)
    // The lines below have the reason for each overload, and the first one is the useful one. TypeScript 7 prints only the
    // last overload, which for a decorator is the call by the compiler.
    const isOverloadError = last?.message.startsWith('No overload matches') === true
    if (
      last !== undefined &&
      isOverloadError &&
      /^ {4}\S/.test(line) &&
      !line.includes('DecoratorContext')
    )
      this.#found[this.#found.length - 1] = { ...last, message: line.trim() }
    const [, file, row, column, code = '', message = ''] = errorLine.exec(line) ?? []
    if (file !== undefined)
      this.#found.push({ file, line: Number(row), column: Number(column), code, message })
  }

  take(): readonly TypeCheckError[] {
    return this.#found.splice(0)
  }
}

function findCompiler(cwd: string): { file: string; version: string } | undefined {
  try {
    const require = createRequire(join(cwd, 'package.json'))
    const { version } = require('typescript/package.json') as { version: string }
    const file = join(dirname(require.resolve('typescript/package.json')), 'bin/tsc')
    return { file, version }
  } catch {
    return undefined
  }
}
