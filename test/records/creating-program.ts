/** `creating-process.ts` as a program that Node runs by itself. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

const modules = join(process.cwd(), 'node_modules')

/** @returns the path of the program: beside the packages, so that it finds its drivers; to be removed after use */
export function bundleCreatingProgram(): string {
  const program = join(modules, `.filigree-creating-${process.pid}.mjs`)
  execFileSync(join(modules, '.bin', 'esbuild'), [
    join('test', 'records', 'creating-process.ts'),
    '--bundle',
    '--platform=node',
    '--format=esm',
    '--packages=external',
    '--log-level=error',
    `--outfile=${program}`,
  ])
  return program
}
