/** Bundles programs that tests run in a process of their own: a bundle starts much faster than many files do. */
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'

const modules = join(process.cwd(), 'node_modules')

/**
 * @param path the program in the folder `test`, without its ending
 * @param options further options of esbuild. By default classes keep their names
 * @returns the path of the bundle, inside node_modules so that it finds its packages. Remove it after use.
 */
export function bundleProgram(path: string, options: readonly string[] = ['--keep-names']): string {
  const program = join(modules, `.filigree-${path.replaceAll('/', '-')}-${process.pid}.mjs`)
  execFileSync(join(modules, '.bin', 'esbuild'), [
    join('test', `${path}.ts`),
    '--bundle',
    '--platform=node',
    '--format=esm',
    '--packages=external',
    '--tsconfig=test/tsconfig.json',
    ...options,
    '--log-level=error',
    `--outfile=${program}`,
  ])
  return program
}

/**
 * Bundles the package and its command line: `dist/server/index.js` and `dist/server/cli.js`. Modules that are loaded lazily
 * stay separate files.
 *
 * @param name part of the folder's name
 * @param moduleNames modules to bundle, such as `throttle`: `dist/server/throttle.js`
 * @returns the folder of the package, inside node_modules so that it finds its packages. Remove it after use.
 */
export function bundlePackage(name: string, moduleNames: readonly string[] = []): string {
  const folder = join(modules, '.cache', `filigree-${name}-${process.pid}`)
  mkdirSync(folder, { recursive: true })
  copyFileSync('package.json', join(folder, 'package.json'))
  execFileSync(join(modules, '.bin', 'esbuild'), [
    ...['index=src/index.ts', 'cli=src/cli/main.ts', '--bundle', '--splitting'],
    ...moduleNames.map((module) => `${module}=src/modules/${module}/${module}.ts`),
    ...['--platform=node', '--format=esm', '--packages=external', '--tsconfig=tsconfig.json'],
    ...['--log-level=error', `--outdir=${join(folder, 'dist/server')}`],
  ])
  return folder
}
