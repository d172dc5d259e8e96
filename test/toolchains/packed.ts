/** Builds and packs the package outside the repository's `dist`, and installs it into a folder. */
import { execFile } from 'node:child_process'
import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from '@jest/globals'
import { root, runNode } from '../openapi/command.js'

const execute = promisify(execFile)
const shell = process.platform === 'win32'

const isOwn = (path: string): boolean => !path.endsWith('/docs/node_modules')

/** @returns the path of the tarball in the folder */
export async function packPackage(folder: string): Promise<string> {
  const staging = join(folder, 'staging')
  for (const name of ['package.json', 'README.md', 'CHANGELOG.md', 'LICENSE', 'docs', 'templates'])
    await cp(join(root, name), join(staging, name), { recursive: true, filter: isOwn })
  const compiler = 'node_modules/typescript7/bin/tsc'
  for (const args of [
    ['src/build.mjs', join(staging, 'dist/server')],
    ['client/build.mjs', join(staging, 'dist/client')],
    ['client/admin/build.mjs', join(staging, 'dist/admin')],
    [compiler, '-p', '.', '--outDir', join(staging, 'dist'), '--emitDeclarationOnly'],
    ['src/declarations.mjs', join(staging, 'dist')],
  ])
    expect(await runNode(...args)).toEqual({ code: 0, output: '' })
  const pack = ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder]
  await execute('npm', pack, { cwd: staging, shell })
  const name = (await readdir(folder)).find((file) => file.endsWith('.tgz')) ?? ''
  return join(folder, name)
}

/** Installs the tarball into a folder without network access. All other packages are taken from the repository. */
export async function installPacked(folder: string, tarball: string): Promise<void> {
  const modules = join(folder, 'node_modules')
  const packageFolder = join(modules, 'filigree')
  await mkdir(join(modules, '.bin'), { recursive: true })
  await mkdir(packageFolder)
  await execute('tar', ['xzf', tarball, '-C', packageFolder, '--strip-components=1'])
  for (const name of await readdir(join(root, 'node_modules'))) {
    if (!name.startsWith('.')) await link(join(root, 'node_modules', name), join(modules, name))
  }
  for (const name of await readdir(join(root, 'node_modules/.bin')))
    await link(join(root, 'node_modules/.bin', name), join(modules, '.bin', name))
  // Projects may have chosen Vitest, or Jest with ts-jest.
  const tools = join(root, 'test/tools/node_modules')
  for (const name of ['ts-jest', 'vitest', '.bin/vitest'])
    await link(join(tools, name), join(modules, name))
  await symlink(join(packageFolder, 'dist/server/cli.js'), join(modules, '.bin/filigree'))
  await execute('chmod', ['+x', join(packageFolder, 'dist/server/cli.js')])
  // The entry that npm would write.
  const { version } = JSON.parse(await readFile(join(packageFolder, 'package.json'), 'utf8')) as {
    version: string
  }
  const packages = { 'node_modules/filigree': { version, resolved: `file:${tarball}` } }
  await writeFile(join(modules, '.package-lock.json'), JSON.stringify({ packages }))
}

async function link(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true })
  await symlink(from, to)
}
