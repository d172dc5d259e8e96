/** Checks the types of a project beside it, by the compiler that it has installed. */
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { constants, setPriority } from 'node:os'
import { dirname, join } from 'node:path'
import type { TypeFault } from './messages.js'
import { leashCode } from './leash.js'

const fault = /^(.+?)\((\d+),(\d+)\): error (TS\d+): (.*)$/
const verdict = /Found (\d+) errors?\. Watching/

/**
 * @param tell called after each check
 * @returns undefined where the project has no compiler or no tsconfig.json
 */
export function checkTypes(
  cwd: string,
  tell: (errors: readonly TypeFault[]) => void,
): ChildProcess | undefined {
  const compiler = findCompiler(cwd)
  if (compiler === undefined || !existsSync(join(cwd, 'tsconfig.json'))) return undefined
  const options = ['--noEmit', '--watch', '--preserveWatchOutput', '--pretty', 'false']
  const child = spawn(process.execPath, ['--import', leashCode(), compiler, ...options], {
    cwd,
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: process.platform !== 'win32',
  })
  // It must not hold up the start.
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL)
  child.on('error', () => undefined)
  let rest = ''
  let found: TypeFault[] = []
  child.stdout.on('data', (data: Buffer) => {
    const lines = (rest + data.toString()).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const last = found.at(-1)
      // What is wrong with each overload stands below: the first says what was meant.
      const isPlain = last?.message.startsWith('No overload matches') === true
      if (last !== undefined && isPlain && /^ {4,}\S/.test(line))
        found[found.length - 1] = { ...last, message: line.trim() }
      const [, file, row, column, code = '', message = ''] = fault.exec(line) ?? []
      if (file !== undefined)
        found.push({ file, line: Number(row), column: Number(column), code, message })
      if (!verdict.test(line)) continue
      tell(found)
      found = []
    }
  })
  return child
}

function findCompiler(cwd: string): string | undefined {
  try {
    const file = createRequire(join(cwd, 'package.json')).resolve('typescript/package.json')
    return join(dirname(file), 'bin/tsc')
  } catch {
    return undefined
  }
}
