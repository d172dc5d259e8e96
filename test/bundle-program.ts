/** Bundles programs of the tests, which run in a process of their own: a bundle starts much faster than many files do. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

const modules = join(process.cwd(), 'node_modules')

/**
 * @param path the program in the folder `test`, without its ending
 * @returns the path of the bundle, inside node_modules so that it finds its packages. Remove it after use.
 */
export function bundleProgram(path: string): string {
  const program = join(modules, `.filigree-${path.replaceAll('/', '-')}-${process.pid}.mjs`)
  execFileSync(join(modules, '.bin', 'esbuild'), [
    join('test', `${path}.ts`),
    '--bundle',
    '--platform=node',
    '--format=esm',
    '--packages=external',
    '--tsconfig=test/tsconfig.json',
    '--keep-names',
    '--log-level=error',
    `--outfile=${program}`,
  ])
  return program
}
