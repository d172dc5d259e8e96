/** Programs of the tests that Node runs by itself. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

const modules = join(process.cwd(), 'node_modules')

/** `creating-process.ts`, bundled. */
export function bundleCreatingProgram(): string {
  return bundleProgram('creating-process')
}

/** @returns the path of the program: beside the packages, so that it finds its drivers; to be removed after use */
export function bundleProgram(name: string): string {
  const program = join(modules, `.filigree-${name}-${process.pid}.mjs`)
  execFileSync(join(modules, '.bin', 'esbuild'), [
    join('test', 'records', `${name}.ts`),
    '--bundle',
    '--platform=node',
    '--format=esm',
    '--packages=external',
    '--log-level=error',
    `--outfile=${program}`,
  ])
  return program
}
