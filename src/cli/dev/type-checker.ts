/** Checks the types of a project beside it, by the compiler that it has installed. */
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { constants, setPriority } from 'node:os'
import { dirname, join } from 'node:path'
import { type TypeFault, endGroup, readLines, leashCode } from './child-process.js'

const fault = /^(.+?)\((\d+),(\d+)\): error (TS\d+): (.*)$/
const verdict = /Found (\d+) errors?\. Watching/

export interface TypeCheck {
  /** Sources have changed. */
  changed(): void
  close(): void
}

type Tell = (errors: readonly TypeFault[]) => void

/**
 * @param tell called after each check
 * @returns undefined where the project has no compiler or no tsconfig.json
 */
export function checkTypes(cwd: string, tell: Tell): TypeCheck | undefined {
  const compiler = findCompiler(cwd)
  if (compiler === undefined || !existsSync(join(cwd, 'tsconfig.json'))) return undefined
  const { file, version } = compiler
  // From 7 on it checks in less time than it needs to see a change, and does not see each.
  return Number(version.split('.')[0]) >= 7 ? checkEach(cwd, file, tell) : watch(cwd, file, tell)
}

function watch(cwd: string, compiler: string, tell: Tell): TypeCheck {
  const child = start(cwd, compiler, ['--watch', '--preserveWatchOutput'])
  const reader = new FaultReader()
  readLines(child.stdout, (line) => {
    reader.read(line)
    if (verdict.test(line)) tell(reader.take())
  })
  return {
    changed: () => undefined,
    close: () => {
      endGroup(child, 'SIGKILL')
    },
  }
}

function checkEach(cwd: string, compiler: string, tell: Tell): TypeCheck {
  let running: ChildProcess | undefined
  const end = (): void => {
    if (running !== undefined) endGroup(running, 'SIGKILL')
    running = undefined
  }
  const check = (): void => {
    end()
    const child = start(cwd, compiler, [])
    running = child
    const reader = new FaultReader()
    readLines(child.stdout, (line) => {
      reader.read(line)
    })
    child.once('close', () => {
      // Another change came meanwhile, or the end.
      if (running === child) tell(reader.take())
    })
  }
  check()
  return { changed: check, close: end }
}

function start(cwd: string, compiler: string, options: readonly string[]): ChildProcess {
  const args = ['--import', leashCode(), compiler, '--noEmit', '--pretty', 'false', ...options]
  const child = spawn(process.execPath, args, {
    cwd,
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: process.platform !== 'win32',
  })
  // It must not hold up the start.
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL)
  child.on('error', () => undefined)
  return child
}

/** What the compiler writes, line by line. */
class FaultReader {
  #found: TypeFault[] = []

  read(line: string): void {
    const last = this.#found.at(-1)
    // What is wrong with each overload stands below: the first says what was meant. TypeScript 7 tells the last alone,
    // which for a decorator is how compilers call it.
    const isPlain = last?.message.startsWith('No overload matches') === true
    if (last !== undefined && isPlain && /^ {4}\S/.test(line) && !line.includes('DecoratorContext'))
      this.#found[this.#found.length - 1] = { ...last, message: line.trim() }
    const [, file, row, column, code = '', message = ''] = fault.exec(line) ?? []
    if (file !== undefined)
      this.#found.push({ file, line: Number(row), column: Number(column), code, message })
  }

  take(): readonly TypeFault[] {
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
