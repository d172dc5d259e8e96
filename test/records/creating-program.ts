/** Bundles test programs that run in a Node process of their own. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

const modules = join(process.cwd(), 'node_modules')

/** Bundles `creating-process.ts`. @returns the path of the program. Remove it after use. */
export function bundleCreatingProgram(): string {
  return bundleProgram('creating-process')
}

/** @returns the path of the program, inside node_modules so that it finds its drivers. Remove it after use. */
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
